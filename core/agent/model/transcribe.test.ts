import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { startScriptedModel, type ScriptedModel } from '../../../test/support/scripted-model.ts';
import { OpenAiTranscriber } from './transcribe.ts';

let endpoint: ScriptedModel;
beforeEach(async () => {
  endpoint = await startScriptedModel();
});
afterEach(() => endpoint.stop());

const audio = {
  bytes: Buffer.from('OggS and more'),
  name: 'message.ogg',
  mimetype: 'audio/ogg',
};
const never = new AbortController().signal;
const transcriber = () =>
  new OpenAiTranscriber({ baseUrl: endpoint.baseUrl, apiKey: 'its-own-key', model: 'whisper' });

test('C16: a recording goes to the endpoint as a file, with its own key and model, and comes back as words', async () => {
  endpoint.hear(' Restart nginx. \n');
  expect(await transcriber().transcribe(audio, never)).toBe('Restart nginx.');
  expect(endpoint.recordings).toEqual([
    {
      model: 'whisper',
      name: 'message.ogg',
      mimetype: 'audio/ogg',
      bytes: audio.bytes,
      authorization: 'Bearer its-own-key',
    },
  ]);
  endpoint.verify();
});

test('C16, R11: what the endpoint refuses is an error that says so, without the key', async () => {
  endpoint.hear({ status: 401 });
  const failed = transcriber().transcribe(audio, never);
  await expect(failed).rejects.toMatchObject({ code: 'model_unauthorized' });
  await expect(failed).rejects.not.toThrow(/its-own-key/);
});

test('C16, R11: an endpoint that answers something else, or nothing in time, is told apart', async () => {
  const replies = ['{"words":"?"}', undefined, undefined];
  const server = createServer((_request, response) => {
    const reply = replies.shift();
    if (reply !== undefined) response.setHeader('content-type', 'application/json').end(reply);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  const impatient = new OpenAiTranscriber({
    baseUrl: `http://127.0.0.1:${port}/v1`,
    model: 'whisper',
    timeoutMs: 300,
  });
  await expect(impatient.transcribe(audio, never)).rejects.toMatchObject({
    code: 'model_bad_answer',
  });
  await expect(impatient.transcribe(audio, never)).rejects.toMatchObject({ code: 'model_hung' });
  server.closeAllConnections();
  await new Promise((resolve) => server.close(resolve));
});
