import { expect, test } from 'vitest';
import { mediaSource } from './source.ts';

const image = { msgtype: 'm.image', body: 'photo.jpg', url: 'mxc://example.org/abc_DEF-1' };

test('C16: where a file lies, and what its sender says about it', () => {
  expect(mediaSource({ ...image, info: { size: 12, mimetype: 'image/png' } })).toMatchObject({
    server: 'example.org',
    mediaId: 'abc_DEF-1',
    name: 'photo.jpg',
    claimedSize: 12,
  });
  expect(mediaSource({ ...image, filename: 'a.jpg', body: 'look at this' })?.name).toBe('a.jpg');
  expect(mediaSource({ ...image, info: { size: -1 } })?.claimedSize).toBeUndefined();
});

test.each([
  'https://example.org/x',
  'mxc://example.org/../../admin',
  'mxc://example.org/a/b',
  'mxc://example.org/a?b',
  'mxc://example.org@evil.example/a',
  'mxc:///a',
  '',
])('Z3, C16: %s is no address of a file', (url) => {
  expect(mediaSource({ ...image, url })).toBeUndefined();
});

test('C16, T13: an edit brings no file', () => {
  const relation = { rel_type: 'm.replace', event_id: '$x' };
  expect(mediaSource({ ...image, 'm.relates_to': relation })).toBeUndefined();
});

test('C16: a file of an encrypted room brings its key along; one without a key that is understood has no address', () => {
  const file = {
    url: 'mxc://example.org/abc',
    v: 'v2',
    key: { kty: 'oct', alg: 'A256CTR', ext: true, k: 'a2V5', key_ops: [] },
    iv: 'aXY',
    hashes: { sha256: 'aGFzaA' },
  };
  expect(mediaSource({ msgtype: 'm.image', body: 'photo.jpg', file })).toMatchObject({
    server: 'example.org',
    mediaId: 'abc',
    encrypted: { iv: 'aXY' },
  });
  const other = { ...file, key: { ...file.key, alg: 'A128CBC' } };
  expect(mediaSource({ msgtype: 'm.image', body: 'photo.jpg', file: other })).toBeUndefined();
});
