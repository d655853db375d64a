import { afterEach, beforeEach, expect, test } from 'vitest';
import { newId } from '../../core/ids.ts';
import { CoreWorld } from '../support/core-world.ts';
import { auditRecord } from './kit/audit-record.ts';

// The audit that follows every round of faults: it must see what it is there for.
let world: CoreWorld;
beforeEach(async () => (world = await CoreWorld.open()));
afterEach(() => world[Symbol.asyncDispose]());

async function queued(): Promise<string> {
  const outcome = await world.request(await world.task(), 'host:a', 'uptime');
  return outcome.executionId;
}

const recorded = (subject: string, action: string): Promise<void> =>
  world.database.write(async (unit) => unit.audit({ actor: 'system', action, subject }));

test('R15: the audit sees nothing wrong where nothing is, and a changed entry where one is', async () => {
  await queued();
  expect(await auditRecord(world.database)).toEqual([]);
  const { read } = world.database;
  await read.$executeRaw`ALTER TABLE audit_log DISABLE TRIGGER audit_append_only`;
  await read.$executeRaw`UPDATE audit_log SET actor = '@mallory:test' WHERE id = (SELECT min(id) FROM audit_log)`;
  expect((await auditRecord(world.database)).join()).toMatch(/^R15: the audit chain is broken/);
});

test('X8: the audit sees a move that there is none of, and a second end', async () => {
  const id = await queued();
  await recorded(id, 'execution.completed');
  await world.database.read.execution.update({ where: { id }, data: { status: 'completed' } });
  expect(await auditRecord(world.database)).toEqual([
    expect.stringMatching(/^X8: \w+ is completed, but queued > completed is no way/),
  ]);
  await recorded(id, 'execution.failed');
  expect((await auditRecord(world.database)).join('\n')).toContain('it ended more than once');
});

test('L6, J5: the audit sees a call without a result, and a failure that nobody was told of', async () => {
  const { sessionId, turnId } = await world.task();
  const { read } = world.database;
  const pass = await read.pass.findFirstOrThrow({ where: { sessionId } });
  await read.toolCall.create({
    data: {
      id: newId(),
      sessionId,
      turnId,
      passId: pass.id,
      callId: 'c1',
      name: 'run',
      arguments: {},
      state: 'done',
    },
  });
  await read.pass.update({ where: { id: pass.id }, data: { state: 'failed' } });
  expect(await auditRecord(world.database)).toEqual([
    'L6: call c1 of run has 0 results',
    `J5: pass ${pass.id} failed, and nobody was told: `,
  ]);
});
