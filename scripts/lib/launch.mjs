/** Runs the real program under Node 24 and stays in front of it: signals go to it, its end is ours. */
import { spawn } from 'node:child_process';
import { constants } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { takeLock } from './lock.mjs';
import { nodeProgram, root, runningDir } from './packages.mjs';

/** How long a repeated signal counts as the same: a terminal's Ctrl-C arrives once more through npm. */
const SAME_SIGNAL_MS = 500;

/**
 * @param {{script: string, args: string[], env?: Record<string, string>}} program
 * @returns never: the process ends with the program's exit code
 */
export async function launch({ script, args, env = {} }) {
  const note = leaveNote(script, args);
  const follow = pathToFileURL(join(root, 'scripts', 'lib', 'follow-parent.mjs')).href;
  const node = nodeProgram();
  // A session of its own: a Ctrl-C reaches it through us alone, once. The channel tells it when we are gone.
  const child = spawn(
    node,
    ['--disable-warning=DEP0060', '--import', follow, join(root, script), ...args],
    {
      cwd: root,
      detached: true,
      stdio: ['inherit', 'inherit', 'inherit', 'ipc'],
      env: {
        ...process.env,
        ...env,
        PATH: `${join(root, 'node_modules', '.bin')}:${process.env.PATH ?? ''}`,
        // What was compiled once is not compiled again, in this process and in those that it starts.
        NODE_COMPILE_CACHE:
          process.env.NODE_COMPILE_CACHE ?? join(root, 'node_modules', '.cache', 'compiled'),
        NOMOS_BOOTSTRAP_PID: String(process.pid),
      },
    },
  );
  const last = new Map();
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) {
    process.on(signal, () => {
      const now = Date.now();
      if (now - (last.get(signal) ?? -Infinity) < SAME_SIGNAL_MS) return;
      last.set(signal, now);
      child.kill(signal);
    });
  }
  const whenOrphaned = () => child.kill('SIGTERM');
  const watch = watchNpm(whenOrphaned);
  const code = await new Promise((resolve, reject) => {
    child.once('error', reject);
    child.once('exit', (exitCode, signal) =>
      resolve(exitCode ?? 128 + (constants.signals[signal] ?? 0)),
    );
  });
  clearInterval(watch);
  note?.release();
  process.exit(code);
}

/** npm passes a SIGTERM on to its shell alone, which ends without a word to us: then we have another parent. */
function watchNpm(whenOrphaned) {
  if (process.env.npm_lifecycle_event === undefined) return undefined;
  const parent = process.ppid;
  const watch = setInterval(() => {
    if (process.ppid === parent) return;
    clearInterval(watch);
    whenOrphaned();
  }, 500);
  return watch;
}

/** Packages are not replaced while the note of a live process is there. */
function leaveNote(script, args) {
  try {
    const doing = [script, ...args].join(' ');
    const attempt = takeLock(join(runningDir, `${process.pid}.json`), { doing });
    return attempt.taken ? attempt.lock : undefined;
  } catch (error) {
    // Where this user cannot write, nobody of its kind can replace packages either.
    if (error.code !== 'EACCES' && error.code !== 'EROFS') throw error;
    return undefined;
  }
}
