/** How the soak talks with Nomos: by the domain's own verbs, or through the whole program with its bot, on a real homeserver. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { readConfig } from '../../../core/config/config.ts';
import { Database } from '../../../core/db/database.ts';
import { asId, type MatrixEventId, type SessionId, type TurnId } from '../../../core/ids.ts';
import { startProgram } from '../../../core/program.ts';
import { receiveMessage } from '../../../core/tasks/messages.ts';
import { openTask } from '../../../core/tasks/open.ts';
import { migrate } from '../../../prisma/migrate.ts';
import { TestSshd } from '../../support/sshd.ts';
import { PlanningModel } from './model.ts';
import { Random } from './random.ts';
import type { HurtServices } from './services.ts';
import { commandsOn, writeInventory } from './setting.ts';
import { FaultWorld } from './world.ts';

/** A task of the soak. */
export interface SoakTask {
  sessionId: SessionId;
  /** Says something in it that opens a turn, or goes on with one. */
  say(text: string, name: string): Promise<MatrixEventId>;
}

/** See the head of this file. */
export interface SoakTalks {
  readonly database: Database;
  /** Opens a task; `name` is its own. */
  open(text: string, name: string): Promise<SoakTask>;
  close(): Promise<void>;
}

/** The jobs role alone. */
export async function talkByVerbs(services: HurtServices): Promise<SoakTalks> {
  const world = await FaultWorld.open({
    services,
    name: 'soak',
    seed: 1,
    matrix: false,
    light: true,
    workers: 1,
    movesClock: false,
  });
  const { database, operator } = world;
  const by = operator.userId;
  return {
    database,
    async open(text, name) {
      const eventId = asId<MatrixEventId>(`$${name}`);
      const where: { sessionId: SessionId; turnId: TurnId } = await database.write((unit) =>
        openTask(unit, { by, text, origin: { kind: 'lobby', eventId } }),
      );
      return {
        sessionId: where.sessionId,
        async say(more, next) {
          const id = asId<MatrixEventId>(`$${next}`);
          await database.write((unit) =>
            receiveMessage(unit, { ...where, text: more, sender: by, eventId: id }),
          );
          return id;
        },
      };
    },
    close: () => world.close(),
  };
}

/**
 * All roles, in this process. The operator is a few bare requests: a client of theirs in here would take memory of its own.
 */
export async function talkThroughBot(services: HurtServices): Promise<SoakTalks> {
  const databaseUrl = await services.database('soak_bot');
  await migrate(databaseUrl);
  const dir = mkdtempSync(path.join(tmpdir(), 'nomos-soak-'));
  const [database, sshd, homeserver] = await Promise.all([
    Database.connect(databaseUrl, { connections: 3, name: 'fault-kit' }),
    TestSshd.start({ slug: 'web' }),
    services.homeserver(),
  ]);
  const model = await PlanningModel.start(commandsOn(sshd), new Random(1));
  const [bot, ann] = await Promise.all(
    ['nomos-soak', 'ann-soak'].map((name) => homeserver.accounts.register(name, `is-${name}`)),
  );
  if (bot === undefined || ann === undefined) throw new Error('the accounts are there already');
  writeInventory(dir, sshd);
  const program = await startProgram(
    readConfig({
      DATABASE_URL: databaseUrl,
      REDIS_URL: services.redisUrl,
      MATRIX_HOMESERVER_URL: homeserver.url,
      MATRIX_ACCESS_TOKEN: bot.accessToken,
      NOMOS_OPERATORS: `${ann.userId}=admin`,
      OPENAI_BASE_URL: model.baseUrl,
      OPENAI_API_KEY: 'a-key-for-tests',
      NOMOS_MODEL: 'planner',
      NOMOS_INVENTORY: path.join(dir, 'inventory.yaml'),
      NOMOS_SSH_KEY_FILE: sshd.keyFile,
      NOMOS_API_LISTEN: '127.0.0.1:0',
    }),
    new Set(['bot', 'jobs', 'api']),
  );

  const ask = async (method: 'PUT' | 'POST', what: string, body: object) => {
    const response = await fetch(`${homeserver.url}/_matrix/client/v3${what}`, {
      method,
      headers: {
        authorization: `Bearer ${ann.accessToken}`,
        'content-type': 'application/json',
      },
      body: JSON.stringify(body),
    });
    const answer = (await response.json()) as { event_id?: string };
    if (!response.ok) throw new Error(`${what}: ${JSON.stringify(answer)}`);
    return answer;
  };
  const sayIn = async (roomId: string, body: string, name: string): Promise<MatrixEventId> => {
    const room = encodeURIComponent(roomId);
    const { event_id: id = '' } = await ask('PUT', `/rooms/${room}/send/m.room.message/${name}`, {
      msgtype: 'm.text',
      body,
    });
    return asId<MatrixEventId>(id);
  };
  const join = (roomId: string) => ask('POST', `/join/${encodeURIComponent(roomId)}`, {});
  const until = async <T>(look: () => Promise<T | undefined>): Promise<T> => {
    for (;;) {
      const found = await look();
      if (found !== undefined) return found;
      await new Promise((resolve) => setTimeout(resolve, 200));
    }
  };
  const lobby = await until(async () => {
    const room = await database.read.matrixRoom.findFirst({ where: { kind: 'lobby' } });
    return room?.roomId;
  });
  await join(lobby);

  return {
    database,
    async open(text, name) {
      const eventId = await sayIn(lobby, text, name);
      const { id, roomId } = await until(async () => {
        const message = await database.read.message.findUnique({
          where: { eventId },
          select: { session: { select: { id: true, roomId: true } } },
        });
        return message?.session.roomId == null ? undefined : message.session;
      });
      if (roomId === null) throw new Error('the task has no room');
      await join(roomId);
      return {
        sessionId: asId<SessionId>(id),
        say: (more, next) => sayIn(roomId, more, next),
      };
    },
    async close() {
      await program.stop();
      await Promise.all([database.close(), model.stop(), sshd.stop()]);
      rmSync(dir, { recursive: true, force: true });
    },
  };
}
