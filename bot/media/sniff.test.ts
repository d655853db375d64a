import { expect, test } from 'vitest';
import { decodeText, sniff } from './sniff.ts';

const latin1 = (text: string): Uint8Array => Buffer.from(text, 'latin1');

test.each([
  ['PNG', '\x89PNG\r\n\x1a\n\0\0\0\rIHDR', { kind: 'picture', mimetype: 'image/png' }],
  ['JPEG', '\xff\xd8\xff\xe0\0\x10JFIF', { kind: 'picture', mimetype: 'image/jpeg' }],
  ['GIF', 'GIF89a\x01\0', { kind: 'picture', mimetype: 'image/gif' }],
  ['WebP', 'RIFF\x10\0\0\0WEBPVP8 ', { kind: 'picture', mimetype: 'image/webp' }],
  ['WAV', 'RIFF\x10\0\0\0WAVEfmt ', { kind: 'audio', mimetype: 'audio/wav', extension: 'wav' }],
  ['Ogg', 'OggS\0\x02\0\0', { kind: 'audio', mimetype: 'audio/ogg', extension: 'ogg' }],
  ['M4A', '\0\0\0\x20ftypM4A \0', { kind: 'audio', mimetype: 'audio/mp4', extension: 'm4a' }],
  ['HEIC', '\0\0\0\x18ftypheic\0', { kind: 'other', what: 'a HEIC picture' }],
  ['PDF', '%PDF-1.7\n', { kind: 'other', what: 'a PDF document' }],
  ['ZIP', 'PK\x03\x04\x14\0', { kind: 'other' }],
  ['a program', '\x7fELF\x02\x01\x01', { kind: 'other', what: 'a program' }],
  ['bytes', '\x00\x01\x02\x03', { kind: 'binary' }],
  ['text', 'server {\n\tlisten 80;\r\n}\n', { kind: 'text' }],
  ['coloured text', '\x1b[31mred\x1b[0m', { kind: 'text' }],
  ['Latin-1 text', 'Gr\xfc\xdfe', { kind: 'text' }],
  ['UTF-16 text', '\xff\xfea\0b\0', { kind: 'text' }],
  ['nothing', '', { kind: 'text' }],
])('C16: %s is told by its bytes', (_name, bytes, expected) => {
  expect(sniff(latin1(bytes))).toMatchObject(expected);
});

test('C16: text is read in the encoding that it has', () => {
  expect(decodeText(Buffer.from('Grüße ✓'))).toBe('Grüße ✓');
  expect(decodeText(latin1('Gr\xfc\xdfe'))).toBe('Grüße');
  expect(decodeText(latin1('\xff\xfeG\0r\0\xfc\0'))).toBe('Grü');
  expect(decodeText(latin1('\xfe\xff\0G\0r'))).toBe('Gr');
  // Cut in the middle of a character.
  expect(decodeText(Buffer.from('Grü').subarray(0, 3))).toBe('Gr');
});
