import { z } from 'zod';
import type { DemoOperator, SeenEvent } from './operator.ts';

/** How long the bot may take for a step of a scene. */
const STEP_MS = 90_000;

const cardShape = z.looseObject({
  'org.nomos': z.looseObject({ kind: z.string(), card: z.string() }),
});

/** What kind of card a bot's event is, and its key; undefined for anything else. */
function cardOf(event: SeenEvent): { kind: string; card: string } | undefined {
  const parsed = cardShape.safeParse(event.content);
  return parsed.success ? parsed.data['org.nomos'] : undefined;
}

function bodyOf(event: SeenEvent): string {
  const fresh = z
    .looseObject({ body: z.string() })
    .safeParse(event.content['m.new_content'] ?? event.content);
  return fresh.success ? fresh.data.body : '';
}

/**
 * Asks in the lobby for a change that a tap approves, taps ✅ and waits for the digest. Gives the task's room. Throws when a
 * step does not happen.
 */
export async function restart(operator: DemoOperator, lobby: string): Promise<string> {
  const asked = await operator.say(
    lobby,
    'check the disks and restart nginx on web-1 if it is down',
  );
  const room = await taskRoom(operator, asked);
  const card = await waitingCard(operator, room, 'the card for the restart');
  await operator.tap(room, card.eventId, '✅');
  await operator.waitFor(
    'the digest',
    (event) => event.roomId === room && cardOf(event)?.kind === 'digest',
    STEP_MS,
  );
  return room;
}

/**
 * Asks for a deletion, for which a tap is not enough: it is tapped, then confirmed in words. Gives the task's room.
 * `meanwhile` is awaited while the card waits for the words.
 */
export async function deletion(
  operator: DemoOperator,
  lobby: string,
  meanwhile: (room: string) => Promise<void> = async () => {},
): Promise<string> {
  const asked = await operator.say(lobby, 'nas-1 is nearly full: delete the old backup of 2023');
  const room = await taskRoom(operator, asked);
  const card = await waitingCard(operator, room, 'the card for the deletion');
  await operator.tap(room, card.eventId, '✅');
  await operator.waitFor(
    'the hint what to type',
    (event) => event.roomId === room && cardOf(event)?.kind === 'hint',
    STEP_MS,
  );
  await meanwhile(room);
  await operator.say(room, 'I confirm', card.eventId);
  await operator.waitFor(
    'the digest',
    (event) => event.roomId === room && cardOf(event)?.kind === 'digest',
    STEP_MS,
  );
  return room;
}

/** The room of the task that a message in the lobby opened: its first card there names the message's own words. */
async function taskRoom(operator: DemoOperator, asked: string): Promise<string> {
  const link = await operator.waitFor(
    'the link to the task',
    (event) => cardOf(event)?.kind === 'lobby' && repliesTo(event) === asked,
    STEP_MS,
  );
  const room = /![^\s()<>[\]"'?\\]+/.exec(JSON.stringify(link.content))?.[0];
  if (room === undefined) throw new Error(`The link names no room: ${bodyOf(link)}`);
  return decodeURIComponent(room);
}

function repliesTo(event: SeenEvent): string | undefined {
  const parsed = z
    .looseObject({
      'm.relates_to': z.looseObject({ 'm.in_reply_to': z.looseObject({ event_id: z.string() }) }),
    })
    .safeParse(event.content);
  return parsed.success ? parsed.data['m.relates_to']['m.in_reply_to'].event_id : undefined;
}

async function waitingCard(operator: DemoOperator, room: string, what: string): Promise<SeenEvent> {
  return operator.waitFor(
    what,
    (event) =>
      event.roomId === room &&
      cardOf(event)?.kind === 'execution' &&
      event.content['m.new_content'] === undefined &&
      /approv|confirm/i.test(bodyOf(event)),
    STEP_MS,
  );
}
