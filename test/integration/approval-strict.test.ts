import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { saveRoom } from '../../bot/rooms/room-state.ts';
import { loadOntology } from '../../core/graph/ontology-file.ts';
import { NO_RULES, parseRules } from '../../core/policy/rules-file.ts';
import { setRules } from '../../core/policy/rule-store.ts';
import { LOBBY, type BotWorld } from '../support/bot-world.ts';
import {
  askFor,
  openRooms,
  openRoomTask,
  type RoomTask,
  type WaitingCommand,
} from '../support/task-room.ts';

let world: BotWorld;
beforeAll(async () => {
  world = await openRooms();
});
afterAll(() => world.close());
afterEach(() => setRules(NO_RULES));

const GOOD = { crossSigned: true, identityChanged: false, relation: true, late: false };

async function waiting(
  strict: boolean,
  encrypted: boolean,
  command = 'systemctl restart nginx',
): Promise<{ task: RoomTask; asked: WaitingCommand }> {
  const decisions = strict ? 'strict' : 'any';
  setRules(
    parseRules(
      `version: 1\ndecisions: ${decisions}`,
      'policy.yaml',
      loadOntology('seeds/ontology.yaml'),
    ),
  );
  const task = await openRoomTask(world);
  if (encrypted)
    await world.write(async (unit) => saveRoom(unit, task.roomId, { encrypted: true }));
  return { task, asked: await askFor(world, task, command) };
}
const statusOf = async (asked: WaitingCommand): Promise<string> => (await asked.approval()).status;

describe('A20: strict decisions in an encrypted room', () => {
  it.each([
    ['✅', 'yes'],
    ['❌', 'no'],
  ])('a tap on %s is told what to type', async (key, word) => {
    const { task, asked } = await waiting(true, true);
    await world.tap(task.roomId, asked.card.eventId, key);
    expect(world.lastAnswer().body).toContain('A tap decides nothing here');
    expect(world.lastAnswer().body).toContain(`Reply to the card with: ${word}`);
    expect(await statusOf(asked)).toBe('pending');
    const entry = await world.database.read.auditEntry.findFirst({
      where: { action: 'approval.refused', subject: asked.approvalId },
    });
    expect(entry?.data).toMatchObject({ why: 'tap' });
  });

  it('C16: a spoken yes decides nothing: a model heard it, and no device of the operator says it', async () => {
    const { task, asked } = await waiting(true, true);
    await world.say(task.roomId, 'Voice message.ogg', {
      replyTo: asked.card.eventId,
      sealed: GOOD,
      content: { msgtype: 'm.audio' },
      media: {
        kind: 'spoken',
        words: 'yes',
        attachment: { kind: 'voice', name: 'v.ogg', mimetype: 'audio/ogg', sizeBytes: 1 },
      },
    });
    expect(world.shown.some(({ body }) => body.includes('spoken words pass through a model'))).toBe(
      true,
    );
    expect(await statusOf(asked)).toBe('pending');
  });

  it.each([
    ['in clear', undefined, 'was not encrypted'],
    ['from a device that is not verified', { ...GOOD, crossSigned: false }, 'has not verified'],
    [
      'from an account with other signing keys than before',
      { ...GOOD, crossSigned: false, identityChanged: true },
      'nomos trust',
    ],
    ['whose relation is not encrypted', { ...GOOD, relation: false }, '!approve'],
  ])('a yes %s decides nothing', async (_, sealed, told) => {
    const { task, asked } = await waiting(true, true);
    await world.say(task.roomId, 'yes', {
      replyTo: asked.card.eventId,
      ...(sealed === undefined ? {} : { sealed }),
    });
    expect(world.lastAnswer().body).toContain(told);
    expect(await statusOf(asked)).toBe('pending');
  });

  it('words and the typed confirmation decide when they came encrypted from a verified device', async () => {
    const plain = await waiting(true, true);
    await world.say(plain.task.roomId, 'yes', { thread: plain.task.root, sealed: GOOD });
    expect(await statusOf(plain.asked)).toBe('approved');

    const fierce = await waiting(true, true, 'rm -rf /srv/old');
    await world.say(fierce.task.roomId, 'I confirm', { thread: fierce.task.root });
    expect(await statusOf(fierce.asked)).toBe('pending');
    await world.say(fierce.task.roomId, 'I confirm', { thread: fierce.task.root, sealed: GOOD });
    expect(await statusOf(fierce.asked)).toBe('approved');
  });

  it('a command names what it decides, so that it counts without a relation, but not in clear and not from elsewhere', async () => {
    const { task, asked } = await waiting(true, true);
    const command = `!approve ${asked.shortId}`;
    await world.say(task.roomId, command);
    await world.say(LOBBY, command);
    expect(world.lastAnswer().body).toContain('was not encrypted');
    expect(await statusOf(asked)).toBe('pending');
    await world.say(task.roomId, command, { sealed: { ...GOOD, relation: false } });
    expect(await statusOf(asked)).toBe('approved');
  });
});

describe('A20: where decisions are not strict, or the room is not encrypted', () => {
  it.each([
    [true, false],
    [false, true],
  ])('strict %s, encrypted %s: a tap counts as always', async (strict, encrypted) => {
    const { task, asked } = await waiting(strict, encrypted);
    await world.tap(task.roomId, asked.card.eventId, '✅');
    expect(await statusOf(asked)).toBe('approved');
  });
});

describe('a client that wants to verify the bot', () => {
  it('is told that this cannot be done, and need not be', async () => {
    const { task } = await waiting(false, true);
    const content = { msgtype: 'm.key.verification.request' };
    await world.say(task.roomId, 'I want to verify you', { content, sealed: GOOD });
    expect(world.lastAnswer().body).toContain('cannot compare emojis');
  });
});

describe('A4: a yes that could be read only long after it was written', () => {
  it('decides nothing, and is told so', async () => {
    const { task, asked } = await waiting(false, true);
    await world.say(task.roomId, 'yes', { thread: task.root, sealed: { ...GOOD, late: true } });
    expect(world.lastAnswer().body).toContain('only now');
    expect(await statusOf(asked)).toBe('pending');
    await world.tap(task.roomId, asked.card.eventId, '✅');
    expect(await statusOf(asked)).toBe('approved');
  });
});
