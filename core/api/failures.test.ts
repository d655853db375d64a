import { describe, expect, it } from 'vitest';
import { FailureLimit, networkOf } from './failures.ts';

describe('the limit of failed attempts', () => {
  it('H3: closes at the tenth failure, for the rest of the minute that began with the first, and then counts anew', () => {
    let now = 5_000;
    const limit = new FailureLimit(() => now);
    for (let n = 1; n <= 9; n++) {
      limit.add('192.0.2.1');
      now += 1_000;
    }
    expect(limit.waitMs('192.0.2.1')).toBe(0);
    expect(limit.add('192.0.2.1')).toEqual({ count: 10, limited: false });
    expect(limit.waitMs('192.0.2.1')).toBe(51_000);
    // One that was on its way already is over the limit, and does not make the wait longer.
    expect(limit.add('192.0.2.1')).toEqual({ count: 11, limited: true });
    now += 50_999;
    expect(limit.waitMs('192.0.2.1')).toBe(1);
    now += 1;
    expect(limit.waitMs('192.0.2.1')).toBe(0);
    expect(limit.add('192.0.2.1')).toEqual({ count: 1, limited: false });
    expect(limit.waitMs('192.0.2.1')).toBe(0);
  });

  it('H3: one address does not close the door for another, except for its own IPv6 network', () => {
    const limit = new FailureLimit(() => 0);
    for (let n = 0; n < 10; n++) limit.add(`2001:db8:1:2:${n}::1`);
    expect(limit.waitMs('2001:db8:1:2:ffff::9')).toBeGreaterThan(0);
    expect(limit.waitMs('2001:db8:1:3::1')).toBe(0);
    expect(limit.waitMs('192.0.2.2')).toBe(0);
  });

  it('Z7: remembers a bounded number of addresses, the ones that failed last', () => {
    const limit = new FailureLimit(() => 0);
    const address = (n: number): string => `10.${n >> 16}.${(n >> 8) & 255}.${n & 255}`;
    for (let n = 0; n < 10; n++) limit.add(address(0));
    for (let n = 1; n < 10_000; n++) limit.add(address(n));
    expect(limit.waitMs(address(0))).toBeGreaterThan(0);
    limit.add(address(10_000));
    expect(limit.waitMs(address(0))).toBe(0);
  });

  it.each([
    ['127.0.0.1', '127.0.0.1'],
    ['::ffff:192.0.2.7', '192.0.2.7'],
    ['::1', '0:0:0:0::/64'],
    ['2001:db8:0:0:1:2:3:4', '2001:db8:0:0::/64'],
    ['2001:db8::1', '2001:db8:0:0::/64'],
    ['2001:0DB8::', '2001:db8:0:0::/64'],
    ['fe80::1%eth0', 'fe80:0:0:0::/64'],
  ])('H3: %s counts as %s', (address, network) => {
    expect(networkOf(address)).toBe(network);
  });
});
