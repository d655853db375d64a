import { NomosError } from '../../core/errors.ts';
import type { RoomId } from '../../core/ids.ts';
import type { NomosClient } from './client.ts';
import { type TimelineEvent, eventShape, messagesShape, readEvents } from './events.ts';
import { sortFailure } from './errors.ts';
import { persist } from './retry.ts';

/** 200 pages of 100 events: more than a room sees in weeks, and at most some 40 MB in memory. */
const MAX_PAGES = 200;
const PAGE = 100;

/** What was found in a gap, oldest first; `missing` says why not all of it. */
export interface Gap {
  events: TimelineEvent[];
  missing?: NomosError;
}

/**
 * Reads a room backwards from `from` until `isKnown` knows an event of a page, or the room's beginning. Waits while the
 * homeserver is away. Never shortens silently: what could not be had is said in `missing`.
 */
export async function fillGap(
  client: NomosClient,
  roomId: RoomId,
  from: string,
  isKnown: (events: readonly TimelineEvent[]) => Promise<(event: TimelineEvent) => boolean>,
  signal: AbortSignal,
  maxPages: number = MAX_PAGES,
): Promise<Gap> {
  const newestFirst: TimelineEvent[] = [];
  const found = (missing?: NomosError): Gap => ({
    events: newestFirst.toReversed(),
    ...(missing === undefined ? {} : { missing }),
  });
  let token = from;
  for (let page = 0; page < maxPages; page++) {
    let answer: unknown;
    try {
      answer = await persist('reading missed messages', signal, () =>
        client.doRequest('GET', `/_matrix/client/v3/rooms/${encodeURIComponent(roomId)}/messages`, {
          dir: 'b',
          from: token,
          limit: PAGE,
        }),
      );
    } catch (error) {
      signal.throwIfAborted();
      return found(
        gapError(roomId, `the homeserver refuses it (${sortFailure(error).text})`, error),
      );
    }
    const { chunk, end } = messagesShape.parse(answer);
    const events = readEvents(eventShape, chunk, roomId);
    const known = await isKnown(events);
    const until = events.findIndex(known);
    newestFirst.push(...(until === -1 ? events : events.slice(0, until)));
    if (until !== -1 || end === undefined || end === token) return found();
    token = end;
  }
  return found(gapError(roomId, `it is longer than ${maxPages * PAGE} events`));
}

function gapError(roomId: RoomId, why: string, cause?: unknown): NomosError {
  return new NomosError(
    'messages_missed',
    'system',
    `Some messages in the room ${roomId} from while the bot was away could not be read: ${why}.`,
    {
      fields: { roomId },
      hint: 'Say again what has had no answer.',
      cause,
    },
  );
}
