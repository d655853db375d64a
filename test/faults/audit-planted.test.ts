import { afterAll, beforeAll, expect, test } from 'vitest';
import { decide } from '../../core/approvals/decide.ts';
import type { Database, Unit } from '../../core/db/database.ts';
import { claimExecution } from '../../core/executions/claim.ts';
import { finishExecution } from '../../core/executions/finish.ts';
import { newId, type ExecutionId } from '../../core/ids.ts';
import { completeTask } from '../../core/tasks/complete.ts';
import type { RawEvent } from '../support/matrix.ts';
import { ann, CoreWorld, type TestTask } from '../support/core-world.ts';
import { audit, type Audited, type Said } from './kit/audit.ts';
import type { AuditedRooms } from './kit/audit-rooms.ts';
import type { HostLine } from './kit/world.ts';

// The audit that follows every round of faults: for each of its rules a fault is planted that it has to see. Each stands in a
// transaction that is rolled back, so that all share one world: a task that asked for a change, ran it under an approval, and ended.
type Db = Unit['db'];
const ROOM = '!task:test';
const BOT = '@nomos:test';
let world: CoreWorld;
let task: TestTask;
let id: ExecutionId;
let asked: string;

beforeAll(async () => {
  world = await CoreWorld.open();
  const { database } = world;
  const { sessionId, turnId } = await world.task();
  task = { sessionId, turnId };
  const request = await world.request(task, 'host:a', 'touch /x');
  if (request.kind !== 'waiting') throw new Error(`the change is ${request.kind}`);
  id = request.executionId;
  await database.write((unit) =>
    decide(unit, {
      approvalId: request.approvalId,
      verdict: 'approve',
      operator: ann,
      means: 'tap',
      eventId: '$yes',
    }),
  );
  expect((await claimExecution(database, id, 'worker')).kind).toBe('claimed');
  const nothing = { bytes: new Uint8Array(), totalBytes: 0, droppedBytes: 0, gapAt: undefined };
  await finishExecution(database, {
    id,
    owner: 'worker',
    mask: (text) => text,
    end: {
      kind: 'exited',
      exitCode: 0,
      signal: undefined,
      stdout: nothing,
      stderr: nothing,
      durationMs: 5,
      shell: undefined,
    },
  });
  await database.read.pass.updateMany({ data: { state: 'done' } });
  await database.read.message.updateMany({ data: { takenInAt: new Date() } });
  await database.write((unit) =>
    completeTask(unit, { ...task, outcome: 'success', summary: 'done', by: ann.userId }),
  );
  asked = '$asked';
  await database.read.message.updateMany({ where: { role: 'operator' }, data: { eventId: asked } });
});
afterAll(async () => world[Symbol.asyncDispose]());

/** What the hosts wrote. */
const line = (executionId: string): HostLine => ({ executionId, token: 't1-1', atMs: Date.now() });
interface Seen {
  starts: HostLine[];
  ends: HostLine[];
  said: Said;
  matrix: AuditedRooms | undefined;
}
const seen = (): Seen => ({
  starts: [line(id)],
  ends: [line(id)],
  said: { asked: [asked], said: [] },
  matrix: undefined,
});

/** What the audit says of the world with a fault in it. */
async function found(plant: (db: Db, host: Seen) => unknown): Promise<string> {
  const host = seen();
  let wrong: string[] = [];
  const undo = new Error('undo');
  await world.database
    .write(async ({ db }) => {
      for (const [table, trigger] of [
        ['executions', 'executions_keep'],
        ['approvals', 'approvals_keep'],
        ['audit_log', 'audit_append_only'],
      ])
        await db.$executeRawUnsafe(`ALTER TABLE ${table} DISABLE TRIGGER ${trigger}`);
      await plant(db, host);
      const audited: Audited = {
        // Only its reader is used.
        database: { read: db } as unknown as Database,
        hostLog: (which) => host[which],
        clockMoved: false,
        matrix: host.matrix,
      };
      wrong = await audit(audited, host.said);
      throw undo;
    })
    .catch((error: unknown) => {
      if (error !== undo) throw error;
    });
  return wrong.join('\n');
}

/** A room as the homeserver tells it, of one message for each body. */
const room = (bodies: readonly string[], encrypted = false): AuditedRooms => ({
  bot: { userId: BOT },
  encrypted,
  person: {
    history: async (roomId) =>
      roomId !== ROOM
        ? []
        : bodies.map((body, n): RawEvent => ({
            event_id: `$m${n}`,
            type: 'm.room.message',
            sender: BOT,
            content: { body },
          })),
  },
});

const sent = (db: Db, rows: ReadonlyArray<[eventId: string, state?: 'failed']>) =>
  db.matrixOutbox.createMany({
    data: rows.map(([eventId, state], n) => ({
      lane: `room:${ROOM}`,
      kind: 'send' as const,
      content: {},
      priority: 1,
      txnId: `txn-${n}`,
      state: state ?? ('sent' as const),
      eventId,
    })),
  });

test('it sees nothing wrong where nothing is', async () => {
  expect(await found(() => undefined)).toBe('');
  expect(
    await found(async (db, host) => {
      await sent(db, [['$m0'], ['$m1']]);
      host.matrix = room(['one', 'two']);
      await db.matrixInbox.create({ data: inbox(asked, 'done') });
    }),
  ).toBe('');
});

const inbox = (eventId: string, state: 'done' | 'failed') => ({
  eventId,
  roomId: ROOM,
  sender: ann.userId,
  type: 'm.room.message',
  event: {},
  state,
});
const execution = (db: Db, data: Parameters<Db['execution']['update']>[0]['data']) =>
  db.execution.update({ where: { id }, data });
const note = (db: Db, text: string) =>
  db.message.create({
    data: { id: newId(), ...task, role: 'note', text, takenInAt: new Date() },
  });

test.each<[rule: string, says: RegExp, plant: (db: Db, host: Seen) => unknown]>([
  ['R1', /^R1: a host ran t1-1 as nobody/, (_, host) => host.starts.push(line('nobody'))],
  ['R2', /^R2: .* started 2 times/m, (_, host) => host.starts.push(line(id))],
  ['R6', /^R6: .* is completed .* began 1 and ended 0/m, (_, host) => (host.ends = [])],
  ['R6', /^R6: .* is denied .* ran all the same/m, (db) => execution(db, { status: 'denied' })],
  ['R6', /^R6: \w+ is still running/m, (db) => execution(db, { status: 'running' })],
  ['R1', /^R1: .* nothing allowed it/m, (db) => execution(db, { allowedBy: null })],
  ['R1', /^R1: .* its class alone allowed/m, (db) => execution(db, { allowedBy: 'class' })],
  [
    'R1',
    /^R1: .* no approval is in the audit log before/m,
    (db) => db.$executeRaw`DELETE FROM audit_log WHERE action = 'approval.approved'`,
  ],
  [
    'R14',
    /^R1: .* its grant's end is in the audit log before|^R1: .* its grant had ended/m,
    async (db) => {
      const grant = await db.grant.findFirstOrThrow();
      await execution(db, { allowedBy: 'grant', grantId: grant.id });
      await db.grant.update({ where: { id: grant.id }, data: { expiresAt: new Date(0) } });
    },
  ],
  [
    'R3',
    /^R3: approval \w+ is approved, its decisions are \[approval.approved, approval.denied\]/m,
    (db) => db.$executeRaw`
      INSERT INTO audit_log (actor, action, subject, data, prev_hash, hash)
      SELECT 'x', 'approval.denied', id::text, '{}', '', '' FROM approvals`,
  ],
  ['R4', /^R4: \$lost opened no task/m, (_, host) => void host.said.asked.push('$lost')],
  ['R4', /^R4: 1 tasks were asked for, 0 were/m, (db) => db.$executeRaw`DELETE FROM sessions`],
  [
    'R4',
    /^R4: no pass has read "do it"/m,
    async (db) => {
      await db.session.updateMany({ data: { endedAt: null } });
      await db.message.updateMany({ where: { role: 'operator' }, data: { takenInAt: null } });
    },
  ],
  [
    'T4',
    /^T4: pass .* is still running/m,
    (db) => db.pass.updateMany({ data: { state: 'running' } }),
  ],
  [
    'A14',
    /^A14: approval \w+ waits in a task that ended/m,
    (db) => db.approval.updateMany({ data: { status: 'pending' } }),
  ],
  [
    'R7',
    /^R7: the agent heard 0 times/m,
    (db) => db.message.deleteMany({ where: { role: 'note' } }),
  ],
  [
    'R7',
    /^R7: the agent heard 2 times/m,
    async (db) => note(db, (await db.message.findFirstOrThrow({ where: { role: 'note' } })).text),
  ],
  ['R7', /^R7: .* nobody was told: due/m, (db) => execution(db, { continuation: 'due' })],
  [
    'R7',
    /^R7: .* was to wake nobody, yet the agent heard of it/m,
    (db) => execution(db, { continuation: 'suppressed' }),
  ],
  [
    'R7, A19',
    /^R7: .* goes before a change, but is woken/m,
    (db) => execution(db, { purpose: 'Preview: a change' }),
  ],
  [
    'L5',
    /^L5: the summary of .* cuts off the answer/m,
    async (db) => {
      const pass = await db.pass.findFirstOrThrow();
      const row = { ...task, passId: pass.id, text: '' };
      const call = await db.message.create({ data: { id: newId(), ...row, role: 'assistant' } });
      await db.message.create({ data: { id: newId(), ...row, role: 'tool', toolCallId: 'c' } });
      await db.contextSummary.create({
        data: { sessionId: task.sessionId, uptoSeq: call.seq, body: 'x' },
      });
    },
  ],
  [
    'J3',
    /^J3: the grant behind \w+ ran out while it ran/m,
    async (db) => {
      await db.$executeRaw`UPDATE executions SET ended_at = started_at + interval '1 minute'`;
      await db.$executeRaw`UPDATE sessions SET ended_at = ended_at + interval '2 minutes'`;
      await db.$executeRaw`
        UPDATE grants SET expires_at = (SELECT started_at + interval '1 second' FROM executions), closed_reason = 'ended'`;
    },
  ],
  [
    'J4',
    /^J4: \w+ was closed because nothing happened, without a nudge, as success/m,
    (db) =>
      db.session.updateMany({
        data: { summary: 'Closed without reaching its goal: nothing happened for 2 min.' },
      }),
  ],
  [
    'J4',
    /^J4: \w+ was nudged 1 more times/m,
    async (db) => {
      await note(db, 'Nothing has happened in this task for 2 min.');
      await note(db, 'Nothing has happened in this task for 2 min.');
    },
  ],
  [
    'R5',
    /^R5: !task:test holds \$m1, which no outbox row knows/m,
    async (db, host) => {
      await sent(db, [['$m0']]);
      host.matrix = room(['one', 'two']);
    },
  ],
  [
    'R5',
    /^R5: row .* was sent as \$m1, which is not in/m,
    async (db, host) => {
      await sent(db, [['$m0'], ['$m1']]);
      host.matrix = room(['one']);
    },
  ],
  [
    'R5',
    /^R5: row .* stands before row/m,
    async (db, host) => {
      await sent(db, [['$m1'], ['$m0']]);
      host.matrix = room(['one', 'two']);
    },
  ],
  [
    'R5',
    /^R5: outbox row .* is failed/m,
    async (db, host) => {
      await sent(db, [['$m0', 'failed']]);
      host.matrix = room([]);
    },
  ],
  [
    'R5',
    /^R5: \$m0 stands in clear in an encrypted room/m,
    async (db, host) => {
      await sent(db, [['$m0']]);
      host.matrix = room(['one'], true);
    },
  ],
  [
    'R4',
    /^R4: \$asked is failed/m,
    async (db, host) => {
      await db.matrixInbox.create({ data: inbox(asked, 'failed') });
      host.matrix = room([]);
    },
  ],
])('%s: it sees %s', async (_rule, says, plant) => {
  expect(await found(plant)).toMatch(says);
});
