import { describe, expect, it } from 'vitest';
import { readWhen } from './when.ts';

// A Sunday, 12:00 in Berlin.
const NOW = new Date('2026-11-29T11:00:00Z');
const read = (text: string, now: Date = NOW): [string, string] => {
  const { when, prompt } = readWhen(text, { now, timeZone: 'Europe/Berlin' });
  return [when.kind === 'cron' ? when.cron : when.at.toISOString().slice(0, 16), prompt];
};

describe('T14: when a task is set for', () => {
  it.each([
    ['"0 7 * * *" check the fleet', '0 7 * * *', 'check the fleet'],
    ['“30 6 * * 1-5” look at the disks', '30 6 * * 1-5', 'look at the disks'],
    ['at 2026-12-01 07:00 check the fleet', '2026-12-01T06:00', 'check the fleet'],
    ['on 2026-12-01 at 7:00 check the fleet', '2026-12-01T06:00', 'check the fleet'],
    ['2026-12-01T07:00 check the fleet', '2026-12-01T06:00', 'check the fleet'],
    ['"at 2026-12-01 07:00" check the fleet', '2026-12-01T06:00', 'check the fleet'],
    ['at 18:30 check web-1', '2026-11-29T17:30', 'check web-1'],
    ['at 6.30pm: check web-1', '2026-11-29T17:30', 'check web-1'],
    ['at 12am check web-1', '2026-11-29T23:00', 'check web-1'],
    // 7:00 has passed today.
    ['at 7:00 check web-1', '2026-11-30T06:00', 'check web-1'],
    ['tomorrow 7:00 check web-1', '2026-11-30T06:00', 'check web-1'],
    ['tomorrow at 7am, check web-1', '2026-11-30T06:00', 'check web-1'],
    ['at 7:00 tomorrow check web-1', '2026-11-30T06:00', 'check web-1'],
    ['in 2h restart nginx on web-1', '2026-11-29T13:00', 'restart nginx on web-1'],
    ['in 90 minutes check web-1', '2026-11-29T12:30', 'check web-1'],
    ['in 1h30m check web-1', '2026-11-29T12:30', 'check web-1'],
    ['in an hour and 30 minutes check web-1', '2026-11-29T12:30', 'check web-1'],
    ['in 3 days check 2 disks', '2026-12-02T11:00', 'check 2 disks'],
    ['in 2 weeks: 3 checks please', '2026-12-13T11:00', '3 checks please'],
  ])('%s', (text, when, prompt) => {
    expect(read(text)).toEqual([when, prompt]);
  });

  it('days ahead keep the time of day over a change of the clocks; hours are hours', () => {
    const before = new Date('2026-10-24T10:00:00Z');
    expect(read('in 1 day check', before)[0]).toBe('2026-10-25T11:00');
    expect(read('in 24h check', before)[0]).toBe('2026-10-25T10:00');
  });

  it.each([
    ['at 2026-11-29 11:59 check', /has passed/],
    ['today 7:00 check', /has passed/],
    ['at 2026-02-30 07:00 check', /no day and time/],
    ['at 25:00 check', /no day and time/],
    ['at 13pm check', /no day and time/],
    ['at 2126-12-01 07:00 check', /more than 10 years/],
    ['in 99999999 weeks check', /more than 10 years/],
    ['in 0m check', /has passed/],
    [`in ${'9'.repeat(400)} hours check`, /more than 10 years/],
    [`in ${'9999999 weeks '.repeat(60)} check`, /more than 10 years/],
    ['at 2026-12-01 07:00', /what is to be done/],
    ['check the fleet at 7', /do not understand/],
    ['in a while check', /do not understand/],
    ['at noon check', /do not understand/],
    ['in 2 parsecs check', /do not understand/],
  ])('refuses “%s” and says what is allowed', (text, why) => {
    expect(() => read(text)).toThrow(why);
  });
});
