/** The npm packages of the checkout and the database client that is generated from the schema. */
import { createHash } from 'node:crypto';
import { existsSync, readFileSync, readdirSync, writeFileSync } from 'node:fs';
import { delimiter, join, sep } from 'node:path';
import { fileURLToPath } from 'node:url';
import { lockHolder, takeLock } from './lock.mjs';
import { SetupFailure } from './setup-failure.mjs';
import { runStep } from './steps.mjs';

/** The checkout. */
export const root = fileURLToPath(new URL('../..', import.meta.url)).replace(/[/\\]$/, '');

const modules = join(root, 'node_modules');
const stamp = join(modules, '.nomos-stamp');
const prismaStamp = join(modules, '.nomos-prisma');
const logs = join(root, '.nomos', 'logs');

/** Where each program that runs from this checkout's packages leaves a note while it does. */
export const runningDir = join(root, '.nomos', 'running');

/** The Node that runs the program: the one that came as a package, else this one if it reads TypeScript. */
export function nodeProgram() {
  const packaged = join(modules, 'node', 'bin', process.platform === 'win32' ? 'node.exe' : 'node');
  if (existsSync(packaged)) return packaged;
  const [major, minor] = process.versions.node.split('.').map(Number);
  if (major > 22 || (major === 22 && minor >= 18)) return process.execPath;
  throw new SetupFailure(
    `Nomos runs on Node 24, which comes as the npm package \`node\`, but npm was told not to run its install script. Run \`npm rebuild node --ignore-scripts=false\`, or install Node 24 yourself (this is ${process.version}).`,
  );
}

const hashOf = (...files) => {
  const hash = createHash('sha256');
  for (const file of files) hash.update(readFileSync(file));
  return hash.digest('hex');
};

const read = (file) => (existsSync(file) ? readFileSync(file, 'utf8') : undefined);

/**
 * Installs the packages of the lock file unless they are there. Beside a program that runs from them they are not
 * replaced.
 *
 * @param {{progress: import('./steps.mjs').Progress, forTests: boolean}} options
 */
export async function ensurePackages({ progress, forTests }) {
  const lockFile = join(root, 'package-lock.json');
  const wanted = hashOf(lockFile);
  if (read(stamp) === wanted) return;
  if (isInstalled(lockFile, forTests)) {
    // Somebody ran npm themselves. The stamp spares later starts the comparison.
    if (forTests) writeFileSync(stamp, wanted);
    return;
  }
  await whileLocked('packages', async () => {
    if (read(stamp) === wanted) return;
    refuseBesideRunning();
    const lock = JSON.parse(readFileSync(lockFile, 'utf8'));
    const total = Object.values(lock.packages).filter(
      (entry) => entry.integrity && fitsHere(entry),
    ).length;
    let fetched = 0;
    await progress.run('Installing the npm packages', (report) =>
      runStep({
        what: 'Installing the npm packages (npm ci)',
        command: 'npm',
        args: [
          'ci',
          '--include=dev',
          '--include=optional',
          '--no-audit',
          '--no-fund',
          '--loglevel=http',
        ],
        cwd: root,
        env: npmEnvironment(),
        logFile: join(logs, 'npm.log'),
        onLine(line) {
          if (line.startsWith('npm http') && line.includes('.tgz')) {
            fetched = Math.min(fetched + 1, total);
            report(`${fetched} of ${total} fetched`);
          }
        },
        wayOut: 'See that the npm registry can be reached, then start again.',
      }),
    );
    nodeProgram();
    writeFileSync(stamp, wanted);
  });
}

/** Whether npm's own record of what it installed has every package of the lock file that this run cannot do without. */
function isInstalled(lockFile, forTests) {
  const text = read(join(modules, '.package-lock.json'));
  if (text === undefined || !existsSync(join(modules, 'node', 'bin'))) return false;
  const installed = JSON.parse(text).packages;
  return Object.entries(JSON.parse(readFileSync(lockFile, 'utf8')).packages).every(
    ([path, entry]) => {
      if (!path.startsWith('node_modules/')) return true;
      const found = installed[path];
      if (found !== undefined)
        return found.version === entry.version && found.integrity === entry.integrity;
      return entry.optional || entry.devOptional || entry.peer || (entry.dev && !forTests);
    },
  );
}

function fitsHere({ os, cpu }) {
  const fits = (list, name) => list === undefined || list.includes(name);
  return fits(os, process.platform) && fits(cpu, process.arch);
}

function refuseBesideRunning() {
  const files = existsSync(runningDir) ? readdirSync(runningDir) : [];
  for (const file of files.filter((name) => name.endsWith('.json'))) {
    const holder = lockHolder(join(runningDir, file));
    if (holder !== undefined && holder.pid !== process.pid) {
      throw new SetupFailure(
        `The npm packages have to be installed anew, but Nomos runs from them (process ${holder.pid}, ${String(holder.doing)}). Stop it first: \`kill ${holder.pid}\`.`,
      );
    }
  }
}

/**
 * Under `npm start` the folder of the packages' programs is on the PATH, and with it a Node that is about to be
 * replaced: npm itself must run on another one.
 */
function npmEnvironment() {
  const env = { ...process.env };
  for (const name of Object.keys(env)) {
    if (/^npm_(lifecycle|package|command|execpath|node_execpath)/.test(name)) delete env[name];
  }
  const own = `node_modules${sep}.bin`;
  env.PATH = (env.PATH ?? '')
    .split(delimiter)
    .filter((folder) => !folder.endsWith(own))
    .join(delimiter);
  return env;
}

/**
 * Generates the database client unless it is there for this schema.
 *
 * @param {{progress: import('./steps.mjs').Progress}} options
 */
export async function ensurePrismaClient({ progress }) {
  const schema = join(root, 'prisma', 'schema.prisma');
  const generated = join(root, 'core', 'db', 'generated');
  const prisma = join(modules, 'prisma', 'build', 'index.js');
  const manifest = join(modules, 'prisma', 'package.json');
  if (!existsSync(prisma)) {
    if (existsSync(generated)) return;
    throw new SetupFailure(
      'The database client has to be generated, and the package `prisma` is not installed: run `npm ci --include=dev --include=optional`.',
    );
  }
  const wanted = hashOf(schema, join(root, 'prisma.config.ts'), manifest);
  const isDone = () => existsSync(generated) && read(prismaStamp) === wanted;
  if (isDone()) return;
  await whileLocked('prisma', async () => {
    if (isDone()) return;
    await progress.run('Generating the database client', () =>
      runStep({
        what: 'Generating the database client (prisma generate)',
        command: nodeProgram(),
        args: [prisma, 'generate'],
        cwd: root,
        env: {
          ...process.env,
          // `generate` needs no engine, but would fetch one from a place that is not a package registry.
          PRISMA_SCHEMA_ENGINE_BINARY: existsSync('/bin/true') ? '/bin/true' : '/usr/bin/true',
          PRISMA_HIDE_UPDATE_MESSAGE: '1',
          CHECKPOINT_DISABLE: '1',
        },
        logFile: join(logs, 'prisma.log'),
        wayOut: 'The log says why.',
      }),
    );
    writeFileSync(prismaStamp, wanted);
  });
}

/** One process at a time does the work; the others wait for it and then find it done. */
async function whileLocked(name, work) {
  const path = join(root, '.nomos', 'locks', `${name}.lock`);
  let attempt;
  try {
    attempt = takeLock(path, { doing: 'installing' });
  } catch (error) {
    if (error.code !== 'EACCES' && error.code !== 'EROFS') throw error;
    throw new SetupFailure(
      `Packages have to be installed, and this user may not write in ${root}: start once as its owner.`,
    );
  }
  if (!attempt.taken) {
    process.stderr.write(`nomos: process ${attempt.holder.pid} is installing, waiting for it …\n`);
  }
  while (!attempt.taken) {
    await new Promise((resolve) => setTimeout(resolve, 300));
    attempt = takeLock(path, { doing: 'installing' });
  }
  try {
    await work();
  } finally {
    attempt.lock.release();
  }
}
