import { existsSync } from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';

import { asId, type UserId } from '../ids.ts';
import type { Budgets } from '../agent/budget.ts';
import { DEFAULT_LIMITS, MAX_EXECUTION_MS, type Limits } from '../limits.ts';
import { Operators, ROLES, type Operator, type Role } from '../operators.ts';
import { parseDuration } from '../text/duration.ts';
import { Problems, readSettings, type Settings } from './settings.ts';

/** How the bot logs in. */
export type MatrixLogin =
  | { kind: 'token'; accessToken: string; password: string | undefined }
  | { kind: 'password'; user: string; password: string };

/** How much reasoning is asked of the model; undefined leaves it to the endpoint. */
export const REASONING_EFFORTS = ['none', 'minimal', 'low', 'medium', 'high'] as const;
/** Whether rooms are encrypted; see `NOMOS_ENCRYPTION`. */
export const ENCRYPTION_MODES = ['auto', 'always', 'never'] as const;
/** Word lists besides English that can be chosen. */
export const EXTRA_LANGUAGES = ['de', 'es', 'fr'] as const;

/** The whole configuration, checked. Made once, at start, by `readConfig`. */
export interface Config {
  databaseUrl: string;
  redisUrl: string;
  matrix: { homeserverUrl: string; login: MatrixLogin };
  operators: Operators;
  encryption: (typeof ENCRYPTION_MODES)[number];
  model: {
    baseUrl: string | undefined;
    apiKey: string;
    models: string[];
    reasoning: (typeof REASONING_EFFORTS)[number] | undefined;
    streaming: boolean;
    /** Whether it takes pictures (C16). */
    vision: boolean;
  };
  /** What turns voice messages into text; undefined if nothing does (C16). */
  transcription: { baseUrl: string | undefined; apiKey: string; model: string } | undefined;
  files: { inventory: string; ontology: string; policy: string; soul: string };
  ssh: {
    keyFile: string | undefined;
    knownHosts: string | undefined;
    agentSocket: string | undefined;
  };
  languages: Array<'en' | (typeof EXTRA_LANGUAGES)[number]>;
  /** IANA name of the zone in which times are shown. */
  timeZone: string;
  api: { host: string; port: number };
  limits: Limits;
  budgets: Budgets;
}

const ROOT = path.join(path.dirname(fileURLToPath(import.meta.url)), '..', '..');
const USER_ID = /^@[^:\s]+:[^\s]+$/;
const DEFAULT_MODEL = 'gpt-5';

/**
 * Reads and checks the configuration. Throws one `ConfigurationError` that lists everything that is wrong: the option,
 * what was given (never a secret's value) and what is allowed.
 */
export function readConfig(environment: NodeJS.ProcessEnv): Config {
  const problems = new Problems();
  const settings = readSettings(environment, problems);
  const config: Config = {
    databaseUrl: url(settings, problems, 'DATABASE_URL', ['postgres:', 'postgresql:']),
    redisUrl: url(settings, problems, 'REDIS_URL', ['redis:', 'rediss:']),
    matrix: {
      homeserverUrl: url(settings, problems, 'MATRIX_HOMESERVER_URL', ['http:', 'https:']),
      login: login(settings, problems),
    },
    operators: operators(settings, problems),
    encryption: choice(settings, problems, 'NOMOS_ENCRYPTION', ENCRYPTION_MODES) ?? 'auto',
    model: {
      baseUrl:
        settings.OPENAI_BASE_URL === undefined
          ? undefined
          : url(settings, problems, 'OPENAI_BASE_URL', ['http:', 'https:']),
      apiKey: settings.OPENAI_API_KEY ?? modelKey(settings, problems),
      models: list(settings.NOMOS_MODEL) ?? [DEFAULT_MODEL],
      reasoning: choice(settings, problems, 'NOMOS_MODEL_REASONING', REASONING_EFFORTS),
      streaming: (choice(settings, problems, 'NOMOS_STREAMING', ['on', 'off']) ?? 'on') === 'on',
      vision:
        (choice(settings, problems, 'NOMOS_VISION', ['on', 'off']) ??
          (isOpenAi(settings.OPENAI_BASE_URL) ? 'on' : 'off')) === 'on',
    },
    transcription: transcription(settings, problems),
    files: {
      inventory: file(settings, problems, 'NOMOS_INVENTORY'),
      ontology: file(settings, problems, 'NOMOS_ONTOLOGY', 'seeds/ontology.yaml'),
      policy: file(settings, problems, 'NOMOS_POLICY', 'seeds/policy.yaml'),
      soul: file(settings, problems, 'NOMOS_SOUL', 'SOUL.md'),
    },
    ssh: ssh(settings, problems, environment),
    languages: languages(settings, problems),
    timeZone: timeZone(settings, problems),
    api: listen(settings, problems),
    limits: limits(settings, problems),
    budgets: {
      taskTokens: tokens(settings, problems, 'NOMOS_TASK_TOKENS'),
      dayTokens: tokens(settings, problems, 'NOMOS_DAY_TOKENS'),
    },
  };
  problems.throwIfAny();
  return config;
}

function url(
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

function login(settings: Settings, problems: Problems): MatrixLogin {
  if (settings.MATRIX_ACCESS_TOKEN !== undefined) {
    const password = settings.MATRIX_PASSWORD;
    return { kind: 'token', accessToken: settings.MATRIX_ACCESS_TOKEN, password };
  }
  if (settings.MATRIX_USER === undefined || settings.MATRIX_PASSWORD === undefined) {
    problems.add(
      'MATRIX_ACCESS_TOKEN',
      'is not set, and neither are both MATRIX_USER and MATRIX_PASSWORD',
    );
  }
  return {
    kind: 'password',
    user: settings.MATRIX_USER ?? '',
    password: settings.MATRIX_PASSWORD ?? '',
  };
}

function operators(settings: Settings, problems: Problems): Operators {
  const entries = list(settings.NOMOS_OPERATORS) ?? [];
  if (entries.length === 0) {
    problems.add(
      'NOMOS_OPERATORS',
      'names nobody: without an operator nobody could direct or approve anything',
    );
  }
  const seen = new Map<string, Operator>();
  for (const entry of entries) {
    const at = entry.lastIndexOf('=');
    const userId = (at < 0 ? entry : entry.slice(0, at)).trim();
    const role = at < 0 ? undefined : entry.slice(at + 1).trim();
    if (!USER_ID.test(userId)) {
      problems.add('NOMOS_OPERATORS', `"${userId}" is no Matrix id (like @ann:example.org)`);
    } else if (role === undefined || !(ROLES as readonly string[]).includes(role)) {
      problems.add(
        'NOMOS_OPERATORS',
        `${userId} has ${role === undefined ? 'no role' : `the role "${role}"`}; allowed: ${ROLES.join(', ')}`,
      );
    } else if (seen.has(userId)) {
      problems.add('NOMOS_OPERATORS', `${userId} stands there twice`);
    } else {
      seen.set(userId, { userId: asId<UserId>(userId), role: role as Role });
    }
  }
  const all = [...seen.values()];
  if (all.length > 0 && !all.some((operator) => operator.role !== 'viewer')) {
    problems.add('NOMOS_OPERATORS', 'has viewers only: nobody could approve anything');
  }
  return new Operators(all);
}

function modelKey(settings: Settings, problems: Problems): string {
  // Local endpoints take any key; the client wants one to be there.
  if (settings.OPENAI_BASE_URL !== undefined) return 'none';
  problems.add('OPENAI_API_KEY', 'is not set, and neither is OPENAI_BASE_URL');
  return '';
}

/** Whether the endpoint is OpenAI's own, all of whose chat models take pictures. */
function isOpenAi(baseUrl: string | undefined): boolean {
  if (baseUrl === undefined) return true;
  return URL.canParse(baseUrl) && new URL(baseUrl).hostname === 'api.openai.com';
}

function transcription(settings: Settings, problems: Problems): Config['transcription'] {
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

function choice<const T extends string>(
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

function file(
  settings: Settings,
  problems: Problems,
  name: 'NOMOS_INVENTORY' | 'NOMOS_ONTOLOGY' | 'NOMOS_POLICY' | 'NOMOS_SOUL',
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

function ssh(
  settings: Settings,
  problems: Problems,
  environment: NodeJS.ProcessEnv,
): Config['ssh'] {
  const keyFile = settings.NOMOS_SSH_KEY_FILE;
  const knownHosts = settings.NOMOS_KNOWN_HOSTS;
  const agentSocket = environment['SSH_AUTH_SOCK'];
  if (keyFile !== undefined && !existsSync(keyFile)) {
    problems.add('NOMOS_SSH_KEY_FILE', 'names a file that is not there', keyFile);
  }
  if (knownHosts !== undefined && !existsSync(knownHosts)) {
    problems.add('NOMOS_KNOWN_HOSTS', 'names a file that is not there', knownHosts);
  }
  if (keyFile === undefined && (agentSocket === undefined || agentSocket === '')) {
    problems.add('NOMOS_SSH_KEY_FILE', 'is not set, and there is no SSH agent (SSH_AUTH_SOCK)');
  }
  return { keyFile, knownHosts, agentSocket };
}

function languages(settings: Settings, problems: Problems): Config['languages'] {
  const given = list(settings.NOMOS_LANGUAGES) ?? [];
  const known = EXTRA_LANGUAGES.filter((language) => given.includes(language));
  for (const language of given) {
    if (language !== 'en' && !(EXTRA_LANGUAGES as readonly string[]).includes(language)) {
      problems.add('NOMOS_LANGUAGES', 'has a language that there is no word list for', language);
    }
  }
  return ['en', ...known];
}

function timeZone(settings: Settings, problems: Problems): string {
  const given = settings.NOMOS_TIMEZONE;
  if (given === undefined) return new Intl.DateTimeFormat().resolvedOptions().timeZone;
  if (given !== 'UTC' && !Intl.supportedValuesOf('timeZone').includes(given)) {
    problems.add('NOMOS_TIMEZONE', 'is no time zone', given);
  }
  return given;
}

function listen(settings: Settings, problems: Problems): Config['api'] {
  const given = settings.NOMOS_API_LISTEN ?? '127.0.0.1:8090';
  const at = given.lastIndexOf(':');
  const host = given.slice(0, at).replace(/^\[(.*)\]$/, '$1');
  const port = Number(given.slice(at + 1));
  if (at < 1 || !Number.isInteger(port) || port < 0 || port > 65_535 || given.endsWith(':')) {
    problems.add('NOMOS_API_LISTEN', 'is no host:port', given);
  }
  return { host, port };
}

const DURATIONS = {
  approvalTtlMs: 'NOMOS_APPROVAL_TTL',
  grantTtlMs: 'NOMOS_GRANT_TTL',
  destructiveGrantTtlMs: 'NOMOS_DESTRUCTIVE_GRANT_TTL',
  idleAfterMs: 'NOMOS_IDLE_AFTER',
  inlineWaitMs: 'NOMOS_INLINE_WAIT',
  executionTimeoutMs: 'NOMOS_EXEC_TIMEOUT',
} as const satisfies Record<keyof Limits, string>;

function limits(settings: Settings, problems: Problems): Limits {
  const result = { ...DEFAULT_LIMITS };
  for (const [field, name] of Object.entries(DURATIONS) as Array<
    [keyof Limits, (typeof DURATIONS)[keyof Limits]]
  >) {
    const given = settings[name];
    if (given === undefined) continue;
    try {
      result[field] = parseDuration(given);
    } catch (error) {
      problems.add(name, error instanceof Error ? error.message : 'is no duration', given);
      continue;
    }
    if (result[field] <= 0) problems.add(name, 'must be longer than nothing', given);
  }
  if (result.executionTimeoutMs > MAX_EXECUTION_MS) {
    problems.add(
      'NOMOS_EXEC_TIMEOUT',
      'is longer than any command may run',
      settings.NOMOS_EXEC_TIMEOUT,
    );
  }
  return result;
}

function tokens(
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

function list(given: string | undefined): string[] | undefined {
  const parts = given
    ?.split(',')
    .map((part) => part.trim())
    .filter((part) => part !== '');
  return parts === undefined || parts.length === 0 ? undefined : parts;
}

/** The configuration of a part that needs only the database, such as `nomos migrate`. */
export function readDatabaseUrl(environment: NodeJS.ProcessEnv): string {
  const problems = new Problems();
  const settings = readSettings(environment, problems);
  const databaseUrl = url(settings, problems, 'DATABASE_URL', ['postgres:', 'postgresql:']);
  problems.throwIfAny();
  return databaseUrl;
}

/** Only the operators, for commands that need nothing else. Throws like `readConfig`. */
export function readOperators(environment: NodeJS.ProcessEnv): Operators {
  const problems = new Problems();
  const found = operators(readSettings(environment, problems), problems);
  problems.throwIfAny();
  return found;
}
