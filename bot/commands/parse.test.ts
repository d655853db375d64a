import { describe, expect, it } from 'vitest';
import { commandLine, nearestName, readArguments } from './parse.ts';

const cancel = {
  name: 'cancel',
  takes: [{ name: 'id', what: 'the id on the card', required: true }],
  does: '',
  needs: 'viewer',
} as const;
const deny = {
  name: 'deny',
  takes: [
    { name: 'id', what: 'the id', required: true },
    { name: 'reason', what: 'why', required: false, rest: true },
  ],
  does: '',
  needs: 'viewer',
} as const;

describe('C12: a command line', () => {
  it('is taken apart, whatever its case and spaces', () => {
    expect(commandLine('!Cancel  k7f3q')).toEqual({ name: 'cancel', rest: 'k7f3q' });
    expect(commandLine('! help')).toEqual({ name: 'help', rest: '' });
    expect(commandLine('!')).toEqual({ name: '', rest: '' });
  });

  it('gives each argument its word, the last one the rest', () => {
    expect(readArguments(deny, 'k7f3q not now,\nlater')).toEqual({
      id: 'k7f3q',
      reason: 'not now,\nlater',
    });
    expect(readArguments(deny, 'k7f3q')).toEqual({ id: 'k7f3q' });
  });

  it('says what is missing or too much', () => {
    expect(() => readArguments(cancel, '')).toThrow('!cancel needs id: the id on the card.');
    expect(() => readArguments(cancel, 'a b')).toThrow('!cancel does not take “b”.');
  });

  it('finds the name that was meant, and none for something else', () => {
    const names = ['tasks', 'status', 'approvals', 'help'];
    expect(nearestName('tsaks', names)).toBe('tasks');
    expect(nearestName('app', names)).toBe('approvals');
    expect(nearestName('hepl', names)).toBe('help');
    expect(nearestName('important', names)).toBeUndefined();
  });
});
