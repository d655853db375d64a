/**
 * The Python environment that holds Synapse and Valkey. Each list of packages has a folder of its own, made beside the
 * others: what runs from an older one is not touched.
 */
import { spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { takeLock } from './lock.mjs';
import { SetupFailure } from './setup-failure.mjs';
import { runStep } from './steps.mjs';

const requirements = fileURLToPath(
  new URL('../../demo/services/synapse-requirements.txt', import.meta.url),
);

/** The versions of Python for which every package of the list comes ready-built. */
const OLDEST = 11;
const NEWEST = 13;
const wayOut =
  'On Debian or Ubuntu: `apt-get install python3 python3-venv`. ' +
  'Or use servers of your own: set MATRIX_HOMESERVER_URL (and the bot account) and REDIS_URL.';

/**
 * The folder of the environment for this checkout's list of packages, whether it is there or not.
 *
 * @param {string} home NOMOS_HOME
 */
export function pythonDir(home) {
  const hash = createHash('sha256').update(readFileSync(requirements)).digest('hex');
  return join(home, `python-${hash.slice(0, 12)}`);
}

/** @param {string} dir */
function isComplete(dir) {
  // The stamp names the folder: an environment that was moved or copied does not work in its new place.
  const stamp = join(dir, 'nomos-complete');
  return (
    existsSync(stamp) &&
    readFileSync(stamp, 'utf8') === dir &&
    existsSync(join(dir, 'bin', 'python'))
  );
}

/** Whether `ensurePython` has nothing to do. */
export function pythonIsReady(home) {
  return isComplete(pythonDir(home));
}

/**
 * Makes the environment if it is not complete. Several processes may call it at once; one works, the others wait.
 *
 * @param {{home: string, onProgress: (text: string) => void}} options
 */
export async function ensurePython({ home, onProgress }) {
  const dir = pythonDir(home);
  const python = join(dir, 'bin', 'python');
  if (isComplete(dir)) return { dir, python };
  mkdirSync(home, { recursive: true });
  const lockPath = join(home, 'locks', 'python.lock');
  let attempt = takeLock(lockPath, { doing: 'installing Python packages' });
  if (!attempt.taken) onProgress(`process ${attempt.holder.pid} installs them, waiting`);
  while (!attempt.taken) {
    await new Promise((resolve) => setTimeout(resolve, 500));
    if (isComplete(dir)) return { dir, python };
    attempt = takeLock(lockPath, { doing: 'installing Python packages' });
  }
  try {
    if (!isComplete(dir)) await install(dir, python, home, onProgress);
  } finally {
    attempt.lock.release();
  }
  return { dir, python };
}

async function install(dir, python, home, onProgress) {
  const system = findPython();
  rmSync(dir, { recursive: true, force: true });
  onProgress(`environment of Python ${system.version}`);
  const made = spawnSync(system.command, ['-m', 'venv', dir], { encoding: 'utf8' });
  if (made.status !== 0) {
    rmSync(dir, { recursive: true, force: true });
    const output = `${made.stdout}${made.stderr}`;
    if (/ensurepip|No module named venv/.test(output)) {
      throw new SetupFailure(
        `Python ${system.version} is here, but its venv module is not, which the embedded homeserver needs. ${wayOut}`,
      );
    }
    throw new SetupFailure(`A Python environment could not be made in ${dir}: ${output.trim()}`);
  }
  const total = readFileSync(requirements, 'utf8')
    .split('\n')
    .filter((line) => /^\w/.test(line)).length;
  let seen = 0;
  await runStep({
    what: 'Installing the Python packages of the homeserver',
    command: python,
    args: [
      ...[
        '-m',
        'pip',
        'install',
        '--disable-pip-version-check',
        '--no-input',
        '--progress-bar=off',
      ],
      // Nothing is compiled here: a package without a ready-built file for this machine is an error at once.
      ...['--no-deps', '--only-binary=:all:', '--requirement', requirements],
    ],
    logFile: join(home, 'logs', 'python.log'),
    onLine(line) {
      if (line.startsWith('Collecting ')) {
        if (++seen % 5 === 0) onProgress(`${seen} of ${total} packages`);
      }
      if (line.startsWith('Installing collected')) onProgress('unpacking');
    },
    wayOut: `See that PyPI (or your index of Python packages) can be reached, then start again.`,
  });
  writeFileSync(join(dir, 'nomos-complete'), dir);
}

function findPython() {
  const names = ['python3'];
  for (let minor = NEWEST; minor >= OLDEST; minor--) names.push(`python3.${minor}`);
  const refused = [];
  for (const command of names) {
    const asked = spawnSync(
      command,
      ['-c', 'import sys; print("%d.%d.%d" % sys.version_info[:3])'],
      { encoding: 'utf8' },
    );
    if (asked.status !== 0) continue;
    const version = asked.stdout.trim();
    const [major, minor] = version.split('.').map(Number);
    if (major === 3 && minor >= OLDEST && minor <= NEWEST) return { command, version };
    refused.push(version);
  }
  const range = `3.${OLDEST} to 3.${NEWEST}`;
  throw new SetupFailure(
    refused.length === 0
      ? `The embedded homeserver needs Python ${range}, and no python3 is on the PATH. ${wayOut}`
      : `The embedded homeserver needs Python ${range}, and here is only ${refused.join(', ')}. ${wayOut}`,
  );
}
