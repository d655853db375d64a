import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll, expect, test } from 'vitest';
import { readConfig } from './config.ts';

const folder = mkdtempSync(path.join(tmpdir(), 'nomos-config-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));
const key = path.join(folder, 'id_ed25519');
writeFileSync(key, '');

const base = {
  DATABASE_URL: 'postgres://127.0.0.1/nomos',
  REDIS_URL: 'redis://127.0.0.1',
  MATRIX_HOMESERVER_URL: 'https://matrix.example.org',
  MATRIX_ACCESS_TOKEN: 'token',
  NOMOS_OPERATORS: '@ann:example.org=admin',
  NOMOS_INVENTORY: key,
  NOMOS_SSH_KEY_FILE: key,
  OPENAI_API_KEY: 'the-key',
};
const local = { OPENAI_BASE_URL: 'http://127.0.0.1:11434/v1' };

test('C16: pictures go to OpenAI’s own models, and elsewhere only where it is said that the model takes them', () => {
  expect(readConfig(base).model.vision).toBe(true);
  const own = { OPENAI_BASE_URL: 'https://api.openai.com/v1' };
  expect(readConfig({ ...base, ...own }).model.vision).toBe(true);
  expect(readConfig({ ...base, ...local }).model.vision).toBe(false);
  expect(readConfig({ ...base, ...local, NOMOS_VISION: 'on' }).model.vision).toBe(true);
  expect(readConfig({ ...base, NOMOS_VISION: 'off' }).model.vision).toBe(false);
  expect(() => readConfig({ ...base, NOMOS_VISION: 'yes' })).toThrow(/NOMOS_VISION/);
});

test('C16: nobody’s voice goes anywhere unless a model for it is named', () => {
  expect(readConfig(base).transcription).toBeUndefined();
  expect(readConfig({ ...base, ...local, NOMOS_TRANSCRIBE_MODEL: 'whisper-1' })).toMatchObject({
    transcription: { model: 'whisper-1', baseUrl: local.OPENAI_BASE_URL, apiKey: 'the-key' },
  });
});

test('Z4, C16: the key of one endpoint is not sent to another', () => {
  const other = {
    ...base,
    NOMOS_TRANSCRIBE_MODEL: 'whisper',
    NOMOS_TRANSCRIBE_BASE_URL: 'http://127.0.0.1:8000/v1/',
  };
  expect(readConfig(other).transcription).toEqual({
    model: 'whisper',
    baseUrl: 'http://127.0.0.1:8000/v1',
    apiKey: 'none',
  });
  const own = readConfig({ ...other, NOMOS_TRANSCRIBE_API_KEY: 'its-key' });
  expect(own.transcription?.apiKey).toBe('its-key');
});

test('C16: an option that would do nothing is a fault that is named', () => {
  const address = { NOMOS_TRANSCRIBE_BASE_URL: 'http://127.0.0.1:8000/v1' };
  expect(() => readConfig({ ...base, ...address })).toThrow(
    /NOMOS_TRANSCRIBE_BASE_URL.*NOMOS_TRANSCRIBE_MODEL/s,
  );
  expect(() =>
    readConfig({ ...base, NOMOS_TRANSCRIBE_MODEL: 'x', NOMOS_TRANSCRIBE_API_KEY: 'k' }),
  ).toThrow(/NOMOS_TRANSCRIBE_API_KEY/);
  expect(() =>
    readConfig({ ...base, NOMOS_TRANSCRIBE_MODEL: 'x', NOMOS_TRANSCRIBE_BASE_URL: 'ftp://x' }),
  ).toThrow(/NOMOS_TRANSCRIBE_BASE_URL/);
});
