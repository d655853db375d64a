import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { systemPrompt } from './prompt.ts';
import { SoulFile } from './soul.ts';

let folder: string;
let path: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'nomos-soul-'));
  path = join(folder, 'SOUL.md');
});
afterEach(() => rm(folder, { recursive: true }));

test('L8: the persona is read again when its file has changed', async () => {
  await writeFile(path, 'one\n');
  const soul = await SoulFile.open(path);
  expect(await soul.text()).toBe('one');
  await writeFile(path, 'another\n');
  expect(await soul.text()).toBe('another');
});

test('L8: after a bad edit or a lost file the last good persona stays', async () => {
  await writeFile(path, 'good');
  const soul = await SoulFile.open(path);
  await writeFile(path, '  \n');
  expect(await soul.text()).toBe('good');
  await rm(path);
  expect(await soul.text()).toBe('good');
  await writeFile(path, 'better now');
  expect(await soul.text()).toBe('better now');
});

test.each([
  ['missing', undefined, 'no such file'],
  ['empty', ' \n', 'it is empty'],
  ['far too long', 'x'.repeat(40_001), 'more than 40000 characters'],
])('L8: a persona that is %s is told by its path at start', async (_what, text, reason) => {
  if (text !== undefined) await writeFile(path, text);
  await expect(SoulFile.open(path)).rejects.toMatchObject({
    code: 'configuration_invalid',
    message: expect.stringMatching(new RegExp(`SOUL\\.md.*${reason}`)),
    hint: expect.stringContaining('NOMOS_SOUL'),
  });
});

test('L5, L8: the persona that comes with Nomos is good, and the prompt around it is the same bytes every time', async () => {
  const soul = await SoulFile.open('SOUL.md');
  const text = await soul.text();
  expect(systemPrompt(text)).toBe(systemPrompt((await readFile('SOUL.md', 'utf8')).trim()));
  expect(text).toMatch(/I confirm/);
});
