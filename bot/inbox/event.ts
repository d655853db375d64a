import type { MatrixInbox, MatrixRoom } from '../../core/db/rows.ts';
import { type MatrixEventId, type UserId, asId } from '../../core/ids.ts';
import { clearShape } from '../crypto/unseal.ts';
import { eventShape } from '../matrix/events.ts';
import { knownRoom } from '../rooms/room-state.ts';
import type { InboxEvent } from './types.ts';

/** What is taken from inside an encrypted event: everything else counts as the homeserver says it. */
const SECRET_TYPES: ReadonlySet<string> = new Set(['m.room.message']);

/** A stored event as the handlers get it, decrypted where it was encrypted. */
export function inboxEvent(row: MatrixInbox, room: MatrixRoom): InboxEvent {
  const event = eventShape.parse(row.event);
  // Room versions from 11 on have it in the content.
  const redacts = event.redacts ?? event.content['redacts'];
  const known = {
    eventId: asId<MatrixEventId>(row.eventId),
    room: knownRoom(room),
    sender: asId<UserId>(row.sender),
  };
  if (row.clear !== null) {
    const { type, content, crossSigned, identityChanged, relation, late } = clearShape.parse(
      row.clear,
    );
    const sealed = { crossSigned, identityChanged, relation, late: late === true };
    return {
      ...known,
      type: SECRET_TYPES.has(type) ? type : 'unknown',
      content,
      redacts: null,
      sealed,
    };
  }
  return {
    ...known,
    type: row.type,
    content: event.content,
    redacts: typeof redacts === 'string' ? asId<MatrixEventId>(redacts) : null,
    sealed: null,
  };
}
