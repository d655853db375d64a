import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { createMasker } from './masker.ts';
import { createMaskStream, LONGEST_HELD } from './stream.ts';
import { cpuMs } from '../../../test/support/cpu-time.ts';

const B64 = 'QUJDREVGR0hJSktMTU5PUFFSU1RVVldYWVphYmNkZWZnaGlqa2xtbm9wcXJzdHV2';
const KNOWN = 'the-known-secret-value';
const masker = createMasker([KNOWN]);

function through(chunks: readonly string[]): string {
  const stream = createMaskStream(masker);
  return chunks.map((chunk) => stream.write(chunk)).join('') + stream.end();
}

/** A text in pieces, cut at the given places. */
function cut(text: string, places: readonly number[]): string[] {
  const at = [
    0,
    ...places.map((place) => Math.floor(place * text.length)).toSorted((a, b) => a - b),
    text.length,
  ];
  return at.slice(1).map((end, index) => text.slice(at[index], end));
}

const LINES = [
  'password=hunter2hunter2',
  `known ${KNOWN} here`,
  'postgres://u:hunter2hunter2@db/x',
  'Authorization: Bearer hunter2hunter2',
  `-----BEGIN OPENSSH PRIVATE KEY-----\n${B64}\n${B64}\n-----END OPENSSH PRIVATE KEY-----`,
  `${B64}\n-----END RSA PRIVATE KEY-----`,
  'Active: active (running)',
  'an ordinary line',
  '',
  '3f9a8b7c6d5e4f3a2b1c0d9e8f7a6b5c4d3e2f1a',
];

describe('X9: a secret that comes in pieces', () => {
  test('a stream lets through what the whole would, wherever it is cut', () => {
    const lines = fc.array(fc.constantFrom(...LINES), { minLength: 1, maxLength: 12 });
    const places = fc.array(fc.double({ min: 0, max: 1, noNaN: true }), { maxLength: 12 });
    fc.assert(
      fc.property(lines, places, (parts, at) => {
        const text = parts.join('\n');
        expect(through(cut(text, at))).toBe(masker.mask(text));
      }),
      { numRuns: 1000 },
    );
  });

  test('a character at a time', () => {
    const text = LINES.join('\n');
    expect(through([...text])).toBe(masker.mask(text));
  });

  test('lines that are done are let through at once', () => {
    const stream = createMaskStream(createMasker());
    expect(stream.write('one\ntwo')).toBe('one\n');
    expect(stream.write('\nthree')).toBe('two\n');
    expect(stream.end()).toBe('three');
  });

  test('the lines of a key without a beginning wait for what they turn out to be', () => {
    const stream = createMaskStream(createMasker());
    expect(stream.write(`${B64}\n`)).toBe('');
    expect(stream.write('-----END RSA PRIVATE KEY-----\n')).toBe(
      '[masked]\n-----END RSA PRIVATE KEY-----\n',
    );
  });

  test('a line longer than what is held goes on, and secrets in it are masked wherever they stand', () => {
    for (const shift of [0, 1, 5, 9, 100, 30_000]) {
      const filler = 'word '.repeat(20_000);
      const text = `${filler.slice(shift)}password=hunter2hunter2 ${filler}${KNOWN} ${filler}`;
      const chunks = text.match(/[^]{1,1000}/g) ?? [];
      expect(through(chunks)).toBe(masker.mask(text));
    }
  });

  test('no more is held than said, and nothing of an endless key or value is shown', () => {
    for (const start of ['-----BEGIN PRIVATE KEY-----\n', 'password=', 'x ghp_']) {
      const stream = createMaskStream(masker);
      let shown = stream.write(start);
      for (let count = 0; count < 400; count += 1)
        shown += stream.write(start === 'password=' ? 'SeCr3t'.repeat(100) : `${B64}\n`);
      shown += stream.write('\n-----END PRIVATE KEY-----\nafter\n') + stream.end();
      expect(shown.endsWith('after\n')).toBe(true);
      if (!start.startsWith('x')) {
        expect(shown).toContain('[masked]');
        expect(shown).not.toMatch(/SeCr3t|QUJDREVG/);
      }
    }
  });

  test('R13: memory stays flat over 64 MiB without a line break', () => {
    const stream = createMaskStream(masker);
    const chunk = 'x'.repeat(LONGEST_HELD);
    let shown = 0;
    for (let count = 0; count < 64; count += 1) shown += stream.write(chunk).length;
    shown += stream.end().length;
    expect(shown).toBe(64 * LONGEST_HELD);
  });

  test('a megabyte in small pieces is done well within a second', () => {
    const line = 'Nov 29 14:00:00 web-1 systemd[1]: Started a unit with password=hunter2 in it.\n';
    const text = line.repeat(1_048_576 / line.length);
    let shown = '';
    const spent = cpuMs(() => {
      shown = through(text.match(/[^]{1,512}/g) ?? []);
    });
    expect(shown).not.toContain('hunter2');
    expect(spent).toBeLessThan(3000);
  });
});
