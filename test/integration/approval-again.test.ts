import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { expireDueApprovals } from '../../core/approvals/expire.ts';
import { claimExecution } from '../../core/executions/claim.ts';
import { requestBatch } from '../../core/executions/batch/request.ts';
import { loadOntology } from '../../core/graph/ontology-file.ts';
import type { ExecutionId } from '../../core/ids.ts';
import { closeGrants } from '../../core/policy/grants.ts';
import { NO_RULES, parseRules } from '../../core/policy/rules-file.ts';
import { setRules } from '../../core/policy/rule-store.ts';
import { ANN, BOB, type BotWorld } from '../support/bot-world.ts';
import { askFor, openRooms, openRoomTask, type RoomTask } from '../support/task-room.ts';

let world: BotWorld;
beforeAll(async () => {
  world = await openRooms();
});
afterAll(() => world.close());
afterEach(() => setRules(NO_RULES));

const ADMIN =
  '  - { name: admins for web-1, match: { target: host:web-1 }, approval: { role: admin } }';

/** Puts rules of policy.yaml in force, as the owner writes them. */
function policy(rules: string): void {
  setRules(
    parseRules(`version: 1\nrules:\n${rules}`, 'policy.yaml', loadOntology('seeds/ontology.yaml')),
  );
}

const TARGETS = ['host:web-1', 'host:db-1', 'lxc:dns'];

/** A change on several targets that the task's grant lets run. Gives the executions in order. */
async function grantedBatch(task: RoomTask): Promise<{ batchId: string; ids: ExecutionId[] }> {
  const opener = await askFor(world, task, 'systemctl restart nginx');
  await world.tap(task.roomId, opener.card.eventId, '✅');
  const made = await world.write((unit) =>
    requestBatch(unit, {
      sessionId: task.sessionId,
      turnId: task.turnId,
      passId: task.passId,
      toolCallId: null,
      targets: TARGETS,
      command: 'touch /srv/marker',
      purpose: 'Mark them',
      canary: false,
    }),
  );
  await world.settle();
  return { batchId: made.batchId, ids: made.executions };
}

describe('C14, A2, X13: what is asked for again', () => {
  it('the rest of a batch whose grant ended is a new card that rings, and one tap on it lets exactly the rest run', async () => {
    const task = await openRoomTask(world);
    const { batchId, ids } = await grantedBatch(task);
    const [first, second, third] = ids as [ExecutionId, ExecutionId, ExecutionId];
    const before = world.card(`batch:${batchId}`);
    expect((await claimExecution(world.database, first, 'worker')).kind).toBe('claimed');
    await world.write((unit) =>
      closeGrants(unit, { sessionId: task.sessionId, reason: 'the test', by: ANN }),
    );
    expect((await claimExecution(world.database, second, 'worker')).kind).toBe('asked_again');
    await world.settle();
    const card = world.card(`batch:${batchId}`);
    expect(card.eventId).not.toBe(before.eventId);
    expect(card.mentions).toEqual([ANN]);
    expect(card.body).toContain('Approve? Mark them · 2 of 3 targets');
    expect(card.reactions).toEqual(['✅', '❌']);
    expect(before.body).toContain('Asked for again in a new card: Mark them · 2 targets');
    // The old card decides nothing, by a tap or by words.
    await world.tap(task.roomId, before.eventId, '✅');
    expect(world.lastAnswer().body).toContain('Nothing was decided');
    await world.say(task.roomId, 'yes', { replyTo: before.eventId });
    expect(world.lastAnswer().body).toContain('nothing was decided');
    await world.tap(task.roomId, card.eventId, '✅');
    const rows = await world.database.read.execution.findMany({
      where: { batchId },
      orderBy: { batchIndex: 'asc' },
      select: { status: true, allowedBy: true },
    });
    expect(rows).toEqual([
      { status: 'running', allowedBy: 'grant' },
      { status: 'queued', allowedBy: 'approval' },
      { status: 'queued', allowedBy: 'approval' },
    ]);
    expect((await claimExecution(world.database, third, 'worker')).kind).toBe('claimed');
  });

  it('A14: the rest of a batch that nobody decides on expires, and its card does not say that nothing was run', async () => {
    const task = await openRoomTask(world);
    const { batchId, ids } = await grantedBatch(task);
    const [first, second] = ids as [ExecutionId, ExecutionId];
    expect((await claimExecution(world.database, first, 'worker')).kind).toBe('claimed');
    await world.write((unit) =>
      closeGrants(unit, { sessionId: task.sessionId, reason: 'the test', by: ANN }),
    );
    expect((await claimExecution(world.database, second, 'worker')).kind).toBe('asked_again');
    await world.database.read.approval.updateMany({
      where: { sessionId: task.sessionId, status: 'pending' },
      data: { expiresAt: new Date(Date.now() - 1000) },
    });
    await expireDueApprovals(world.database);
    await world.settle();
    const { body } = world.card(`batch:${batchId}`);
    expect(body).toContain('Nothing more was run.');
    expect(body).not.toContain('Nothing was run');
  });

  it('A7, A19: what was approved and then needs somebody else is a new card; taking back the old ✅ closes its grant and says nothing untrue', async () => {
    const task = await openRoomTask(world);
    const held = await askFor(world, task, 'systemctl restart nginx', { purpose: 'Restart nginx' });
    const before = held.card;
    const tap = await world.tap(task.roomId, before.eventId, '✅', BOB);
    policy(ADMIN);
    expect((await claimExecution(world.database, held.id, 'worker')).kind).toBe('asked_again');
    await world.settle();
    const after = held.card;
    expect(after.eventId).not.toBe(before.eventId);
    expect(after.mentions).toEqual([ANN]);
    expect(after.reactions).toEqual(['✅', '❌']);
    const said = world.shown.length;
    await world.redact(task.roomId, tap, BOB);
    expect(world.shown.slice(said).map(({ body }) => body)).toEqual([]);
    expect(
      await world.database.read.grant.count({
        where: { sessionId: task.sessionId, closedAt: null },
      }),
    ).toBe(0);
    expect((await held.execution()).status).toBe('pending_approval');
    await world.tap(task.roomId, after.eventId, '✅', ANN);
    expect((await claimExecution(world.database, held.id, 'worker')).kind).toBe('claimed');
  });
});
