/**
 * Who a process id belongs to. A pid alone is not enough: it is given out again after the process has ended. The
 * time at which the process started, together with the boot that it belongs to, makes it unique.
 */
import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';

/** @type {string | undefined} */
let boot;

function bootId() {
  if (boot === undefined) {
    try {
      boot = readFileSync('/proc/sys/kernel/random/boot_id', 'utf8').trim();
    } catch {
      // Some containers hide it. Start times since boot are then compared alone.
      boot = 'unknown-boot';
    }
  }
  return boot;
}

/**
 * An opaque text that stays the same for the whole life of a process and differs from that of any other process that
 * has, had or will have its pid. `undefined`: no such process, or only its unreaped remains.
 *
 * @param {number} pid
 * @returns {string | undefined}
 */
export function processIdentity(pid) {
  if (!Number.isInteger(pid) || pid <= 0) return undefined;
  if (process.platform === 'linux') {
    let stat;
    try {
      stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
    } catch {
      return undefined;
    }
    // The second field is the program's name in brackets and may itself hold spaces and brackets.
    const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
    if (fields[0] === 'Z' || fields[0] === 'X') return undefined;
    return `${bootId()}:${fields[19]}`;
  }
  try {
    const started = execFileSync('ps', ['-o', 'lstart=', '-p', String(pid)], {
      encoding: 'utf8',
      stdio: ['ignore', 'pipe', 'ignore'],
    }).trim();
    return started === '' ? undefined : started;
  } catch {
    return undefined;
  }
}

/**
 * Whether the process that was seen with this pid and identity still runs.
 *
 * @param {{pid: number, identity: string}} seen
 */
export function stillRuns(seen) {
  return processIdentity(seen.pid) === seen.identity;
}
