import { expect, test } from 'vitest';
import { createMasker } from './masking/masker.ts';
import { maskOutput, storable } from './finish.ts';

const TOKEN = `ghp_${'a1B2c3D4'.repeat(5)}`;
const bytes = (text: string): Uint8Array => new TextEncoder().encode(text);

/** An output of which the middle was left out at `gapAt` characters. */
function kept(head: string, tail: string): string {
  return maskOutput(
    storable({
      bytes: bytes(head + tail),
      totalBytes: head.length + tail.length + 1000,
      droppedBytes: 1000,
      gapAt: head.length,
    }),
    createMasker([]).mask,
  );
}

test('X4, X9: nothing of a secret stays on either side of the gap in a long output', () => {
  const text = kept(`first\ntoken=${TOKEN.slice(0, 12)}`, `${TOKEN.slice(12)} and so on\nlast\n`);
  expect(text).not.toMatch(/ghp_|1B2c3D4/);
  expect(text).toMatch(/^first\n/);
  expect(text).toMatch(/and so on\nlast\n$/);
  expect(text).toMatch(/… \d+ bytes left out …/);
});

test('X4, X9: nor of a secret that is one long word', () => {
  const text = kept(`API_KEY=${'x9Y8'.repeat(4000)}`, `${'x9Y8'.repeat(4000)} end`);
  expect(text.includes('x9Y8x9Y8')).toBe(false);
  expect(text.endsWith(' end')).toBe(true);
});

test('X4: an output without white space keeps both its ends', () => {
  const text = kept(`begin${'.'.repeat(100_000)}`, `${'.'.repeat(100_000)}end`);
  expect(text.startsWith(`begin${'.'.repeat(100_000)}`)).toBe(true);
  expect(text.endsWith(`${'.'.repeat(100_000)}end`)).toBe(true);
});
