/** A bot world with a machine behind a real sshd, and checks that are made when a test says so. */
import { rmSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { createHandler } from '../../bot/handlers/index.ts';
import { Projector } from '../../bot/projector/projector.ts';
import type { Signal } from '../../core/db/rows.ts';
import type { RemoteRunner } from '../../core/executions/ports.ts';
import { loadOntology } from '../../core/graph/ontology-file.ts';
import { asId, newId, type SessionId, type UserId } from '../../core/ids.ts';
import { parseChecks } from '../../core/signals/check-file.ts';
import { runCheck } from '../../core/signals/run-check.ts';
import { sweepSignals } from '../../core/signals/sweep.ts';
import { syncChecks } from '../../core/signals/sync-checks.ts';
import { openTask } from '../../core/tasks/open.ts';
import { BotWorld, LOBBY, type Shown } from './bot-world.ts';
import { runnerFor } from './remote.ts';
import { TestSshd } from './sshd.ts';

/** See the head of this file. */
export class SignalsWorld implements AsyncDisposable {
  readonly bot: BotWorld;
  readonly sshd: TestSshd;
  readonly runner: RemoteRunner;
  readonly shutdown = new AbortController();

  private constructor(bot: BotWorld, sshd: TestSshd) {
    this.bot = bot;
    this.sshd = sshd;
    this.runner = runnerFor(sshd, { slackMs: 300, graceMs: 200 });
  }

  static async open(): Promise<SignalsWorld> {
    const [bot, sshd] = await Promise.all([BotWorld.open(), TestSshd.start({ slug: 'host:box' })]);
    bot.projector = new Projector({
      database: bot.database,
      feed: bot.feed,
      operators: bot.operators,
      timeZone: 'UTC',
      streaming: false,
    });
    bot.handler = createHandler({
      operators: bot.operators,
      languages: ['en'],
      botUserId: asId<UserId>('@nomos:example.org'),
      botName: 'Nomos',
      timeZone: 'UTC',
    });
    const world = new SignalsWorld(bot, sshd);
    await world.addHost('box', { ssh_port: sshd.endpoint.port });
    return world;
  }

  /** A host of the graph at this machine's address. */
  async addHost(name: string, attributes: Record<string, string | number>): Promise<string> {
    const id = newId();
    await this.bot.database.read.entity.create({
      data: {
        id,
        slug: `host:${name}`,
        type: 'host',
        name,
        state: 'active',
        attributes: { address: '127.0.0.1', ssh_user: this.sshd.endpoint.user, ...attributes },
        source: 'test',
      },
    });
    return id;
  }

  /** Brings the checks in line with these, each a line of YAML in braces. */
  async checks(...lines: string[]): Promise<void> {
    const text = ['version: 1', 'checks:', ...lines.map((line) => `  - { ${line} }`)].join('\n');
    const ontology = loadOntology('seeds/ontology.yaml');
    await syncChecks(
      this.bot.database,
      lines.length === 0 ? [] : parseChecks(text, 'checks.yaml', ontology),
    );
  }

  /** Makes a check now, whether or not it is due, and lets everything show. Returns its row. */
  async look(name: string, slug = 'host:box') {
    const { read } = this.bot.database;
    const { id: entityId } = await read.entity.findUniqueOrThrow({ where: { slug } });
    const where = { entityId_name: { entityId, name } };
    const { id } = await read.check.findUniqueOrThrow({ where });
    // A while ago: the column has milliseconds, and one that is rounded up is not over yet when it is asked for at once.
    await read.$executeRaw`
      UPDATE checks SET next_at = clock_timestamp() - interval '1 second' WHERE id = ${id}::uuid`;
    await this.run(id);
    await this.bot.settle();
    return read.check.findUniqueOrThrow({ where });
  }

  /** As a worker does it: nothing happens unless the check is due. */
  async run(id: string, owner = 'worker-1'): Promise<void> {
    await runCheck(
      {
        database: this.bot.database,
        runner: this.runner,
        mask: (text) => text,
        owner,
        shutdown: this.shutdown.signal,
      },
      id,
    );
  }

  /** What the check `file` looks for is there from now on, with this in it. */
  break(text = 'broken'): void {
    writeFileSync(path.join(this.sshd.home, 'broken'), text);
  }

  mend(): void {
    rmSync(path.join(this.sshd.home, 'broken'), { force: true });
  }

  /** Lets the check `file` fail until there is a signal, and gives its row as it is at each call. */
  async raise(text?: string): Promise<() => Promise<Signal>> {
    this.break(text);
    await this.look('file');
    const { read } = this.bot.database;
    const { id } = await read.signal.findFirstOrThrow({ where: { state: 'raised' } });
    return () => read.signal.findUniqueOrThrow({ where: { id } });
  }

  /** A task of the test's. */
  async task(): Promise<SessionId> {
    const { sessionId } = await this.bot.write(async (unit) =>
      openTask(unit, { by: 'test', text: 'look', origin: { kind: 'api' } }),
    );
    return sessionId;
  }

  async sweep(): Promise<number> {
    const called = await sweepSignals(this.bot.database);
    await this.bot.settle();
    return called;
  }

  /** What stands in the lobby about signals, the oldest first. */
  cards(): Shown[] {
    return this.bot.shown.filter(
      ({ roomId, cardKey }) => roomId === LOBBY && cardKey?.startsWith('signal') === true,
    );
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.runner.close();
    await this.sshd.stop();
    await this.bot.close();
  }
}
