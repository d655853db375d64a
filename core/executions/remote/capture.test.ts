import { Buffer } from 'node:buffer';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { CAPTURE_BYTES, OutputCapture } from './capture.ts';

test('X4: whatever the pieces, the first and last half are kept and the rest is counted', () => {
  fc.assert(
    fc.property(fc.array(fc.uint8Array({ maxLength: 40 }), { maxLength: 40 }), (chunks) => {
      const capture = new OutputCapture(64);
      for (const chunk of chunks) capture.push(chunk);
      const all = Buffer.concat(chunks);
      const end = capture.end();
      expect(end.totalBytes).toBe(all.length);
      expect(end.droppedBytes).toBe(Math.max(0, all.length - 64));
      if (all.length <= 64) {
        expect(Buffer.from(end.bytes).equals(all)).toBe(true);
        expect(end.gapAt).toBeUndefined();
      } else {
        expect(
          Buffer.from(end.bytes).equals(Buffer.concat([all.subarray(0, 32), all.subarray(-32)])),
        ).toBe(true);
        expect(end.gapAt).toBe(32);
      }
    }),
  );
});

test('X4: bytes that the target dropped are counted, and only what came after them is the end', () => {
  const capture = new OutputCapture(8);
  capture.push(Buffer.from('abcdef'));
  capture.gapOnce();
  capture.push(Buffer.from('yz'));
  expect(capture.end(108)).toEqual({
    bytes: Buffer.from('abcdyz'),
    totalBytes: 108,
    droppedBytes: 102,
    gapAt: 4,
  });
});

test('R13: what is kept does not grow with what comes', () => {
  const capture = new OutputCapture();
  const chunk = Buffer.alloc(64 * 1024, 'x');
  for (let i = 0; i < 1600; i += 1) capture.push(chunk);
  expect(capture.end().bytes.length).toBe(CAPTURE_BYTES);
  expect(capture.totalBytes).toBe(1600 * 64 * 1024);
});
