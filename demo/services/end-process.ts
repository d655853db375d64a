import { stillRuns } from '../../scripts/lib/identity.mjs';
import { systemCode } from './errors.ts';

/** A process that can be told from any other that has or will have its pid. */
export interface KnownProcess {
  readonly pid: number;
  /** From `processIdentity()`. */
  readonly identity: string;
  readonly stopSignal: 'SIGINT' | 'SIGTERM';
}

/**
 * Ends a process that leads a group of its own: in good order first, by force after `patienceMs`.
 *
 * @returns whether it was running
 * @throws if it belongs to somebody else, or outlives even SIGKILL by 10 s
 */
export async function endProcess(known: KnownProcess, patienceMs = 15_000): Promise<boolean> {
  if (!stillRuns(known)) return false;
  signal(known.pid, known.stopSignal);
  if (await gone(known, patienceMs)) return true;
  signal(-known.pid, 'SIGKILL');
  if (await gone(known, 10_000)) return true;
  throw new Error(`Process ${known.pid} cannot be ended.`);
}

function signal(pid: number, name: NodeJS.Signals): void {
  try {
    process.kill(pid, name);
  } catch (error) {
    if (systemCode(error) !== 'ESRCH') throw error;
  }
}

async function gone(known: KnownProcess, limitMs: number): Promise<boolean> {
  const deadline = Date.now() + limitMs;
  while (stillRuns(known)) {
    if (Date.now() > deadline) return false;
    await new Promise((resolve) => setTimeout(resolve, 25));
  }
  return true;
}
