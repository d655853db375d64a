import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { ModelError } from '../../core/agent/model/errors.ts';
import type { Transcriber } from '../../core/agent/model/transcribe.ts';
import { NomosClient } from '../matrix/client.ts';
import { readMedia, type MediaOptions } from './reader.ts';

const MIB = 1024 * 1024;
const PNG = Buffer.from('\x89PNG\r\n\x1a\n and more', 'latin1');
const OGG = Buffer.from('OggS\0\x02 and more', 'latin1');
const V1 = '/_matrix/client/v1/media/download/example.org/abc';
const V3 = '/_matrix/media/v3/download/example.org/abc';

/** A homeserver of which only the files are asked for. */
let answer: (request: IncomingMessage, response: ServerResponse) => void;
let asked: string[];
const server = createServer((request, response) => {
  asked.push(request.url ?? '');
  answer(request, response);
});
const gone = new AbortController();
let options: MediaOptions;
let heard: Array<{ name: string; mimetype: string; bytes: Uint8Array }>;
let words: string | Error;

const transcriber: Transcriber = {
  async transcribe(audio) {
    heard.push(audio);
    if (words instanceof Error) throw words;
    return words;
  },
};

beforeEach(async () => {
  asked = [];
  heard = [];
  words = 'restart nginx';
  answer = (_request, response) => response.writeHead(500).end();
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  const client = new NomosClient(`http://127.0.0.1:${port}`, 'token', gone.signal);
  options = { client, transcriber, vision: true };
});
afterEach(async () => {
  server.closeAllConnections();
  await new Promise((resolve) => server.close(resolve));
});

function serves(bytes: Uint8Array): void {
  answer = (request, response) => {
    expect(request.headers.authorization).toBe('Bearer token');
    response.writeHead(200, { 'content-type': 'application/x-lies' }).end(bytes);
  };
}

const read = (msgtype: string, more: Record<string, unknown> = {}, with_ = options) =>
  readMedia({ msgtype, body: 'x', url: 'mxc://example.org/abc', ...more }, with_, gone.signal);

test('C16: a voice message becomes words; what it is, is judged by its bytes', async () => {
  serves(OGG);
  expect(await read('m.audio', { body: '../voice.exe' })).toMatchObject({
    kind: 'spoken',
    words: 'restart nginx',
    attachment: { kind: 'voice', mimetype: 'audio/ogg', sizeBytes: OGG.length },
  });
  expect(heard).toMatchObject([{ name: 'message.ogg', mimetype: 'audio/ogg' }]);
  expect(asked).toEqual([V1]);
});

test('C16: a picture is attached, whether it came as one or as a file', async () => {
  serves(PNG);
  for (const msgtype of ['m.image', 'm.file']) {
    expect(await read(msgtype)).toMatchObject({
      kind: 'attached',
      attachment: { kind: 'picture', mimetype: 'image/png', bytes: PNG },
    });
  }
});

test('C16: a text file is read; of a large one its beginning, and that is told', async () => {
  serves(Buffer.from('listen 80;\n'));
  expect(await read('m.file', { body: 'nginx.conf' })).toMatchObject({
    attachment: { kind: 'file', name: 'nginx.conf', text: 'listen 80;\n', cut: false },
  });
  serves(Buffer.alloc(12 * MIB, 'a line of a log\n'));
  expect(await read('m.file', { info: { size: 12 * MIB } })).toMatchObject({
    attachment: { kind: 'file', sizeBytes: 12 * MIB, cut: true },
  });
});

test('C16: without a model for it nothing is even fetched, and the answer says what is missing', async () => {
  const none: MediaOptions = { ...options, transcriber: undefined, vision: false };
  expect(await read('m.audio', {}, none)).toEqual({
    kind: 'refused',
    why: expect.stringContaining('NOMOS_TRANSCRIBE_MODEL') as string,
  });
  expect(await read('m.image', {}, none)).toEqual({
    kind: 'refused',
    why: expect.stringContaining('NOMOS_VISION') as string,
  });
  expect(asked).toEqual([]);
});

test('C16: what is no recording, no picture or no text is refused by its kind', async () => {
  const cases: Array<[msgtype: string, bytes: string, why: RegExp]> = [
    ['m.file', '\0\x01\x02', /binary file.*I take text and pictures/],
    ['m.file', '%PDF-1.7', /a PDF document/],
    ['m.file', 'OggS\0', /a recording/],
    ['m.image', '\0\0\0\x18ftypheic', /a HEIC picture.*PNG, JPEG/],
    ['m.image', 'not a picture', /It is text/],
    ['m.audio', '\x89PNG\r\n\x1a\n', /It is a picture.*Ogg, MP3/],
  ];
  for (const [msgtype, bytes, why] of cases) {
    serves(Buffer.from(bytes, 'latin1'));
    const media = await read(msgtype);
    expect(media).toMatchObject({ kind: 'refused' });
    expect(media?.kind === 'refused' ? media.why : '').toMatch(why);
  }
});

test('C16: what is too large by its sender’s word is not fetched; nor more than the limit, whatever was said', async () => {
  const large = /larger than 8\.0 MiB/;
  const picture = await read('m.image', { info: { size: 50 * MIB } });
  expect(picture?.kind === 'refused' ? picture.why : '').toMatch(large);
  expect(asked).toEqual([]);

  let sent = 0;
  let closed = Promise.withResolvers<void>();
  answer = (_request, response) => {
    response.writeHead(200).flushHeaders();
    const piece = Buffer.alloc(MIB, 0x89);
    const more = (): void => {
      while (!response.destroyed && sent < 200 * MIB) {
        sent += piece.length;
        if (!response.write(piece)) return void response.once('drain', more);
      }
    };
    response.once('close', () => closed.resolve());
    more();
  };
  const lying = await read('m.image', { info: { size: 10 } });
  expect(lying?.kind === 'refused' ? lying.why : '').toMatch(large);
  await closed.promise;
  expect(sent).toBeLessThan(100 * MIB);

  closed = Promise.withResolvers<void>();
  answer = (_request, response) => {
    response.writeHead(200, { 'content-length': String(9 * MIB) }).flushHeaders();
    response.once('close', () => closed.resolve());
  };
  // Not one byte of it ever comes: its length is enough.
  const told = await read('m.image');
  expect(told?.kind === 'refused' ? told.why : '').toMatch(large);
  await closed.promise;
});

test('C16: homeservers from before Matrix 1.11 are asked as they know it', async () => {
  answer = (request, response) => {
    if (request.url === V3) return void response.writeHead(200).end(PNG);
    const body = { errcode: 'M_UNRECOGNIZED', error: 'Unrecognized request' };
    response.writeHead(404, { 'content-type': 'application/json' }).end(JSON.stringify(body));
  };
  expect(await read('m.image')).toMatchObject({ kind: 'attached' });
  expect(asked).toEqual([V1, V3]);
});

test('C16, R10: a homeserver in trouble is asked again, and a file that is gone is told', async () => {
  answer = (_request, response) => {
    if (asked.length < 3) response.writeHead(502).end('<html>');
    else response.writeHead(200).end(PNG);
  };
  expect(await read('m.image')).toMatchObject({ kind: 'attached' });
  answer = (_request, response) => {
    response.writeHead(404).end(JSON.stringify({ errcode: 'M_NOT_FOUND', error: 'Not found' }));
  };
  expect(await read('m.image')).toMatchObject({
    kind: 'refused',
    why: 'The homeserver has it no longer.',
  });
});

test('Z6, C16: a redirect to another place is not followed', async () => {
  answer = (_request, response) => {
    response.writeHead(302, { location: 'http://169.254.169.254/' }).end();
  };
  expect(await read('m.image')).toMatchObject({ kind: 'refused' });
  expect(asked.every((url) => url === V1)).toBe(true);
});

test('C16, R11: an endpoint that cannot hear is told, and so is silence', async () => {
  serves(OGG);
  words = new ModelError('model_hung', 'whisper at 127.0.0.1 did not answer in time.', {
    model: 'whisper',
  });
  expect(await read('m.audio')).toEqual({
    kind: 'refused',
    why: 'It could not be turned into text: whisper at 127.0.0.1 did not answer in time.',
  });
  words = '  ';
  expect(await read('m.audio')).toEqual({ kind: 'refused', why: 'I heard no words in it.' });
  words = 'a '.repeat(5_000);
  expect(await read('m.audio')).toMatchObject({ kind: 'refused' });
});

test('C16: what brings no file is left alone', async () => {
  expect(await read('m.text')).toBeUndefined();
  expect(await read('m.video')).toBeUndefined();
  expect(await read('m.image', { url: 'https://example.org/x.png' })).toBeUndefined();
});
