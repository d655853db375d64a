import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { decide } from '../../core/approvals/decide.ts';
import { claimExecution } from '../../core/executions/claim.ts';
import { requestExecution } from '../../core/executions/request.ts';
import { loadOntology } from '../../core/graph/ontology-file.ts';
import { asId, type ExecutionId, type UserId } from '../../core/ids.ts';
import { Operators, type Operator } from '../../core/operators.ts';
import { NO_RULES, parseRules } from '../../core/policy/rules-file.ts';
import { setRules } from '../../core/policy/rule-store.ts';
import { ANN, BOB, EVE, type BotWorld } from '../support/bot-world.ts';
import { askFor, openRooms, openRoomTask, type RoomTask } from '../support/task-room.ts';

let world: BotWorld;
beforeAll(async () => {
  world = await openRooms();
});
afterAll(() => world.close());
afterEach(() => setRules(NO_RULES));

/** Puts rules of policy.yaml in force, as the owner writes them. */
function policy(rules: string): void {
  setRules(
    parseRules(`version: 1\nrules:\n${rules}`, 'policy.yaml', loadOntology('seeds/ontology.yaml')),
  );
}
const TWO = '  - { name: two for web-1, match: { target: host:web-1 }, approval: { people: 2 } }';
const ADMIN =
  '  - { name: admins for web-1, match: { target: host:web-1 }, approval: { role: admin } }';

const restart = (task: RoomTask): ReturnType<typeof askFor> =>
  askFor(world, task, 'systemctl restart nginx', { purpose: 'Restart nginx' });

describe('A15: two different people', () => {
  it('the card says who has agreed and who is missing; the second yes runs it, whoever says it and however', async () => {
    policy(TWO);
    const task = await openRoomTask(world);
    const held = await restart(task);
    expect(held.card.body).toContain(
      'needs 2 people, so far: none yet; 2 missing (of ann and bob)',
    );
    expect(held.card.body).toContain('2 different people must agree');
    expect(held.card.mentions).toEqual([ANN, BOB]);
    await world.tap(task.roomId, held.card.eventId, '✅', ANN);
    expect((await held.approval()).status).toBe('pending');
    expect(world.lastAnswer().body).toContain('Counted: 1 of 2 people');
    expect(held.card.body).toContain('so far: ann; 1 missing (of bob)');
    await world.say(task.roomId, 'go ahead', { thread: task.root, by: BOB });
    expect(await held.approval()).toMatchObject({ status: 'approved', decidedBy: BOB });
    expect((await held.execution()).status).toBe('queued');
  });

  it('the same person counts once, by whatever means', async () => {
    policy(TWO);
    const task = await openRoomTask(world);
    const held = await restart(task);
    await world.tap(task.roomId, held.card.eventId, '✅', ANN);
    await world.tap(task.roomId, held.card.eventId, '👍', ANN);
    expect(world.lastAnswer().body).toContain('You have agreed already');
    await world.say(task.roomId, 'yes', { replyTo: held.card.eventId, by: ANN });
    await world.say(task.roomId, `!approve ${held.shortId}`, { by: ANN });
    const api = await world.write((unit) =>
      decide(unit, {
        approvalId: held.approvalId,
        verdict: 'approve',
        operator: { userId: ANN, role: 'admin' },
        means: 'api',
      }),
    );
    expect(api).toEqual({ kind: 'voted', have: 1, need: 2, again: true });
    expect((await held.approval()).status).toBe('pending');
    expect((await held.execution()).status).toBe('pending_approval');
  });

  it('A7: one of two takes the yes back: it no longer counts', async () => {
    policy(TWO);
    const task = await openRoomTask(world);
    const held = await restart(task);
    const tap = await world.tap(task.roomId, held.card.eventId, '✅', ANN);
    await world.redact(task.roomId, tap, ANN);
    expect(held.card.body).toContain('so far: none yet');
    await world.tap(task.roomId, held.card.eventId, '✅', BOB);
    expect((await held.approval()).status).toBe('pending');
  });

  it('A7: taken back after both agreed and before it started, either yes cancels it', async () => {
    policy(TWO);
    const task = await openRoomTask(world);
    const held = await restart(task);
    const first = await world.tap(task.roomId, held.card.eventId, '✅', ANN);
    await world.tap(task.roomId, held.card.eventId, '✅', BOB);
    expect((await held.approval()).status).toBe('approved');
    await world.redact(task.roomId, first, ANN);
    expect((await held.approval()).status).toBe('withdrawn');
    expect((await held.execution()).status).toBe('revoked');
  });

  it('T12: a yes of somebody who is no operator any more, or may not decide any more, counts no longer', async () => {
    policy(TWO);
    const task = await openRoomTask(world);
    const held = await restart(task);
    await world.tap(task.roomId, held.card.eventId, '✅', ANN);
    const carol = asId<UserId>('@carol:example.org');
    const yes = (userId: UserId, ...ann: Operator[]): ReturnType<typeof decide> =>
      world.write((unit) =>
        decide(unit, {
          approvalId: held.approvalId,
          verdict: 'approve',
          operator: { userId, role: 'approver' },
          means: 'tap',
          operators: new Operators([
            ...ann,
            { userId: BOB, role: 'approver' },
            { userId: carol, role: 'approver' },
          ]),
        }),
      );
    expect(await yes(BOB)).toMatchObject({ kind: 'voted', have: 1, need: 2 });
    expect(await yes(BOB, { userId: ANN, role: 'viewer' })).toMatchObject({
      kind: 'voted',
      have: 1,
    });
    expect((await held.execution()).status).toBe('pending_approval');
    expect(await yes(carol)).toMatchObject({ kind: 'approved' });
  });

  it('one no is enough to stop it', async () => {
    policy(TWO);
    const task = await openRoomTask(world);
    const held = await restart(task);
    await world.tap(task.roomId, held.card.eventId, '✅', ANN);
    await world.tap(task.roomId, held.card.eventId, '❌', BOB);
    expect(await held.approval()).toMatchObject({ status: 'denied', decidedBy: BOB });
  });

  it('A3: what is destructive takes the typed word from both', async () => {
    policy(TWO);
    const task = await openRoomTask(world);
    const held = await askFor(world, task, 'rm -rf /srv/old');
    await world.say(task.roomId, 'I confirm', { replyTo: held.card.eventId, by: ANN });
    await world.tap(task.roomId, held.card.eventId, '✅', BOB);
    await world.say(task.roomId, 'yes', { replyTo: held.card.eventId, by: BOB });
    expect((await held.approval()).status).toBe('pending');
    await world.say(task.roomId, 'I confirm', { replyTo: held.card.eventId, by: BOB });
    expect((await held.approval()).status).toBe('approved');
  });

  it('A8: every yes is in the audit log, with its event and the hash of what was shown', async () => {
    policy(TWO);
    const task = await openRoomTask(world);
    const held = await restart(task);
    const tap = await world.tap(task.roomId, held.card.eventId, '✅', ANN);
    const entry = await world.database.read.auditEntry.findFirstOrThrow({
      where: { subject: held.approvalId, action: 'approval.voted' },
    });
    expect(entry).toMatchObject({ actor: ANN });
    expect(JSON.stringify(entry.data)).toContain(tap);
    expect(JSON.stringify(entry.data)).toContain((await held.approval()).subjectHash);
  });
});

describe('A15: admins only', () => {
  it('the card says so and calls admins alone; an approver’s tap, words and API call decide nothing and are answered', async () => {
    policy(ADMIN);
    const task = await openRoomTask(world, 'look after it', BOB);
    const held = await restart(task);
    expect(held.card.body).toContain('Only an admin may');
    expect(held.card.mentions).toEqual([ANN]);
    await world.tap(task.roomId, held.card.eventId, '✅', BOB);
    expect(world.lastAnswer().body).toContain('You are an approver; this needs an admin');
    await world.say(task.roomId, 'yes', { thread: task.root, by: BOB });
    expect(world.lastAnswer().body).toContain('this needs an admin');
    const api = await world.write((unit) =>
      decide(unit, {
        approvalId: held.approvalId,
        verdict: 'approve',
        operator: { userId: BOB, role: 'approver' },
        means: 'api',
      }),
    );
    expect(api.kind).toBe('not_allowed');
    expect((await held.approval()).status).toBe('pending');
    await world.tap(task.roomId, held.card.eventId, '✅', ANN);
    expect((await held.approval()).status).toBe('approved');
  });

  it('A9: a grant that an approver opened does not go round the rule', async () => {
    policy(ADMIN);
    const task = await openRoomTask(world);
    const free = await askFor(world, task, 'systemctl restart postgresql', { target: 'db-1' });
    await world.tap(task.roomId, free.card.eventId, '✅', BOB);
    expect(
      await world.database.read.grant.count({
        where: { sessionId: task.sessionId, closedAt: null },
      }),
    ).toBe(1);
    const held = await restart(task);
    expect((await held.approval()).needsRole).toBe('admin');
    const again = await world.write((unit) =>
      requestExecution(unit, {
        sessionId: task.sessionId,
        turnId: task.turnId,
        passId: task.passId,
        toolCallId: null,
        target: 'db-1',
        command: 'systemctl reload postgresql',
        purpose: 'Reload',
      }),
    );
    expect(again).toMatchObject({ kind: 'queued', allowedBy: 'grant' });
  });

  it('A19: a rule that came after the decision is asked for at the start: it waits for who must decide now', async () => {
    const task = await openRoomTask(world);
    const held = await restart(task);
    await world.tap(task.roomId, held.card.eventId, '✅', BOB);
    policy(ADMIN);
    const claim = await claimExecution(world.database, asId<ExecutionId>(held.id), 'worker');
    expect(claim.kind).toBe('asked_again');
    const { approvalId, status } = await held.execution();
    expect(status).toBe('pending_approval');
    const next = await world.database.read.approval.findUniqueOrThrow({
      where: { id: approvalId ?? '' },
    });
    expect(next).toMatchObject({ status: 'pending', needsRole: 'admin' });
    await world.settle();
    expect(held.card.body).toContain('Only an admin may');
  });
});

it('A15: a viewer’s tap on any card is answered and counts for nothing', async () => {
  policy(TWO);
  const task = await openRoomTask(world);
  const held = await restart(task);
  await world.tap(task.roomId, held.card.eventId, '✅', EVE);
  expect(world.lastAnswer().body).toContain('You are a viewer; this needs an approver');
  expect(held.card.body).toContain('so far: none yet');
});
