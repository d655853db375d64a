import type { Problems, Settings } from './settings.ts';
import { url } from './values.ts';

/** What turns voice messages into text (C16). */
export interface Transcription {
  baseUrl: string | undefined;
  apiKey: string;
  model: string;
}

/** The key for an endpoint that was given none. */
export function modelKey(settings: Settings, problems: Problems): string {
  // Local endpoints take any key; the client wants one to be there.
  if (settings.OPENAI_BASE_URL !== undefined) return 'none';
  problems.add('OPENAI_API_KEY', 'is not set, and neither is OPENAI_BASE_URL');
  return '';
}

/** Whether the endpoint is OpenAI's own, all of whose chat models take pictures. */
export function isOpenAi(baseUrl: string | undefined): boolean {
  if (baseUrl === undefined) return true;
  return URL.canParse(baseUrl) && new URL(baseUrl).hostname === 'api.openai.com';
}

/** Where voice messages go; undefined if nothing turns them into text. */
export function transcription(settings: Settings, problems: Problems): Transcription | undefined {
  const model = settings.NOMOS_TRANSCRIBE_MODEL;
  const other = settings.NOMOS_TRANSCRIBE_BASE_URL;
  if (model === undefined) {
    for (const name of ['NOMOS_TRANSCRIBE_BASE_URL', 'NOMOS_TRANSCRIBE_API_KEY'] as const) {
      if (settings[name] !== undefined) {
        problems.add(name, 'is set without NOMOS_TRANSCRIBE_MODEL, and does nothing by itself');
      }
    }
    return undefined;
  }
  if (other === undefined && settings.NOMOS_TRANSCRIBE_API_KEY !== undefined) {
    problems.add('NOMOS_TRANSCRIBE_API_KEY', 'is set without NOMOS_TRANSCRIBE_BASE_URL');
  }
  // A key goes to the endpoint that it was given for, and to no other.
  return other === undefined
    ? { model, baseUrl: settings.OPENAI_BASE_URL, apiKey: settings.OPENAI_API_KEY ?? 'none' }
    : {
        model,
        baseUrl: url(settings, problems, 'NOMOS_TRANSCRIBE_BASE_URL', ['http:', 'https:']),
        apiKey: settings.NOMOS_TRANSCRIBE_API_KEY ?? 'none',
      };
}
