import { PRIORITY } from '../../../bot/outbox/insert.ts';
import type { Database } from '../../../core/db/database.ts';
import type { MatrixOutbox } from '../../../core/db/rows.ts';
import type { RawEvent } from '../../support/matrix.ts';
import { messageIndex } from '../../support/secret-chat.ts';
import type { Said } from './audit.ts';

const SPOKEN = new Set(['m.room.message', 'm.reaction', 'm.room.redaction']);
const SPEAKING: ReadonlyArray<MatrixOutbox['kind']> = ['send', 'edit', 'react', 'redact', 'upload'];

/** The rooms as the homeserver and the operator's client have them. */
export interface AuditedRooms {
  person: { history(roomId: string, options?: { sealed?: boolean }): Promise<RawEvent[]> };
  bot: { userId: string };
  /** Whether every room is encrypted. */
  encrypted: boolean;
}

/** R4 and R5 against the homeserver's own account: what was said to the bot, and what the bot decided to say. */
export async function auditRooms(
  { matrix, database }: { matrix: AuditedRooms | undefined; database: Database },
  operator: Said,
): Promise<string[]> {
  if (matrix === undefined) return [];
  const wrong: string[] = [];
  const rows = await database.read.matrixOutbox.findMany({ orderBy: { id: 'asc' } });
  for (const row of rows) {
    if (row.state === 'pending' || row.state === 'failed')
      wrong.push(
        `R5: outbox row ${row.id} (${row.kind} ${row.cardKey ?? ''}) is ${row.state}: ${row.error ?? ''}`,
      );
  }
  const said = rows.filter(({ state, kind }) => state === 'sent' && SPEAKING.includes(kind));
  const rooms = await roomsOf(database);
  const byRoom = Map.groupBy(said, (row) => rooms.get(row.lane) ?? row.lane.replace(/^room:/, ''));
  const sealed: RawEvent[] = [];
  for (const roomId of new Set([...rooms.values(), ...byRoom.keys()])) {
    const history = await matrix.person.history(roomId);
    wrong.push(...compare(roomId, byRoom.get(roomId) ?? [], history, matrix.bot.userId));
    if (matrix.encrypted) sealed.push(...(await matrix.person.history(roomId, { sealed: true })));
  }
  wrong.push(...keysUsedOnce(sealed, matrix.bot.userId));
  const inbox = await database.read.matrixInbox.findMany({
    where: { eventId: { in: [...operator.asked, ...operator.said] } },
    select: { eventId: true, state: true, error: true },
  });
  const states = new Map(inbox.map((row) => [row.eventId, row]));
  for (const eventId of [...operator.asked, ...operator.said]) {
    const row = states.get(eventId);
    if (row?.state !== 'done')
      wrong.push(`R4: ${eventId} is ${row?.state ?? 'not in the inbox'} ${row?.error ?? ''}`);
  }
  return wrong;
}

/** The room of each lane that names a task. */
async function roomsOf(database: Database): Promise<Map<string, string>> {
  const sessions = await database.read.session.findMany({
    where: { roomId: { not: null } },
    select: { id: true, roomId: true },
  });
  return new Map(sessions.map(({ id, roomId }) => [`session:${id}`, roomId ?? '']));
}

/** R5: in encrypted rooms nothing was said in clear, and no message key was used for two messages. */
function keysUsedOnce(events: readonly RawEvent[], bot: string): string[] {
  const wrong: string[] = [];
  const used = new Map<string, string>();
  for (const { event_id, type, sender, content } of events) {
    if (sender !== bot) continue;
    if (type === 'm.room.message' && Object.keys(content).length > 0)
      wrong.push(`R5: ${event_id} stands in clear in an encrypted room`);
    if (type !== 'm.room.encrypted' || content['ciphertext'] === undefined) continue;
    const index = messageIndex(content);
    const other = used.get(index);
    if (other !== undefined)
      wrong.push(`R5: ${event_id} and ${other} were encrypted with one key: ${index}`);
    used.set(index, event_id);
  }
  return wrong;
}

function compare(
  roomId: string,
  rows: readonly MatrixOutbox[],
  history: readonly RawEvent[],
  bot: string,
): string[] {
  const wrong: string[] = [];
  const events = history.filter(({ sender, type }) => sender === bot && SPOKEN.has(type));
  const place = new Map(events.map(({ event_id }, index) => [event_id, index]));
  const known = new Set(rows.map(({ eventId }) => eventId));
  for (const event of events) {
    if (!known.has(event.event_id))
      wrong.push(
        `R5: ${roomId} holds ${event.event_id}, which no outbox row knows: ${JSON.stringify(event.content['body'] ?? event.content).slice(0, 120)}`,
      );
  }
  let last: { at: number; row: MatrixOutbox } | undefined;
  for (const row of rows.filter(isMessage)) {
    const at = place.get(row.eventId ?? '');
    if (at === undefined) {
      wrong.push(`R5: row ${row.id} was sent as ${row.eventId}, which is not in ${roomId}`);
    } else if (last !== undefined && at < last.at) {
      wrong.push(`R5: ${describe(row)} stands before ${describe(last.row)}, decided earlier`);
    } else last = { at, row };
  }
  const ids = rows.map(({ eventId }) => eventId);
  if (new Set(ids).size !== ids.length) wrong.push(`R5: an event of ${roomId} stands for two rows`);
  return wrong;
}

/** What people read in its order. The first message of a progress card may stand back for more urgent ones (R10). */
function isMessage({ kind, priority }: MatrixOutbox): boolean {
  return kind === 'upload' || (kind === 'send' && priority < PRIORITY.progress);
}

function describe({
  id,
  kind,
  lane,
  cardKey,
  priority,
  createdAt,
  sentAt,
  attempts,
}: MatrixOutbox): string {
  return `row ${id} (${kind} ${cardKey ?? ''} in ${lane}, priority ${priority}, made ${createdAt.toISOString()}, sent ${sentAt?.toISOString()}, ${attempts} tries)`;
}
