import { expect, test } from 'vitest';
import { verifyAudit } from '../../core/audit/verify.ts';
import { asId, newId, type PassId } from '../../core/ids.ts';
import { archiveTask } from '../../core/tasks/archive.ts';
import { deleteTask } from '../../core/tasks/delete.ts';
import { proposePlan } from '../../core/tasks/plan.ts';
import { askQuestion } from '../../core/tasks/questions.ts';
import { ann, CoreWorld } from '../support/core-world.ts';

const BY = ann.userId;

test('T11: deleting takes transcript, plan, questions and the task’s own node with its edges, and nothing else', async () => {
  await using world = await CoreWorld.open();
  const task = await world.task();
  const { sessionId } = task;
  const { database } = world;
  const { executionId } = await world.request(task, 'host:a', 'systemctl restart nginx');
  const session = await database.read.session.findUniqueOrThrow({ where: { id: sessionId } });
  const pass = await database.read.pass.findFirstOrThrow({ where: { sessionId } });
  const own = session.entityId ?? '';
  const host = await database.read.entity.findUniqueOrThrow({ where: { slug: 'host:a' } });
  await database.write(async (unit) => {
    await proposePlan(unit, sessionId, [{ title: 'Restart nginx' }]);
    await askQuestion(unit, {
      ...{ sessionId, turnId: task.turnId, passId: asId<PassId>(pass.id) },
      ...{ prompt: 'Now?', options: ['yes', 'no'], entities: [] },
    });
    await unit.db.relationship.create({
      data: { id: newId(), sourceId: own, targetId: host.id, type: 'involves', origin: 'task' },
    });
    await unit.db.knowledge.create({
      data: {
        id: newId(),
        title: 'nginx',
        kind: 'document',
        content: 'It stops.',
        tags: [],
        sessionId,
      },
    });
  });
  const remove = async () =>
    database.write(async (unit) => deleteTask(unit, { sessionId, by: BY }));
  await expect(remove()).rejects.toMatchObject({ code: 'task_not_archived' });
  await database.write(async (unit) => archiveTask(unit, { sessionId, by: BY }));
  await remove();
  await expect(remove()).rejects.toMatchObject({ code: 'not_found' });

  const { read } = database;
  const [where, edges] = [{ where: { sessionId } }, { where: { sourceId: own } }];
  const left = await Promise.all([
    read.message.count(where),
    read.turn.count(where),
    read.pass.count(where),
    read.planStep.count(where),
    read.question.count(where),
    read.relationship.count(edges),
    read.entity.count({ where: { id: own } }),
  ]);
  expect(left).toEqual([0, 0, 0, 0, 0, 0, 0]);
  expect(await read.knowledge.count({ where: { title: 'nginx' } })).toBe(1);
  expect(await read.execution.findUnique({ where: { id: executionId } })).toMatchObject({
    status: 'cancelled',
    sessionId: null,
  });
  expect(await read.entity.count({ where: { slug: 'host:a' } })).toBe(1);
  const entries = await read.auditEntry.findMany(where);
  expect(entries.map(({ action }) => action)).toContain('task.deleted');
  expect(entries.length).toBeGreaterThan(3);
  expect((await verifyAudit(database)).broken).toBeNull();
});
