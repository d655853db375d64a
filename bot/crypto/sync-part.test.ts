import { expect, test } from 'vitest';
import { type SyncResponse, syncShape } from '../matrix/events.ts';
import {
  keysLeft,
  meetsEncryption,
  roomsWithNewAudience,
  tellsDevice,
  wantsKeys,
} from './sync-part.ts';

const sync = (parts: Record<string, unknown>): SyncResponse =>
  syncShape.parse({ next_batch: 's1', ...parts });
const room = (...types: string[]) => ({
  rooms: {
    join: { '!a:b': { timeline: { events: types.map((type) => ({ type })) } } },
  },
});

test('a sync of clear rooms needs no keys', () => {
  const quiet = sync({
    ...room('m.room.message', 'm.reaction'),
    device_one_time_keys_count: { signed_curve25519: 50 },
  });
  expect(meetsEncryption(quiet)).toBe(false);
  expect(wantsKeys(quiet)).toBe(false);
  expect(roomsWithNewAudience(quiet)).toEqual([]);
});

test.each([
  ['an encrypted message', room('m.room.encrypted')],
  ['a room that becomes encrypted', room('m.room.encryption')],
  [
    'an invitation to an encrypted room',
    {
      rooms: { invite: { '!a:b': { invite_state: { events: [{ type: 'm.room.encryption' }] } } } },
    },
  ],
])('%s needs them', (_, parts) => {
  expect(meetsEncryption(sync(parts))).toBe(true);
});

test.each([
  ['something for the device', { to_device: { events: [{ type: 'm.room_key' }] } }],
  ['few keys left', { device_one_time_keys_count: { signed_curve25519: 3 } }],
])('%s is for the device', (_, parts) => {
  expect(wantsKeys(sync(parts))).toBe(true);
});

test('who is in a room is asked again when somebody came or went, or when some of it is missing', () => {
  expect(roomsWithNewAudience(sync(room('m.room.member')))).toEqual(['!a:b']);
  const limited = { rooms: { join: { '!a:b': { timeline: { events: [], limited: true } } } } };
  expect(roomsWithNewAudience(sync(limited))).toEqual(['!a:b']);
  expect(roomsWithNewAudience(sync(room('m.room.message', 'broken')))).toEqual([]);
});

test.each([
  ['a message to the device', { to_device: { events: [{ type: 'm.room_key' }] } }],
  ['news of a device', { device_lists: { changed: ['@ann:test'] } }],
  ['somebody who left', { device_lists: { left: ['@ann:test'] } }],
])('A20: %s is told to the device', (_what, parts) => {
  expect(tellsDevice(sync(parts))).toBe(true);
  expect(tellsDevice(sync({}))).toBe(false);
});

test('A20: what is left of the device’s keys is the same in whatever order it is told, and differs when a key is used', () => {
  const left = (curve: number, fallback?: string[]): string =>
    keysLeft(
      sync({
        device_one_time_keys_count: { signed_curve25519: curve, other: 1 },
        ...(fallback === undefined ? {} : { device_unused_fallback_key_types: fallback }),
      }),
    );
  const turned = sync({ device_one_time_keys_count: { other: 1, signed_curve25519: 50 } });
  expect(keysLeft(turned)).toBe(left(50));
  expect(new Set([left(50), left(49), left(50, []), left(50, ['signed_curve25519'])]).size).toBe(4);
});
