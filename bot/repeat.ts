import { errorText } from '../core/errors.ts';
import { log } from '../core/log.ts';
import { sortFailure } from './matrix/errors.ts';
import { backoffMs, pause } from './matrix/retry.ts';

/** Something to be done whenever it is asked for, never twice at a time. */
export interface Repeated {
  /** Asks for one more go, after the one that is under way. */
  trigger(): void;
  /** Does what is asked for until the signal fires. Throws only when the homeserver refuses the token. */
  run(): Promise<void>;
}

/** Makes `work` repeatable. A go that fails is tried again after a while. */
export function repeated(what: string, signal: AbortSignal, work: () => Promise<void>): Repeated {
  let asked = false;
  let wake: () => void = () => {};
  const trigger = (): void => {
    asked = true;
    wake();
  };
  const run = async (): Promise<void> => {
    signal.addEventListener('abort', () => wake(), { once: true });
    let failures = 0;
    while (!signal.aborted) {
      if (!asked) await new Promise<void>((resolve) => (wake = resolve));
      if (signal.aborted) return;
      asked = false;
      try {
        await work();
        failures = 0;
      } catch (error) {
        if (signal.aborted) return;
        if (sortFailure(error).kind === 'token') throw error;
        failures++;
        log.error({ what, failures, error: errorText(error) }, 'could not be done; trying again');
        await pause(backoffMs(failures), signal);
        asked = true;
      }
    }
  };
  return { trigger, run };
}
