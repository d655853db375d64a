import { afterAll, beforeAll, expect, test } from 'vitest';
import { expireDueApprovals } from '../../core/approvals/expire.ts';
import { requestApproval } from '../../core/approvals/request.ts';
import { CoreWorld } from '../support/core-world.ts';

let world: CoreWorld;
beforeAll(async () => {
  world = await CoreWorld.open();
});
afterAll(async () => world[Symbol.asyncDispose]());

test('R12, A14: an approval whose row cannot be read holds up no other that has expired', async () => {
  const task = await world.task();
  // As a newer version might have written it.
  const broken = await world.database.write((unit) =>
    requestApproval(unit, {
      ...task,
      passId: null,
      risk: 'config_mutation',
      subjectHash: 'x',
      plan: { version: 9, steps: [] } as never,
    }),
  );
  const held = await world.request(await world.task(), 'host:a', 'touch /x');
  const { read } = world.database;
  await read.approval.update({
    where: { id: broken.approvalId },
    data: { expiresAt: new Date(Date.now() - 60_000) },
  });
  await read.approval.updateMany({
    where: { id: { not: broken.approvalId } },
    data: { expiresAt: new Date(Date.now() - 30_000) },
  });
  expect(await expireDueApprovals(world.database)).toBe(1);
  expect(await read.execution.findUniqueOrThrow({ where: { id: held.executionId } })).toMatchObject(
    { status: 'expired' },
  );
  expect(await read.approval.findUniqueOrThrow({ where: { id: broken.approvalId } })).toMatchObject(
    { status: 'pending' },
  );
});
