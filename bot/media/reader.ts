import { MatrixError } from 'matrix-bot-sdk';
import { ModelError } from '../../core/agent/model/errors.ts';
import type { Transcriber } from '../../core/agent/model/transcribe.ts';
import { errorText } from '../../core/errors.ts';
import { log } from '../../core/log.ts';
import { MAX_PICTURE_BYTES, MAX_TEXT_BYTES } from '../../core/tasks/attachments.ts';
import { safeText } from '../../core/text/safe.ts';
import { bytes as bytesWords } from '../cards/words.ts';
import { AttachmentError, decryptFile } from '../crypto/attachment.ts';
import type { NomosClient } from '../matrix/client.ts';
import { sortFailure } from '../matrix/errors.ts';
import { backoffMs, pause } from '../matrix/retry.ts';
import { decodeText, sniff, type Sniffed } from './sniff.ts';
import { mediaSource, type MediaSource } from './source.ts';
import type { ReadMedia } from './types.ts';

/** The largest recording: what OpenAI's endpoint takes is 25 MB. */
const MAX_AUDIO_BYTES = 20 * 1024 * 1024;
/** More words than anybody says in one message; what is longer was not speech. */
const MAX_WORDS = 8_000;
const TRIES = 3;

const LIMITS: Readonly<Record<string, number>> = {
  'm.audio': MAX_AUDIO_BYTES,
  'm.image': MAX_PICTURE_BYTES,
  'm.file': MAX_PICTURE_BYTES,
};

/** What the reader works with. */
export interface MediaOptions {
  readonly client: NomosClient;
  /** Undefined where no model for it is set up. */
  readonly transcriber: Transcriber | undefined;
  /** Whether the model takes pictures. */
  readonly vision: boolean;
}

/** Something about a recording or file that the operator is told. */
class Refusal extends Error {}

/**
 * Fetches what came with an operator's message and reads it, before the message is worked on: a recording becomes words, a
 * picture or text file an attachment (C16). What it is, is judged by its bytes; how large it may be, before and while it is
 * fetched. It never fails: what cannot be read becomes a refusal that says why. Resolves to undefined for a message without
 * media that it knows.
 */
export async function readMedia(
  content: Record<string, unknown>,
  options: MediaOptions,
  signal: AbortSignal,
): Promise<ReadMedia | undefined> {
  const source = mediaSource(content);
  const limit = source === undefined ? undefined : LIMITS[source.msgtype];
  if (source === undefined || limit === undefined) return undefined;
  try {
    refuseWithoutModel(source, options);
    return await read(source, limit, options, signal);
  } catch (error) {
    signal.throwIfAborted();
    if (error instanceof Refusal) return { kind: 'refused', why: error.message };
    log.warn({ error: errorText(error) }, 'what came with a message could not be read');
    return { kind: 'refused', why: whyNot(error) };
  }
}

// Said before anything is fetched.
function refuseWithoutModel({ msgtype }: MediaSource, { transcriber, vision }: MediaOptions): void {
  if (msgtype === 'm.audio' && transcriber === undefined) {
    throw new Refusal(
      'I cannot hear here: no model for voice messages is set up (NOMOS_TRANSCRIBE_MODEL).',
    );
  }
  if (msgtype === 'm.image' && !vision) throw new Refusal(NO_VISION);
}

const NO_VISION = 'I cannot see here: no model that takes pictures is set up (NOMOS_VISION).';

async function read(
  source: MediaSource,
  limit: number,
  options: MediaOptions,
  signal: AbortSignal,
): Promise<ReadMedia> {
  const isFile = source.msgtype === 'm.file';
  if (source.claimedSize !== undefined && source.claimedSize > limit && !isFile)
    throw tooLarge(limit);
  const fetched = await fetchBytes(source, limit, options.client, signal);
  // Only of clear text the beginning is worth something.
  if (!fetched.whole && (!isFile || source.encrypted !== undefined)) throw tooLarge(limit);
  const plain =
    source.encrypted === undefined
      ? fetched.bytes
      : await decryptFile(fetched.bytes, source.encrypted);
  const is = sniff(plain);
  if (source.msgtype === 'm.audio') return hear(source, plain, is, options, signal);
  if (is.kind === 'picture') {
    if (!fetched.whole) throw tooLarge(limit);
    if (!options.vision) throw new Refusal(NO_VISION);
    const { mimetype } = is;
    const about = { name: source.name, mimetype, sizeBytes: plain.length };
    return { kind: 'attached', attachment: { kind: 'picture', ...about, bytes: plain } };
  }
  if (is.kind !== 'text' || !isFile) throw notTakenIn(source, is);
  const kept = plain.subarray(0, MAX_TEXT_BYTES);
  return {
    kind: 'attached',
    attachment: {
      kind: 'file',
      name: source.name,
      mimetype: 'text/plain',
      sizeBytes: fetched.whole ? plain.length : (source.claimedSize ?? plain.length),
      text: safeText(decodeText(kept)),
      cut: !fetched.whole || kept.length < plain.length,
    },
  };
}

async function hear(
  source: MediaSource,
  recording: Uint8Array,
  is: Sniffed,
  { transcriber }: MediaOptions,
  signal: AbortSignal,
): Promise<ReadMedia> {
  if (is.kind !== 'audio' || transcriber === undefined) throw notTakenIn(source, is);
  const { mimetype, extension } = is;
  const heard = await transcriber.transcribe(
    // A name of our own: endpoints go by the extension, and the sender's may be anything.
    { bytes: recording, name: `message.${extension}`, mimetype },
    signal,
  );
  const words = safeText(heard).trim();
  if (words === '') throw new Refusal('I heard no words in it.');
  if (words.length > MAX_WORDS) {
    throw new Refusal(`It became ${words.length} characters of text; ${MAX_WORDS} are allowed.`);
  }
  const about = { name: source.name, mimetype, sizeBytes: recording.length };
  return { kind: 'spoken', words, attachment: { kind: 'voice', ...about } };
}

async function fetchBytes(
  source: MediaSource,
  limit: number,
  client: NomosClient,
  signal: AbortSignal,
): Promise<{ bytes: Uint8Array; whole: boolean }> {
  const at = `${encodeURIComponent(source.server)}/${encodeURIComponent(source.mediaId)}`;
  for (let attempt = 1; ; attempt++) {
    try {
      return await client.readMedia(at, limit, source.msgtype === 'm.file');
    } catch (error) {
      if (attempt === TRIES || !mayPass(error)) throw error;
      await pause(backoffMs(attempt), signal);
      signal.throwIfAborted();
    }
  }
}

function mayPass(error: unknown): boolean {
  const { kind } = sortFailure(error);
  return kind === 'transient' || kind === 'limited';
}

function tooLarge(limit: number): Refusal {
  return new Refusal(`It is larger than ${bytesWords(limit)}, which is the most that I take in.`);
}

function notTakenIn({ msgtype }: MediaSource, is: Sniffed): Refusal {
  const what =
    is.kind === 'other'
      ? `It is ${is.what}`
      : is.kind === 'audio'
        ? 'It is a recording'
        : is.kind === 'picture'
          ? 'It is a picture'
          : is.kind === 'text'
            ? 'It is text'
            : 'It is a binary file';
  const takes =
    msgtype === 'm.audio'
      ? 'As a voice message I take Ogg, MP3, M4A, WAV, FLAC and WebM.'
      : msgtype === 'm.image'
        ? 'As a picture I take PNG, JPEG, GIF and WebP.'
        : 'As a file I take text and pictures (PNG, JPEG, GIF, WebP).';
  return new Refusal(`${what}, which I cannot read. ${takes}`);
}

function whyNot(error: unknown): string {
  if (error instanceof AttachmentError) return error.message;
  if (error instanceof ModelError) return `It could not be turned into text: ${error.message}`;
  if (error instanceof MatrixError && error.statusCode === 404)
    return 'The homeserver has it no longer.';
  return 'It could not be fetched from the homeserver; send it again.';
}
