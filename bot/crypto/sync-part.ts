import { type RoomId, asId } from '../../core/ids.ts';
import type { SyncResponse } from '../matrix/events.ts';

/** Below so many of a device's one-time keys on the homeserver new ones are uploaded; the library keeps 50 there. */
const FEW_KEYS = 25;

const AUDIENCE: ReadonlySet<string> = new Set([
  'm.room.member',
  'm.room.encryption',
  'm.room.history_visibility',
]);
const ENCRYPTION: ReadonlySet<string> = new Set(['m.room.encryption', 'm.room.encrypted']);

/** The rooms of a sync in which it may have changed for whom a message is encrypted. */
export function roomsWithNewAudience({ rooms }: SyncResponse): RoomId[] {
  return Object.entries(rooms.join).flatMap(([id, { state, timeline }]) =>
    timeline.limited || has(AUDIENCE, [...state.events, ...timeline.events])
      ? [asId<RoomId>(id)]
      : [],
  );
}

/** Whether a sync brings an encrypted room or message. */
export function meetsEncryption({ rooms }: SyncResponse): boolean {
  return (
    Object.values(rooms.join).some(({ state, timeline }) =>
      has(ENCRYPTION, [...state.events, ...timeline.events]),
    ) ||
    Object.values(rooms.invite).some(({ invite_state }) => has(ENCRYPTION, invite_state.events))
  );
}

/** Whether a sync has something for the bot's device itself, or says that its keys run out. */
export function wantsKeys(response: SyncResponse): boolean {
  const left = response.device_one_time_keys_count['signed_curve25519'];
  return response.to_device.events.length > 0 || (left !== undefined && left < FEW_KEYS);
}

/** Whether a sync brings the device messages, or news of other people's devices. */
export function tellsDevice({ to_device, device_lists }: SyncResponse): boolean {
  const { changed, left } = device_lists;
  return to_device.events.length + changed.length + left.length > 0;
}

/** What a sync says of the device's own keys on the homeserver, in a form that can be compared. */
export function keysLeft(response: SyncResponse): string {
  const { device_one_time_keys_count: counts, device_unused_fallback_key_types: fallback } =
    response;
  return JSON.stringify([
    Object.entries(counts).map(String).toSorted(),
    fallback?.toSorted() ?? null,
  ]);
}

function has(types: ReadonlySet<string>, events: readonly unknown[]): boolean {
  return events.some((event) => {
    // Looked at for every event of every sync, so by hand and not through a schema.
    if (typeof event !== 'object' || event === null || !('type' in event)) return false;
    return typeof event.type === 'string' && types.has(event.type);
  });
}
