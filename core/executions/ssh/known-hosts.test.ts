import { createHmac } from 'node:crypto';
import { expect, test } from 'vitest';
import { entriesFor, parseKnownHosts, publicKeyOf } from './known-hosts.ts';

// Two ed25519 keys; the fingerprint of the first is what `ssh-keygen -lf` prints for it.
const KEY = 'AAAAC3NzaC1lZDI1NTE5AAAAIJ9RUhXpZJDIYyaBMbZIX6JTJ8vNnHNhW8xK1sLrV7Tg';
const OTHER = 'AAAAC3NzaC1lZDI1NTE5AAAAIAABAgMEBQYHCAkKCwwNDg8QERITFBUWFxgZGhscHR4f';

function lines(text: string, address: string, port = 22): number[] {
  return entriesFor(parseKnownHosts(text), address, port).map((entry) => entry.line);
}

function hashed(name: string): string {
  const salt = Buffer.from('12345678901234567890');
  return `|1|${salt.toString('base64')}|${createHmac('sha1', salt).update(name).digest('base64')}`;
}

test('X3: names, lists, ports, wildcards, negations and hashes name their hosts', () => {
  const text = [
    '# comment',
    `web-1.example.org,192.0.2.7 ssh-ed25519 ${KEY} a comment`,
    `[web-1.example.org]:2222\tssh-ed25519 ${OTHER}`,
    `*.lab,!bad.lab ssh-ed25519 ${KEY}`,
    `${hashed('hidden.lab')} ssh-ed25519 ${KEY}`,
    `${hashed('[hidden.lab]:2200')} ssh-ed25519 ${KEY}`,
    '',
    'broken',
    `@cert-authority * ssh-ed25519 ${KEY}`,
  ].join('\n');
  expect(lines(text, 'WEB-1.example.org')).toEqual([2]);
  expect(lines(text, '192.0.2.7')).toEqual([2]);
  expect(lines(text, 'web-1.example.org', 2222)).toEqual([3]);
  expect(lines(text, 'good.lab')).toEqual([4]);
  expect(lines(text, 'bad.lab')).toEqual([]);
  expect(lines(text, 'hidden.lab')).toEqual([4, 5]);
  expect(lines(text, 'hidden.lab', 2200)).toEqual([6]);
  expect(lines(text, 'web-1xexample.org')).toEqual([]);
});

test('Z5: a revoked key is marked as such', () => {
  const [entry] = parseKnownHosts(`@revoked * ssh-ed25519 ${KEY}`);
  expect(entry).toMatchObject({ revoked: true, key: { type: 'ssh-ed25519', publicKey: KEY } });
});

test('Z5: a fingerprint is shown as ssh-keygen shows it', () => {
  expect(publicKeyOf(Buffer.from(KEY, 'base64'))).toEqual({
    type: 'ssh-ed25519',
    publicKey: KEY,
    fingerprint: 'SHA256:AfCxVnj5FsAaQ4MTl601b4xptMw26qSFa7dCp5SrN1Y',
  });
});
