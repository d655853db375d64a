import { afterAll, beforeAll, expect, it } from 'vitest';
import { claimExecution } from '../../core/executions/claim.ts';
import { transition } from '../../core/executions/states.ts';
import { lockSession } from '../../core/tasks/lock.ts';
import type { BotWorld } from '../support/bot-world.ts';
import { askFor, openRooms, openRoomTask, type RoomTask } from '../support/task-room.ts';

let world: BotWorld;
beforeAll(async () => {
  world = await openRooms();
});
afterAll(() => world.close());

const restart = (task: RoomTask, target?: string): ReturnType<typeof askFor> =>
  askFor(world, task, 'systemctl restart nginx', {
    purpose: 'Restart nginx',
    ...(target === undefined ? {} : { target }),
  });

async function edit(task: RoomTask, target: string, body: string): Promise<void> {
  await world.handle(task.roomId, 'm.room.message', {
    msgtype: 'm.text',
    body: ` * ${body}`,
    'm.new_content': { msgtype: 'm.text', body },
    'm.relates_to': { rel_type: 'm.replace', event_id: target },
  });
}

it('A7, T13: new words that say yes to something else take the yes of the old ones back', async () => {
  const task = await openRoomTask(world);
  const [web, db] = [await restart(task), await restart(task, 'db-1')];
  const said = await world.say(task.roomId, 'yes, web-1', { thread: task.root });
  expect((await web.execution()).status).toBe('queued');
  await edit(task, said, 'yes please, web-1');
  expect((await web.execution()).status).toBe('queued');
  await edit(task, said, 'yes, db-1');
  expect((await web.execution()).status).toBe('revoked');
  // An edit never decides.
  expect((await db.execution()).status).toBe('pending_approval');
});

it('A7, T13: of several that were approved, an edit takes back those that the new words leave out', async () => {
  const task = await openRoomTask(world);
  const [web, db] = [await restart(task), await restart(task, 'db-1')];
  const said = await world.say(task.roomId, 'yes', { thread: task.root });
  expect([(await web.execution()).status, (await db.execution()).status]).toEqual([
    'queued',
    'queued',
  ]);
  await edit(task, said, 'yes, web-1');
  expect([(await web.execution()).status, (await db.execution()).status]).toEqual([
    'queued',
    'revoked',
  ]);
});

it('X5: !cancel of a command that ends in this moment does not say that it never started', async () => {
  const task = await openRoomTask(world);
  const held = await restart(task);
  await world.tap(task.roomId, held.card.eventId, '✅');
  expect((await claimExecution(world.database, held.id, 'w')).kind).toBe('claimed');
  let said: Promise<unknown> = Promise.resolve();
  await world.database.write(async (unit) => {
    await lockSession(unit, task.sessionId);
    const execution = await unit.db.execution.findUniqueOrThrow({ where: { id: held.id } });
    await transition(unit, execution, 'running', 'completed', { actor: 'system' });
    said = world.say(task.roomId, `!cancel ${held.shortId}`);
    await expect
      .poll(async () => {
        const [row] = await world.database.read.$queryRaw<Array<{ count: bigint }>>`
          SELECT count(*) FROM pg_locks l JOIN pg_stat_activity a USING (pid)
          WHERE NOT l.granted AND a.datname = current_database()`;
        return (row?.count ?? 0n) > 0n;
      })
      .toBe(true);
  });
  await said;
  expect(world.lastAnswer().body).not.toContain('before it started');
  expect(world.lastAnswer().body).toContain('has ended already');
});
