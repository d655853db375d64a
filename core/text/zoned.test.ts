import fc from 'fast-check';
import { expect, it } from 'vitest';
import { instantOf, wallTime } from './zoned.ts';

const at = (text: string, timeZone: string): string | undefined => {
  const [year = 0, month = 0, day = 0, hour = 0, minute = 0] = text.split(/[-T:]/).map(Number);
  return instantOf({ year, month, day, hour, minute }, timeZone)?.toISOString();
};

it.each([
  ['2026-12-01T07:00', 'Europe/Berlin', '2026-12-01T06:00:00.000Z'],
  ['2026-07-01T07:00', 'Europe/Berlin', '2026-07-01T05:00:00.000Z'],
  ['2026-07-01T00:00', 'Asia/Kathmandu', '2026-06-30T18:15:00.000Z'],
  // Shown twice: the first time.
  ['2026-10-25T02:30', 'Europe/Berlin', '2026-10-25T00:30:00.000Z'],
  // Never shown: an hour later on that wall, 3:30.
  ['2027-03-28T02:30', 'Europe/Berlin', '2027-03-28T01:30:00.000Z'],
  ['2026-11-01T01:30', 'America/New_York', '2026-11-01T05:30:00.000Z'],
  // Half an hour forward and back.
  ['2026-10-04T02:10', 'Australia/Lord_Howe', '2026-10-03T15:40:00.000Z'],
])('T14: %s in %s is %s', (wall, timeZone, instant) => {
  expect(at(wall, timeZone)).toBe(instant);
});

it('T14: a day that no calendar has is none', () => {
  expect(at('2026-02-30T07:00', 'UTC')).toBeUndefined();
  expect(at('2026-01-01T24:00', 'UTC')).toBeUndefined();
});

it('T14: what a clock shows leads back to an instant at which it shows the same', () => {
  const zones = ['UTC', 'Europe/Berlin', 'America/St_Johns', 'Pacific/Apia', 'Australia/Lord_Howe'];
  fc.assert(
    fc.property(
      fc.integer({ min: Date.UTC(2020, 0), max: Date.UTC(2040, 0) }),
      fc.constantFrom(...zones),
      (ms, timeZone) => {
        const shown = wallTime(new Date(ms), timeZone);
        const back = instantOf(shown, timeZone);
        expect(back).toBeDefined();
        expect(wallTime(back ?? new Date(0), timeZone)).toEqual(shown);
      },
    ),
  );
});
