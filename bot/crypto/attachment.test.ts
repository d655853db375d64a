import { expect, test } from 'vitest';
import { AttachmentError, decryptFile, encryptFile } from './attachment.ts';

// From the Matrix specification's "extensions to m.room.message msgtypes": an empty counter in the lower half of the vector.
test('C11: an encrypted file comes back as it was, and each one has a key of its own', async () => {
  const bytes = Buffer.from('line 1\nline 2\n'.repeat(1_000));
  const [one, two] = await Promise.all([encryptFile(bytes), encryptFile(bytes)]);
  expect(Buffer.from(await decryptFile(one.encrypted, one.key))).toEqual(bytes);
  expect(Buffer.from(one.encrypted)).not.toEqual(Buffer.from(two.encrypted));
  expect(one.key.key.k).not.toBe(two.key.key.k);
  expect(Buffer.from(one.key.iv, 'base64').subarray(8)).toEqual(Buffer.alloc(8));
});

test('Z2: a file that is not the one of the message is refused', async () => {
  const { encrypted, key } = await encryptFile(Buffer.from('as it was'));
  encrypted[0] = (encrypted[0] ?? 0) ^ 1;
  await expect(decryptFile(encrypted, key)).rejects.toThrow(AttachmentError);
});

test('a key of another form is refused', async () => {
  const { encrypted, key } = await encryptFile(Buffer.from('text'));
  const short = { ...key, key: { ...key.key, k: 'c2hvcnQ' } };
  await expect(decryptFile(encrypted, short)).rejects.toThrow(/another form/);
});
