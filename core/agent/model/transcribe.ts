import OpenAI, { toFile } from 'openai';
import { z } from 'zod';
import { toModelError } from './classify-error.ts';
import { ModelError } from './errors.ts';

/** How speech becomes text. */
export interface TranscribeSettings {
  /** Base URL of an OpenAI-compatible API with `/audio/transcriptions`. */
  readonly baseUrl: string;
  readonly apiKey?: string;
  readonly model: string;
  /** Default 30 000. */
  readonly timeoutMs?: number;
}

/** Something that turns speech into text. */
export interface Transcriber {
  /** The words of a recording, '' if none were heard. Rejects with a `ModelError`. */
  transcribe(
    audio: { bytes: Uint8Array; name: string; mimetype: string },
    signal: AbortSignal,
  ): Promise<string>;
}

const TIMEOUT_MS = 30_000;
// Of the answer only what is read here; some endpoints send the bare text.
const answerShape = z.union([z.object({ text: z.string() }), z.string()]);

/** Transcription by an OpenAI-compatible endpoint (C16). */
export class OpenAiTranscriber implements Transcriber {
  readonly #client: OpenAI;
  readonly #settings: TranscribeSettings;

  constructor(settings: TranscribeSettings) {
    this.#settings = settings;
    this.#client = new OpenAI({
      baseURL: settings.baseUrl,
      apiKey: settings.apiKey ?? 'none',
      organization: null,
      project: null,
      maxRetries: 1,
      timeout: settings.timeoutMs ?? TIMEOUT_MS,
      logLevel: 'off',
    });
  }

  async transcribe(
    audio: { bytes: Uint8Array; name: string; mimetype: string },
    signal: AbortSignal,
  ): Promise<string> {
    const { model, baseUrl } = this.#settings;
    const asked = { model, endpoint: new URL(baseUrl).host };
    try {
      const file = await toFile(audio.bytes, audio.name, { type: audio.mimetype });
      const answer = answerShape.safeParse(
        await this.#client.audio.transcriptions.create({ model, file }, { signal }),
      );
      if (!answer.success) throw new SyntaxError('the answer has no text');
      return (typeof answer.data === 'string' ? answer.data : answer.data.text).trim();
    } catch (error) {
      if (error instanceof OpenAI.APIConnectionTimeoutError) {
        throw new ModelError(
          'model_hung',
          `${model} at ${asked.endpoint} did not answer in time.`,
          {
            model,
            cause: error,
          },
        );
      }
      throw toModelError(error, asked, false);
    }
  }
}
