import { existsSync } from 'node:fs';

import type { Budgets } from '../agent/budget.ts';
import type { Limits } from '../limits.ts';
import type { Operators } from '../operators.ts';
import { limits } from './durations.ts';
import { isOpenAi, modelKey, transcription, type Transcription } from './model.ts';
import { operators } from './operators.ts';
import { Problems, readSettings, type Settings } from './settings.ts';
import {
  choice,
  file,
  languages,
  list,
  listen,
  timeZone,
  tokens,
  url,
  type Language,
} from './values.ts';

/** How the bot logs in. */
export type MatrixLogin =
  | { kind: 'token'; accessToken: string; password: string | undefined }
  | { kind: 'password'; user: string; password: string };

/** How much reasoning is asked of the model; undefined leaves it to the endpoint. */
export const REASONING_EFFORTS = ['none', 'minimal', 'low', 'medium', 'high'] as const;
/** Whether rooms are encrypted; see `NOMOS_ENCRYPTION`. */
export const ENCRYPTION_MODES = ['auto', 'always', 'never'] as const;

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
  transcription: Transcription | undefined;
  files: {
    inventory: string;
    ontology: string;
    policy: string;
    runbooks: string;
    soul: string;
    /** Undefined when no checks are made (S1). */
    checks?: string | undefined;
  };
  ssh: {
    keyFile: string | undefined;
    knownHosts: string | undefined;
    agentSocket: string | undefined;
  };
  languages: Language[];
  /** IANA name of the zone in which times are shown. */
  timeZone: string;
  api: { host: string; port: number };
  limits: Limits;
  budgets: Budgets;
}

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
      runbooks: file(settings, problems, 'NOMOS_RUNBOOKS', 'seeds/runbooks'),
      soul: file(settings, problems, 'NOMOS_SOUL', 'SOUL.md'),
      checks:
        settings.NOMOS_CHECKS === 'off'
          ? undefined
          : file(settings, problems, 'NOMOS_CHECKS', 'seeds/checks.yaml'),
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
