import { setTimeout as delay } from 'node:timers/promises';
import { log } from '../../core/log.ts';
import { type Failure, sortFailure } from './errors.ts';

const FIRST_WAIT_MS = 250;
const LONGEST_WAIT_MS = 30_000;
/** How often it is said that something waits for the homeserver, while it does. */
const TELL_EVERY_MS = 30_000;

/** How long to wait before try number `attempt` + 1 (from 1): doubling from 250 ms to 30 s, with a quarter of jitter. */
export function backoffMs(attempt: number): number {
  const wait = Math.min(LONGEST_WAIT_MS, FIRST_WAIT_MS * 2 ** Math.min(attempt - 1, 20));
  return wait * (0.75 + Math.random() / 2);
}

/** Waits, or returns early when the signal fires. Never throws. */
export async function pause(ms: number, signal: AbortSignal): Promise<void> {
  // Rejects only when the signal fires, and then the wait is over too.
  await delay(ms, undefined, { signal }).catch(() => {});
}

/**
 * Makes a request until it succeeds, as long as its failure is one that passes: the server is away, in trouble or
 * limiting. Throws what will not pass, and the signal's reason when it fires.
 */
export async function persist<T>(
  what: string,
  signal: AbortSignal,
  request: () => Promise<T>,
  onWait: (failure: Failure, waitMs: number) => void = () => {},
): Promise<T> {
  let toldAt = -Infinity;
  for (let attempt = 1; ; attempt++) {
    signal.throwIfAborted();
    try {
      return await request();
    } catch (error) {
      signal.throwIfAborted();
      const failure = sortFailure(error);
      if (failure.kind === 'token' || failure.kind === 'permanent') throw error;
      const waitMs = failure.kind === 'limited' ? failure.retryAfterMs : backoffMs(attempt);
      onWait(failure, waitMs);
      const tell = performance.now() - toldAt >= TELL_EVERY_MS;
      if (tell) toldAt = performance.now();
      log[tell ? 'warn' : 'debug'](
        { what, attempt, waitMs },
        `waiting for the homeserver (${what}): ${failure.text}`,
      );
      await pause(waitMs, signal);
    }
  }
}
