import { startJobs } from '../jobs/start.ts';
import { migrate } from '../prisma/migrate.ts';
import { describeLoad, seed } from '../seeds/seed.ts';
import { OpenAiChatModel } from './agent/model/client.ts';
import { OpenAiTranscriber, type Transcriber } from './agent/model/transcribe.ts';
import { runPass } from './agent/pass.ts';
import { SoulFile } from './agent/soul.ts';
import { startApi } from './api/server.ts';
import { checkFiles } from './config/check-files.ts';
import type { Config } from './config/config.ts';
import { Database, type Unit } from './db/database.ts';
import { errorText, type NomosError } from './errors.ts';
import { settleTrouble } from './events/settle.ts';
import { EventFeed } from './events/subscribe.ts';
import { databaseHostKeys } from './executions/host-keys.ts';
import { createMasker } from './executions/masking/masker.ts';
import { createRemoteRunner } from './executions/remote/runner.ts';
import { installationId } from './installation.ts';
import { setLimits } from './limits.ts';
import { loadOntology } from './graph/ontology-file.ts';
import { log } from './log.ts';
import { tellIdleRules } from './policy/idle-rules.ts';
import { currentRules, watchRules } from './policy/rule-store.ts';
import { loadChecks, type CheckDefinition } from './signals/check-file.ts';
import { VERSION } from './version.ts';

/** The parts of the program that can be spread over machines (design 2). */
export const PROGRAM_ROLES = ['bot', 'jobs', 'api'] as const;
/** One of the roles. */
export type ProgramRole = (typeof PROGRAM_ROLES)[number];

/** The program, running. */
export interface Program {
  /** Where the API listens, when it does. */
  apiUrl: string | undefined;
  /** What runs and where, for a person. */
  describe(): string;
  /** Why the bot has to wait before it can work, in a sentence; undefined while it has not. */
  trouble(): string | undefined;
  /** Resolves with the reason when a part cannot go on; never otherwise. */
  failed: Promise<Error>;
  /** Ends all parts, within 20 s (J7). */
  stop(): Promise<void>;
}

/** What clients put before a message that mentions the bot. */
const BOT_NAME = 'Nomos';
const OPENAI = 'https://api.openai.com/v1';

/**
 * Starts the roles that are asked for: migrates, loads the graph, and brings up each part in turn. Throws the clear error
 * of whatever is in the way, after ending what had been started.
 */
export async function startProgram(
  config: Config,
  roles: ReadonlySet<ProgramRole>,
): Promise<Program> {
  checkFiles(config.files);
  setLimits(config.limits);
  const stack = new AsyncDisposableStack();
  try {
    await migrate(config.databaseUrl);
    const database = await Database.connect(config.databaseUrl);
    stack.defer(() => database.close());
    log.info(describeLoad(await seed(database, config.files)));
    const feed = await EventFeed.open(database);
    stack.defer(() => feed.close());
    // Every process watches the file; the one with the bot tells the lobby.
    const toLobby = roles.has('bot');
    const rules = watchRules({
      policy: config.files.policy,
      ontology: config.files.ontology,
      onFault: (error) => (toLobby ? raiseError(database, error) : undefined),
      onRight: () =>
        toLobby
          ? tellLobby(database, async (unit) => {
              await settleTrouble(unit, POLICY);
              await tellIdleRules(unit, currentRules());
            })
          : undefined,
    });
    stack.defer(() => rules.stop());
    const mask = createMasker(secretsOf(config)).mask;

    const jobs = roles.has('jobs')
      ? await bringUpJobs(config, { database, feed, mask }, stack)
      : undefined;
    // The other roles do without the bot's libraries, which are a third of the program's memory.
    const bots = roles.has('bot') ? await loadBot() : undefined;
    const bot = bots
      ? bots.startBot({
          database,
          feed,
          homeserverUrl: config.matrix.homeserverUrl,
          credentials:
            config.matrix.login.kind === 'token'
              ? {
                  accessToken: config.matrix.login.accessToken,
                  password: config.matrix.login.password,
                }
              : config.matrix.login,
          encryption: config.encryption,
          operators: config.operators,
          media: { vision: config.model.vision, transcriber: transcriberOf(config) },
          handler: (parts) =>
            bots.createHandler({
              ...parts,
              languages: config.languages,
              botName: BOT_NAME,
              timeZone: config.timeZone,
            }),
          projector: (parts) =>
            new bots.Projector({
              ...parts,
              timeZone: config.timeZone,
              streaming: config.model.streaming,
              mask,
            }).run(parts.signal),
        })
      : undefined;
    if (bot !== undefined) stack.defer(() => bot.stop());
    const api = roles.has('api')
      ? await startApi(
          {
            database,
            feed,
            operators: config.operators,
            languages: config.languages,
            mask,
            version: VERSION,
            timeZone: config.timeZone,
            redisReady: () => jobs?.redisReady(),
          },
          config.api,
        )
      : undefined;
    if (api !== undefined) stack.defer(() => api.stop());
    const parts = stack.move();
    return {
      apiUrl: api?.url,
      describe: () => describe(roles, api?.url),
      trouble: () => bot?.trouble(),
      failed: new Promise((resolve) => {
        bot?.ended.catch((error: unknown) =>
          resolve(error instanceof Error ? error : new Error(String(error))),
        );
      }),
      stop: () => parts.disposeAsync(),
    };
  } catch (error) {
    await stack.disposeAsync();
    throw error;
  }
}

async function loadBot() {
  const [{ startBot }, { createHandler }, { Projector }] = await Promise.all([
    import('../bot/bot.ts'),
    import('../bot/handlers/index.ts'),
    import('../bot/projector/projector.ts'),
  ]);
  return { startBot, createHandler, Projector };
}

async function bringUpJobs(
  config: Config,
  shared: { database: Database; feed: EventFeed; mask: (text: string) => string },
  stack: AsyncDisposableStack,
) {
  const runner = createRemoteRunner({
    credentials: { keyFile: config.ssh.keyFile, agentSocket: config.ssh.agentSocket },
    knownHostsFile: config.ssh.knownHosts,
    hostKeys: databaseHostKeys(shared.database),
  });
  stack.defer(() => runner.close());
  const agent = {
    database: shared.database,
    feed: shared.feed,
    model: new OpenAiChatModel({
      baseUrl: config.model.baseUrl ?? OPENAI,
      apiKey: config.model.apiKey,
      models: config.model.models,
      ...(config.model.reasoning === undefined ? {} : { reasoningEffort: config.model.reasoning }),
    }),
    soul: await SoulFile.open(config.files.soul),
    budgets: config.budgets,
    streaming: config.model.streaming,
  };
  const jobs = await startJobs({
    ...shared,
    redisUrl: config.redisUrl,
    checks: checksOf(config),
    // Who may set a schedule (A15): one whose role was taken away sets none going either.
    isOperator: (userId) => config.operators.covers(userId, 'approver'),
    prefix: `nomos-${await installationId(shared.database)}`,
    runner,
    runPass: (passId, signal) => runPass(agent, passId, { signal }),
  });
  stack.defer(() => jobs.stop());
  return jobs;
}

/** What is looked at by itself (S1); without a file nothing is. */
function checksOf({ files }: Config): CheckDefinition[] {
  return files.checks === undefined ? [] : loadChecks(files.checks, loadOntology(files.ontology));
}

/** What a wrong policy file is called while it is one. */
const POLICY = 'policy';

/** Shows an error card about the policy file in the lobby. */
function raiseError(database: Database, error: NomosError): void {
  const { code, fault, message, hint = null } = error;
  tellLobby(database, async (unit) =>
    unit.emit({
      type: 'error.raised',
      data: { code, fault, message, hint, retry: false, about: POLICY },
    }),
  );
}

function tellLobby(database: Database, tell: (unit: Unit) => Promise<void>): void {
  database
    .write(tell)
    .catch((failure: unknown) =>
      log.error({ error: errorText(failure) }, 'the lobby could not be told'),
    );
}

/** What turns voice messages into text, where that is set up (C16). */
function transcriberOf({ transcription }: Config): Transcriber | undefined {
  if (transcription === undefined) return undefined;
  const { model, apiKey, baseUrl } = transcription;
  return new OpenAiTranscriber({ model, apiKey, baseUrl: baseUrl ?? OPENAI });
}

/** The values that must appear nowhere (Z4). */
function secretsOf(config: Config): string[] {
  const { login } = config.matrix;
  const urls = [config.databaseUrl, config.redisUrl].flatMap((url) => {
    const { password } = new URL(url);
    return password === '' ? [] : [decodeURIComponent(password)];
  });
  return [
    config.model.apiKey,
    config.transcription?.apiKey ?? '',
    login.kind === 'token' ? login.accessToken : '',
    login.password ?? '',
    ...urls,
  ].filter((secret) => secret.length >= 8);
}

function describe(roles: ReadonlySet<ProgramRole>, apiUrl: string | undefined): string {
  const where = apiUrl === undefined ? '' : ` API at ${apiUrl}.`;
  return `Nomos ${VERSION} is running (${[...roles].join(', ')}).${where}`;
}
