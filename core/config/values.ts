import { existsSync } from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import type { Problems, Settings } from './settings.ts';

// Each takes one option as it was given, and adds to the problems what is wrong with it; what it then returns is never used.

const ROOT = path.join(path.dirname(fileURLToPath(import.meta.url)), '..', '..');

/** Word lists besides English that can be chosen. */
export const EXTRA_LANGUAGES = ['de', 'es', 'fr'] as const;
/** A language whose words for yes, no and confirm are read. */
export type Language = 'en' | (typeof EXTRA_LANGUAGES)[number];

/** An address with one of the protocols, without slashes at its end. */
export function url(
  settings: Settings,
  problems: Problems,
  name:
    | 'DATABASE_URL'
    | 'REDIS_URL'
    | 'MATRIX_HOMESERVER_URL'
    | 'OPENAI_BASE_URL'
    | 'NOMOS_TRANSCRIBE_BASE_URL',
  protocols: readonly string[],
): string {
  const given = settings[name];
  if (given === undefined) {
    problems.add(name, 'is not set');
    return '';
  }
  const protocol = URL.canParse(given) ? new URL(given).protocol : undefined;
  if (protocol === undefined || !protocols.includes(protocol))
    problems.add(name, 'is no such address', given);
  return given.replace(/\/+$/, '');
}

/** One of the words that are allowed; undefined if nothing was given. */
export function choice<const T extends string>(
  settings: Settings,
  problems: Problems,
  name: 'NOMOS_MODEL_REASONING' | 'NOMOS_STREAMING' | 'NOMOS_ENCRYPTION' | 'NOMOS_VISION',
  allowed: readonly T[],
): T | undefined {
  const given = settings[name];
  if (given === undefined) return undefined;
  const found = allowed.find((candidate) => candidate === given);
  if (found === undefined) problems.add(name, 'is not one of these', given);
  return found;
}

/** The path of a file that is there; `otherwise` is one of this folder's own. */
export function file(
  settings: Settings,
  problems: Problems,
  name:
    | 'NOMOS_INVENTORY'
    | 'NOMOS_ONTOLOGY'
    | 'NOMOS_POLICY'
    | 'NOMOS_RUNBOOKS'
    | 'NOMOS_CHECKS'
    | 'NOMOS_SOUL',
  otherwise?: string,
): string {
  const given = settings[name];
  if (given === undefined && otherwise === undefined) {
    problems.add(name, 'is not set');
    return '';
  }
  const found = given ?? path.join(ROOT, otherwise ?? '');
  if (!existsSync(found)) problems.add(name, 'names a file that is not there', found);
  return found;
}

/** The languages of `NOMOS_LANGUAGES`, English first. */
export function languages(settings: Settings, problems: Problems): Language[] {
  const given = list(settings.NOMOS_LANGUAGES) ?? [];
  const known = EXTRA_LANGUAGES.filter((language) => given.includes(language));
  for (const language of given) {
    if (language !== 'en' && !(EXTRA_LANGUAGES as readonly string[]).includes(language)) {
      problems.add('NOMOS_LANGUAGES', 'has a language that there is no word list for', language);
    }
  }
  return ['en', ...known];
}

/** An IANA time zone; the machine's own if nothing was given. */
export function timeZone(settings: Settings, problems: Problems): string {
  const given = settings.NOMOS_TIMEZONE;
  if (given === undefined) return new Intl.DateTimeFormat().resolvedOptions().timeZone;
  if (given !== 'UTC' && !Intl.supportedValuesOf('timeZone').includes(given)) {
    problems.add('NOMOS_TIMEZONE', 'is no time zone', given);
  }
  return given;
}

/** Where the API listens. */
export function listen(settings: Settings, problems: Problems): { host: string; port: number } {
  const given = settings.NOMOS_API_LISTEN ?? '127.0.0.1:8090';
  const at = given.lastIndexOf(':');
  const host = given.slice(0, at).replace(/^\[(.*)\]$/, '$1');
  const port = Number(given.slice(at + 1));
  if (at < 1 || !Number.isInteger(port) || port < 0 || port > 65_535 || given.endsWith(':')) {
    problems.add('NOMOS_API_LISTEN', 'is no host:port', given);
  }
  return { host, port };
}

/** A number of tokens above 0; undefined if nothing was given. */
export function tokens(
  settings: Settings,
  problems: Problems,
  name: 'NOMOS_TASK_TOKENS' | 'NOMOS_DAY_TOKENS',
): number | undefined {
  const given = settings[name];
  if (given === undefined) return undefined;
  const count = Number(given.replaceAll('_', ''));
  if (!Number.isSafeInteger(count) || count < 1)
    problems.add(name, 'is no whole number above 0', given);
  return count;
}

/** What stands between commas, without empty parts; undefined if there is nothing. */
export function list(given: string | undefined): string[] | undefined {
  const parts = given
    ?.split(',')
    .map((part) => part.trim())
    .filter((part) => part !== '');
  return parts === undefined || parts.length === 0 ? undefined : parts;
}
