import { afterAll, beforeAll, expect, it } from 'vitest';
import { Dispatcher } from '../../bot/inbox/dispatch.ts';
import { decide } from '../../core/approvals/decide.ts';
import { offerPlan } from '../../core/approvals/plan.ts';
import { withdraw } from '../../core/approvals/withdraw.ts';
import type { Unit } from '../../core/db/database.ts';
import { asId, type MatrixEventId } from '../../core/ids.ts';
import { setPaused } from '../../core/policy/pause.ts';
import { endIfAnswered } from '../../core/tasks/answered.ts';
import { completeTask } from '../../core/tasks/complete.ts';
import { lockSession } from '../../core/tasks/lock.ts';
import { proposePlan } from '../../core/tasks/plan.ts';
import { askQuestion } from '../../core/tasks/questions.ts';
import { ANN, type BotWorld } from '../support/bot-world.ts';
import { ann, CoreWorld } from '../support/core-world.ts';
import { inRooms, openRooms, type RoomTask } from '../support/task-room.ts';

let world: BotWorld;
const { task, restart } = inRooms(() => world);
beforeAll(async () => {
  world = await openRooms();
});
afterAll(async () => world.close());

it('T13: a message that was edited and taken back while the bot was away is passed over without a word', async () => {
  const one = await task();
  const before = world.shown.length;
  const thread = { 'm.relates_to': { rel_type: 'm.thread', event_id: one.root } };
  const said = `$${crypto.randomUUID()}`;
  const events = [
    [said, 'm.room.message', { content: { msgtype: 'm.text', body: 'restart nginx', ...thread } }],
    [
      `$${crypto.randomUUID()}`,
      'm.room.message',
      {
        content: {
          msgtype: 'm.text',
          body: ' * restart nginx now',
          'm.new_content': { msgtype: 'm.text', body: 'restart nginx now' },
          'm.relates_to': { rel_type: 'm.replace', event_id: said },
        },
      },
    ],
    [`$${crypto.randomUUID()}`, 'm.room.redaction', { redacts: said, content: {} }],
  ] as const;
  for (const [eventId, type, event] of events) {
    await world.database.read.matrixInbox.create({
      data: {
        ...{ eventId, type, roomId: one.roomId, sender: ANN },
        event: { event_id: eventId, sender: ANN, type, ...event },
      },
    });
  }
  const stop = new AbortController();
  const dispatcher = new Dispatcher({
    database: world.database,
    handler: world.handler!,
    isOperator: (userId) => userId === ANN,
    signal: stop.signal,
  });
  const running = dispatcher.run();
  await expect
    .poll(async () => world.database.read.matrixInbox.count({ where: { state: 'pending' } }))
    .toBe(0);
  stop.abort(new Error('over'));
  await running;
  await world.settle();
  const bodies = world.shown.slice(before).map(({ body }) => body);
  expect(bodies.filter((body) => body.includes('does nothing'))).toEqual([]);
});

it('A7, P7: the ✅ of a plan that was carried out is not taken back because Nomos is paused now', async () => {
  await using core = await CoreWorld.open();
  const { database } = core;
  const one = await core.task();
  const offer = await database.write(async (unit) => {
    const steps = await proposePlan(unit, one.sessionId, [{ title: 'Restart nginx' }]);
    return offerPlan(unit, { ...one, passId: null }, steps);
  });
  const approvalId = offer.kind === 'waiting' ? offer.approvalId : null;
  if (approvalId === null) throw new Error('it does not wait');
  const eventId = '$yes';
  await database.write((unit) =>
    decide(unit, { approvalId, verdict: 'approve', operator: ann, means: 'tap', eventId }),
  );
  const { sessionId } = one;
  await database.write((unit) =>
    completeTask(unit, { sessionId, outcome: 'success', summary: 'Done.', by: 'agent' }),
  );
  await database.write((unit) => setPaused(unit, true, ann.userId));
  expect(
    await database.write((unit) => withdraw(unit, { approvalId, operator: ann, eventId })),
  ).toEqual({ kind: 'too_late' });
});

const MANY = 5_000;

/** How many rows of a table this transaction has read one after another, without an index. */
async function readThrough(unit: Unit, table: string): Promise<number> {
  const [row] = await unit.db.$queryRaw<Array<{ rows: bigint }>>`
    SELECT seq_tup_read AS rows FROM pg_stat_xact_user_tables WHERE relname = ${table}`;
  return Number(row?.rows ?? 0);
}

async function handled(one: RoomTask, type: string, event: object, table: string): Promise<number> {
  const eventId = asId<MatrixEventId>(`$${crypto.randomUUID()}`);
  const { content, redacts } = { content: {}, redacts: null, ...event };
  return world.database.write(async (unit) => {
    await unit.db.matrixInbox.create({
      data: {
        ...{ eventId, type, roomId: one.roomId, sender: ANN, state: 'done' },
        event: { type, content, redacts },
      },
    });
    await world.handler?.(unit, {
      ...{ eventId, type, content, redacts, sender: ANN, sealed: null },
      room: await world.room(one.roomId),
    });
    return readThrough(unit, table);
  });
}

it('T9, R13: the end of a pass does not read through all passes there ever were', async () => {
  const [one, other] = [await task(), await task()];
  await world.database.read.$executeRaw`
    INSERT INTO passes (id, session_id, turn_id, cause, state, started_at, ended_at)
    SELECT gen_random_uuid(), ${other.sessionId}::uuid, ${other.turnId}::uuid, 'message', 'done', now(), now()
    FROM generate_series(1, ${MANY}::int)`;
  await world.database.read.$executeRaw`ANALYZE passes`;
  const rows = await world.database.write(async (unit) => {
    await lockSession(unit, one.sessionId);
    await endIfAnswered(unit, one.sessionId);
    return readThrough(unit, 'passes');
  });
  expect(rows).toBeLessThan(MANY);
});

it('A4, R13: words where something waits do not read through all that the bot ever said', async () => {
  const one = await task();
  await restart(one);
  await world.database.read.$executeRaw`
    INSERT INTO matrix_outbox (lane, kind, content, txn_id, state, event_id, card_key)
    SELECT 'old', 'send', '{}', 'old' || n, 'sent', '$old' || n, 'old:' || n FROM generate_series(1, ${MANY}::int) n`;
  await world.database.read.$executeRaw`ANALYZE matrix_outbox`;
  const content = { msgtype: 'm.text', body: 'what does it do?' };
  const rows = await handled(one, 'm.room.message', { content }, 'matrix_outbox');
  expect(rows).toBeLessThan(MANY);
});

it('T13, R13: a redaction does not read through all messages there ever were', async () => {
  const [one, other] = [await task(), await task()];
  const said = await world.say(one.roomId, 'look at nginx', { thread: one.root });
  await world.database.read.$executeRaw`
    INSERT INTO messages (id, session_id, turn_id, role, text)
    SELECT gen_random_uuid(), ${other.sessionId}::uuid, ${other.turnId}::uuid, 'assistant', 'x' FROM generate_series(1, ${MANY}::int)`;
  await world.database.read.$executeRaw`ANALYZE messages`;
  const rows = await handled(one, 'm.room.redaction', { redacts: said }, 'messages');
  expect(rows).toBeLessThan(MANY);
});

it('K5: a reply to the very card of a question answers it, also when its key comes late', async () => {
  const one = await task();
  const id = await world.write((unit) =>
    askQuestion(unit, {
      ...{ sessionId: one.sessionId, turnId: one.turnId, passId: one.passId },
      ...{ prompt: 'Which disk?', options: ['sda', 'sdb'], entities: [] },
    }),
  );
  await world.settle();
  const card = await world.database.read.matrixCard.findFirstOrThrow({ where: { refId: id } });
  const sealed = { crossSigned: true, identityChanged: false, relation: true, late: true };
  await world.say(one.roomId, 'sdb', { thread: one.root, replyTo: card.eventId ?? '', sealed });
  expect(await world.database.read.question.findUnique({ where: { id } })).toMatchObject({
    status: 'answered',
    answer: 'sdb',
  });
});
