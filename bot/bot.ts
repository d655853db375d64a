import { ConfigurationError, errorText } from '../core/errors.ts';
import { log } from '../core/log.ts';
import { takeBotLock } from './lock.ts';
import { signIn } from './matrix/account.ts';
import { backoffMs, pause } from './matrix/retry.ts';
import type { BotOptions } from './options.ts';
import { runTerm } from './term.ts';

export type { BotOptions, BotParts } from './options.ts';

/** `signing_in` → `standby` (another process is the bot) or `starting` → `active`; `stopped` at the end. */
export type BotState = 'signing_in' | 'standby' | 'starting' | 'active' | 'stopped';

/** A started bot. */
export interface RunningBot {
  /** What it is doing now. */
  state(): BotState;
  /** Why it has to wait for the homeserver before it can work, in a sentence; undefined while it has not. */
  trouble(): string | undefined;
  /** Resolves once it is active for the first time. Rejects when it stops or fails before that. */
  readonly ready: Promise<void>;
  /** Resolves when it was stopped. Rejects with a `ConfigurationError` when it cannot go on. */
  readonly ended: Promise<void>;
  /** Stops it: requests end, work at hand is finished or rolled back, the lock is given back. */
  stop(): Promise<void>;
}

/**
 * Starts the bot and returns at once. It signs in, waits for the account's lock, finds or makes its rooms, and works; when
 * it loses the lock it stops at once and waits for it again (Z9). A homeserver that is away only delays it (R10).
 */
export function startBot(options: BotOptions): RunningBot {
  const stop = new AbortController();
  const ready = Promise.withResolvers<void>();
  let state: BotState = 'signing_in';
  let trouble: string | undefined;
  const setState = (next: BotState): void => {
    if (next === state) return;
    log.info({ from: state, to: next }, 'bot');
    state = next;
    trouble = undefined;
    if (next === 'active') ready.resolve();
  };
  const ended = serve(
    options,
    stop.signal,
    setState,
    (why) =>
      (trouble = `${why.replace(/\.$/, '')}. MATRIX_HOMESERVER_URL is ${options.homeserverUrl}.`),
  ).then(
    () => ready.reject(new Error('The bot was stopped.')),
    (error: unknown) => {
      ready.reject(error);
      throw error;
    },
  );
  // Whoever does not look at one of them must not have the process ended by the other.
  ready.promise.catch(() => {});
  ended.catch(() => {});
  return {
    state: () => state,
    trouble: () => trouble,
    ready: ready.promise,
    ended,
    async stop() {
      stop.abort(new Error('The bot was stopped.'));
      await ended.catch(() => {});
    },
  };
}

async function serve(
  options: BotOptions,
  signal: AbortSignal,
  setState: (state: BotState) => void,
  onWait: (why: string) => void,
): Promise<void> {
  const homeserverUrl = options.homeserverUrl.replace(/\/+$/, '');
  let failures = 0;
  let worked = false;
  const follow = (state: BotState): void => {
    worked ||= state === 'active';
    setState(state);
  };
  try {
    while (!signal.aborted) {
      const startedAt = performance.now();
      try {
        await serveOnce({ ...options, homeserverUrl }, signal, follow, onWait);
      } catch (error) {
        if (signal.aborted) return;
        if (error instanceof ConfigurationError) {
          // Where the bot has worked there is a homeserver: something else answers in its place while it is away (R10).
          const away = worked && error.fields['option'] === 'MATRIX_HOMESERVER_URL';
          if (!away) throw error;
          onWait(error.message);
        }
        failures = performance.now() - startedAt > 60_000 ? 1 : failures + 1;
        log.error({ error: errorText(error), failures }, 'the bot broke off; starting it again');
        await pause(backoffMs(failures), signal);
      }
    }
  } finally {
    setState('stopped');
  }
}

/** One term of office, from signing in to losing the lock or failing. */
async function serveOnce(
  options: BotOptions,
  signal: AbortSignal,
  setState: (state: BotState) => void,
  onWait: (why: string) => void,
): Promise<void> {
  setState('signing_in');
  const { database, homeserverUrl, credentials } = options;
  const account = await signIn(database, homeserverUrl, credentials, signal, onWait);
  const lock = await takeBotLock(database.url, account.userId, signal, () => {
    log.info({ account: account.userId }, 'another process is the bot; standing by');
    setState('standby');
  });
  try {
    setState('starting');
    await runTerm(options, account, AbortSignal.any([signal, lock.lost]), () => setState('active'));
  } finally {
    await lock.release();
  }
}
