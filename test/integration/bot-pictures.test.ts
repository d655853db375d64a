import { afterAll, beforeAll, expect, test } from 'vitest';
import { requestExecution } from '../../core/executions/request.ts';
import { asId, type RoomId, type SessionId } from '../../core/ids.ts';
import { type BotWorld, LOBBY, type Shown } from '../support/bot-world.ts';
import { openRooms } from '../support/task-room.ts';

let world: BotWorld;

beforeAll(async () => {
  world = await openRooms({ timeZone: 'Europe/Berlin' });
});
afterAll(async () => world.close());

/** What the bot shows last: a picture, or an answer in words. */
async function ask(words: string, room: RoomId = LOBBY): Promise<Shown> {
  const eventId = await world.say(room, words);
  const shown = world.shown.findLast((one) => one.replyTo === eventId);
  if (shown === undefined) throw new Error(`no answer to ${words}`);
  return shown;
}

function pngSize(shown: Shown): { width: number; height: number } {
  const bytes = shown.file?.bytes ?? Buffer.alloc(0);
  expect(bytes.subarray(1, 4).toString('latin1')).toBe('PNG');
  return { width: bytes.readUInt32BE(16), height: bytes.readUInt32BE(20) };
}

async function endedOn(slug: string, status: string, hoursAgo: number, sessionId?: SessionId) {
  const entity = await world.database.read.entity.findUniqueOrThrow({ where: { slug } });
  const task = sessionId ?? (await newTask()).sessionId;
  const turn = await world.database.read.turn.findFirstOrThrow({ where: { sessionId: task } });
  const asked = await world.write(async (unit) =>
    requestExecution(unit, {
      sessionId: task,
      turnId: asId(turn.id),
      passId: null,
      toolCallId: null,
      target: slug,
      command: 'uptime',
      purpose: 'a look',
    }),
  );
  if (!('executionId' in asked)) throw new Error(`${slug} takes no command`);
  await world.database.read.$executeRaw`
    UPDATE executions SET status = ${status}::execution_status, entity_id = ${entity.id}::uuid,
      ended_at = now() - make_interval(hours => ${hoursAgo}::int)
    WHERE id = ${asked.executionId}::uuid`;
}

async function newTask(): Promise<{ sessionId: SessionId; shortId: string; room: RoomId }> {
  await world.say(LOBBY, 'look at something');
  const session = await world.database.read.session.findFirstOrThrow({
    orderBy: { createdAt: 'desc' },
  });
  return {
    sessionId: asId<SessionId>(session.id),
    shortId: session.shortId,
    room: asId<RoomId>(session.roomId ?? ''),
  };
}

test('C12: !graph draws what depends on an entity, and says the same in words', async () => {
  const shown = await ask('!graph pve-1');
  expect(shown).toMatchObject({ msgtype: 'm.image', picture: pngSize(shown) });
  expect(shown.file?.name).toBe('graph.png');
  expect(shown.body).toMatch(/^\d+ things depend on host:pve-1, \d of them directly: .*lxc:dns/);
});

test('C12: !graph says it in words where there is nothing to draw, and what is allowed', async () => {
  expect((await ask('!graph')).body).toContain('!graph needs to know what to draw.');
  expect((await ask('!graph web-9')).body).toContain('There is no entity “web-9”.');
  expect((await ask('!graph web')).body).toContain('host:web-1');
  await world.database.read.entity.create({
    data: {
      id: '01900000-0000-7000-8000-000000000001',
      slug: 'host:lonely',
      type: 'host',
      name: 'lonely',
      state: 'active',
      attributes: {},
      source: 'agent',
    },
  });
  expect((await ask('!graph lonely')).body).toContain('connected with nothing');
});

test('C12: !graph in a task’s room draws what the task touched; elsewhere its short id says which', async () => {
  const { sessionId, shortId, room } = await newTask();
  expect((await ask('!graph', room)).body).toContain('has touched nothing');
  await endedOn('host:web-1', 'completed', 1, sessionId);
  await endedOn('host:db-1', 'failed', 1, sessionId);
  const shown = await ask('!graph', room);
  expect(shown.msgtype).toBe('m.image');
  expect(shown.body).toBe(
    `Task ${shortId} touched 2 things: host:db-1 and host:web-1. Something failed on host:db-1.`,
  );
  expect((await ask(`!graph task:${shortId}`)).body).toBe(shown.body);
  expect((await ask(`!graph ${shortId.toUpperCase()}`)).body).toBe(shown.body);
});

test('C12: !trend draws how commands ended on each day, of the fleet or of one entity', async () => {
  await world.database.read
    .$executeRaw`UPDATE executions SET ended_at = now() - interval '90 days'`;
  expect((await ask('!trend')).body).toBe('No command has ended in the last 30 days.');
  await endedOn('host:web-1', 'completed', 2);
  await endedOn('host:web-1', 'failed', 50);
  await endedOn('host:web-1', 'unknown', 50);
  await endedOn('host:db-1', 'completed', 24 * 29);
  await endedOn('host:db-1', 'completed', 24 * 31);
  await endedOn('host:db-1', 'denied', 2);
  const all = await ask('!trend');
  expect(all).toMatchObject({ msgtype: 'm.image', picture: pngSize(all) });
  expect(all.body).toMatch(
    /^4 commands ended in the last 30 days: 2 succeeded, 2 failed\. Most failures on \d+ \w+: 2\.$/,
  );
  expect((await ask('!trend web-1')).body).toContain(
    '3 commands ended on host:web-1 in the last 30 days: 1 succeeded, 2 failed.',
  );
});
