/**
 * A limit on the processes of a sandbox that also holds for root, whom RLIMIT_NPROC does not bind: the process namespace's own
 * `pid_max` (Linux 6.14 and later; before, that number is the whole machine's and must not be touched), else a pids cgroup.
 */
import { existsSync, mkdirSync, rmdirSync, writeFileSync } from 'node:fs';
import { release } from 'node:os';
import { join } from 'node:path';

/** Most processes and threads at once. The kernel allows no `pid_max` of 300 or less. */
export const PROCESS_LIMIT = 400;

/** Where pids cgroups are made: the controller's own tree (version 1), or the only one (version 2). */
const CGROUPS = ['/sys/fs/cgroup/pids', '/sys/fs/cgroup'];

/** A limit that can be laid on: `word` tells the driver of the sandbox how, `free` takes back what was made for it. */
export interface ProcessLimit {
  /** `pid_max`, or the directory of a cgroup to enter. */
  word: string;
  free(): void;
}

/** True when each process namespace has a `pid_max` of its own. */
export function ownPidMax(kernel: string): boolean {
  const [major = 0, minor = 0] = kernel.split('.').map(Number);
  return major > 6 || (major === 6 && minor >= 14);
}

/** Makes a limit for one sandbox, as on the given kernel; undefined when this machine allows none. */
export function makeProcessLimit(kernel = release()): ProcessLimit | undefined {
  if (ownPidMax(kernel)) return { word: 'pid_max', free: () => undefined };
  for (const parent of CGROUPS) {
    const directory = join(parent, `nomos-sandbox-${process.pid}-${Date.now()}`);
    try {
      mkdirSync(directory);
    } catch {
      continue; // not there, or not ours to make: the next one, or none
    }
    const free = (): void => rmdirSync(directory);
    if (!existsSync(join(directory, 'pids.max'))) {
      free(); // version 2 without the controller, or version 1's bare mount point
      continue;
    }
    writeFileSync(join(directory, 'pids.max'), `${PROCESS_LIMIT}`);
    return { word: directory, free };
  }
  return undefined;
}
