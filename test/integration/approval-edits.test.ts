import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { requestCancel } from '../../core/executions/cancel.ts';
import { claimExecution } from '../../core/executions/claim.ts';
import { askQuestion } from '../../core/tasks/questions.ts';
import { type BotWorld } from '../support/bot-world.ts';
import {
  askFor,
  openRooms,
  openRoomTask,
  saidIn,
  startPass,
  type RoomTask,
} from '../support/task-room.ts';

let world: BotWorld;
beforeAll(async () => {
  world = await openRooms();
});
afterAll(() => world.close());

const restart = (task: RoomTask): ReturnType<typeof askFor> =>
  askFor(world, task, 'systemctl restart nginx', { purpose: 'Restart nginx' });

/** The operator edits a message of their own. */
async function edit(task: RoomTask, target: string, body: string): Promise<void> {
  await world.handle(task.roomId, 'm.room.message', {
    msgtype: 'm.text',
    body: ` * ${body}`,
    'm.new_content': { msgtype: 'm.text', body },
    'm.relates_to': { rel_type: 'm.replace', event_id: target },
  });
}

describe('T13, A7, R4: an edit of words that decided', () => {
  it('that no longer say yes takes the approval back before the command started, and the agent reads them', async () => {
    const task = await openRoomTask(world);
    const held = await restart(task);
    const yes = await world.say(task.roomId, 'yes', { thread: task.root });
    await edit(task, yes, 'yes please');
    expect((await held.execution()).status).toBe('queued');
    await edit(task, yes, 'yes, but only after six');
    expect((await held.approval()).status).toBe('withdrawn');
    expect((await held.execution()).status).toBe('revoked');
    expect(await saidIn(world, task.turnId)).toContain('(edited) yes, but only after six');
  });

  it('after the command started it is too late, and said so; the agent reads them all the same', async () => {
    const task = await openRoomTask(world);
    const held = await restart(task);
    const yes = await world.say(task.roomId, 'yes', { thread: task.root });
    expect((await claimExecution(world.database, held.id, 'worker')).kind).toBe('claimed');
    await edit(task, yes, 'no');
    expect(world.lastAnswer().body).toContain('Too late');
    expect((await held.execution()).status).toBe('running');
    expect(await saidIn(world, task.turnId)).toContain('(edited) no');
  });

  it('a “no” that becomes a “yes” approves nothing, and what to do is said; one that says more is read', async () => {
    const task = await openRoomTask(world);
    const held = await restart(task);
    const no = await world.say(task.roomId, 'no', { thread: task.root });
    await edit(task, no, 'yes');
    expect((await held.approval()).status).toBe('denied');
    expect(world.lastAnswer().body).toContain('An edit of that message does nothing');
    await edit(task, no, 'no, it is in use');
    expect(await saidIn(world, task.turnId)).toContain('(edited) no, it is in use');
  });

  it('an answer to a question that is edited is read as well', async () => {
    const task = await openRoomTask(world);
    await world.write((unit) =>
      askQuestion(unit, { ...task, prompt: 'Which?', options: ['one', 'two'], entities: [] }),
    );
    await world.settle();
    const said = await world.say(task.roomId, 'one', { thread: task.root });
    await edit(task, said, 'two');
    expect(await saidIn(world, task.turnId)).toContain('(edited) two');
  });

  it('of a command does nothing, and that is said', async () => {
    const task = await openRoomTask(world);
    await startPass(world, task.sessionId, task.turnId);
    const said = await world.say(task.roomId, '!statsu');
    await edit(task, said, '!status');
    expect(world.lastAnswer().body).toContain('An edit of that message does nothing');
  });
});

it('A7: taking back the ✅ of a command that was cancelled before it started says nothing untrue', async () => {
  const task = await openRoomTask(world);
  const held = await restart(task);
  const tap = await world.tap(task.roomId, held.card.eventId, '✅');
  await world.write((unit) =>
    requestCancel(unit, { executionId: held.id, by: '@ann:example.org' }),
  );
  await world.settle();
  const said = world.shown.length;
  await world.redact(task.roomId, tap);
  expect(world.shown).toHaveLength(said);
  expect((await held.execution()).status).toBe('cancelled');
});
