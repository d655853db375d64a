/** The bot's transport in a test, with a handler of the test's own. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { type BotOptions, type RunningBot, startBot } from '../../bot/bot.ts';
import type { InboxHandler } from '../../bot/inbox/types.ts';
import { Database, type Unit } from '../../core/db/database.ts';
import { EventFeed } from '../../core/events/subscribe.ts';
import { Operators } from '../../core/operators.ts';
import type { UserId } from '../../core/ids.ts';
import type { MatrixAccount } from '../../demo/services/matrix-accounts.ts';
import { Person } from './matrix.ts';
import { freshDatabase, testHomeserver } from './services.ts';

/** A database, a bot account, and an operator who sees what the bot says. */
export interface Stage {
  databaseUrl: string;
  database: Database;
  feed: EventFeed;
  homeserverUrl: string;
  bot: MatrixAccount;
  operator: Person;
  /** A further person, closed with the stage. */
  person(name: string): Promise<Person>;
  /** Starts a bot, stopped with the stage. */
  start(options?: Partial<BotOptions> & { onEvent?: InboxHandler }): RunningBot;
  /** Writes in one unit. */
  write<T>(work: (unit: Unit) => Promise<T>): Promise<T>;
  /** Waits until a query of the database gives true, looking again after each event or row. */
  eventually(what: string, look: () => Promise<boolean>): Promise<void>;
  close(): Promise<void>;
}

/** Sets the stage: accounts and a database of its own, no bot yet. */
export async function openStage(options: { encrypts?: boolean } = {}): Promise<Stage> {
  const homeserver = await testHomeserver();
  const databaseUrl = await freshDatabase();
  const database = await Database.connect(databaseUrl, { connections: 6 });
  const feed = await EventFeed.open(database);
  const bot = await homeserver.newUser('bot');
  const operator = await Person.open(homeserver.url, await homeserver.newUser('ann'), options);
  const people = [operator];
  const bots: RunningBot[] = [];
  return {
    databaseUrl,
    database,
    feed,
    homeserverUrl: homeserver.url,
    bot,
    operator,
    async person(name) {
      const person = await Person.open(homeserver.url, await homeserver.newUser(name));
      people.push(person);
      return person;
    },
    start({ onEvent, ...options } = {}) {
      const running = startBot({
        database,
        feed,
        homeserverUrl: homeserver.url,
        credentials: { accessToken: bot.accessToken },
        operators: operatorsOf(operator.userId),
        handler: () => onEvent ?? (async () => {}),
        ...options,
      });
      bots.push(running);
      return running;
    },
    write: (work) => database.write(work),
    async eventually(what, look) {
      const deadline = performance.now() + 60_000;
      while (!(await look())) {
        if (performance.now() > deadline) throw new Error(`It did not come to pass: ${what}`);
        await new Promise((resolve) => setTimeout(resolve, 120));
      }
    },
    async close() {
      await Promise.all(bots.map((running) => running.stop()));
      for (const person of people) person.close();
      await feed.close();
      await database.close();
    },
  };
}

/** Operators who may do everything. */
export function operatorsOf(...userIds: UserId[]): Operators {
  return new Operators(userIds.map((userId) => ({ userId, role: 'admin' })));
}

/**
 * Runs the bot in a process of its own that a fault point kills, and waits for its death. Its handler answers each message
 * of an operator with `echo: …`.
 */
export async function runUntilKilled(stage: Stage, faultPoint: string): Promise<void> {
  const child = spawn(process.execPath, [fileURLToPath(new URL('bot-child.ts', import.meta.url))], {
    env: {
      PATH: process.env['PATH'],
      NOMOS_FAULT_KILL: faultPoint,
      NOMOS_LOG_LEVEL: 'warn',
      DATABASE_URL: stage.databaseUrl,
      MATRIX_HOMESERVER_URL: stage.homeserverUrl,
      MATRIX_ACCESS_TOKEN: stage.bot.accessToken,
      TEST_OPERATOR: stage.operator.userId,
    },
    stdio: ['ignore', 'inherit', 'inherit'],
  });
  const timer = setTimeout(() => child.kill('SIGTERM'), 30_000);
  const [code, signal] = await once(child, 'exit');
  clearTimeout(timer);
  if (signal !== 'SIGKILL') {
    throw new Error(`The bot was not killed at ${faultPoint}: exit ${String(code ?? signal)}`);
  }
}
