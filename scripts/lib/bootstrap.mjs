/**
 * Brings a fresh checkout to the point where the real program can run, then runs it. Without dependencies, since it is
 * what installs them; plain JavaScript, since the Node that it starts under may not read TypeScript.
 */
import { accessSync, constants, existsSync, mkdirSync, readFileSync } from 'node:fs';
import { delimiter, join, resolve } from 'node:path';
import { parseEnv } from 'node:util';
import { launch } from './launch.mjs';
import { lockHolder } from './lock.mjs';
import { ensurePackages, ensurePrismaClient, root } from './packages.mjs';
import { ensurePython, pythonIsReady } from './python.mjs';
import { SetupFailure } from './setup-failure.mjs';
import { endSteps, Progress } from './steps.mjs';
import { ensureSystemTools } from './system-tools.mjs';

const USAGE = `Usage: node scripts/bootstrap.mjs start|demo|test|run [arguments]

  start   set up what is missing and start Nomos (npm start)
  demo    set up what is missing and play one conversation (npm run demo)
  test    set up what is missing and run all checks and tests (npm test)
  run     run another command of Nomos: \`run token create …\`
`;

/** @param {string[]} argv */
export async function main(argv) {
  const [command, ...args] = argv;
  if (!['start', 'demo', 'test', 'run'].includes(command)) {
    process.stderr.write(USAGE);
    process.exit(2);
  }
  const stopWaiting = endOnSignal();
  try {
    const settings = readSettings();
    const home = resolve(root, settings.NOMOS_HOME || '.nomos');
    if (command === 'start' || command === 'demo') makeFolder(home);
    if (command === 'start') refuseSecondStart(home);
    await prepare(command, args, home, settings);
    stopWaiting();
    await launch({
      ...program(command, args),
      env: command === 'run' ? runningEnvironment(home) : {},
    });
  } catch (error) {
    endSteps();
    process.stderr.write(
      error instanceof SetupFailure ? `\nnomos: ${error.message}\n` : `${error.stack}\n`,
    );
    process.exit(1);
  }
}

function program(command, args) {
  const scripts = {
    start: 'demo/start.ts',
    demo: 'demo/play.ts',
    test: 'scripts/test.ts',
    run: 'core/main.ts',
  };
  return { script: scripts[command], args };
}

async function prepare(command, args, home, settings) {
  const onlyUnit = command === 'test' && isOnlyUnit(args);
  const onlyHelp = args.includes('--help') || args.includes('-h');
  const progress = new Progress();
  const testHome = join(root, '.nomos');
  const pythonHome = command === 'test' ? testHome : home;
  const wantsPython =
    command === 'test' ? !onlyUnit : command !== 'run' && !onlyHelp && needsPython(settings);
  if (command === 'test' && !onlyUnit) await ensureSystemTools(progress);
  const packages = async () => {
    await ensurePackages({ progress, forTests: command === 'test' });
    await ensurePrismaClient({ progress });
  };
  const python = async () => {
    if (!wantsPython || pythonIsReady(pythonHome)) return;
    makeFolder(pythonHome);
    await progress.run('Installing the homeserver (Synapse) and Valkey', (onProgress) =>
      ensurePython({ home: pythonHome, onProgress }),
    );
  };
  await Promise.all([packages(), python()]);
}

/** Whether only tests that need no service were asked for. */
function isOnlyUnit(args) {
  const projects = args.flatMap((arg, index) =>
    arg === '--project' ? [args[index + 1]] : arg.startsWith('--project=') ? [arg.slice(10)] : [],
  );
  return projects.length > 0 && projects.every((name) => name === 'unit');
}

/** The settings that set-up depends on, from the environment and, behind it, `.env`. */
function readSettings() {
  const file = join(root, '.env');
  const fromFile =
    existsSync(file) && parseEnv !== undefined ? parseEnv(readFileSync(file, 'utf8')) : {};
  return { ...fromFile, ...process.env };
}

function needsPython(settings) {
  const isSet = (name) => Boolean(settings[name] || settings[`${name}_FILE`]);
  if (!isSet('MATRIX_HOMESERVER_URL')) return true;
  return !isSet('REDIS_URL') && !onPath('valkey-server') && !onPath('redis-server');
}

function onPath(name) {
  return (process.env.PATH ?? '').split(delimiter).some((folder) => existsSync(join(folder, name)));
}

/**
 * What the running `npm start` of this folder set up: commands such as `token create` are about that one, where the
 * environment names nothing else.
 */
function runningEnvironment(home) {
  const file = join(home, 'environment.json');
  if (lockHolder(join(home, 'locks', 'services.lock')) === undefined || !existsSync(file))
    return {};
  const settings = readSettings();
  const left = Object.entries(JSON.parse(readFileSync(file, 'utf8')));
  return Object.fromEntries(left.filter(([name]) => !settings[name] && !settings[`${name}_FILE`]));
}

function refuseSecondStart(home) {
  const holder = lockHolder(join(home, 'locks', 'services.lock'));
  if (holder === undefined) return;
  const where = typeof holder.url === 'string' ? `, at ${holder.url}` : ' and is still starting';
  throw new SetupFailure(
    `Nomos already runs in this folder (process ${holder.pid})${where}. Use that one, stop it with \`kill ${holder.pid}\`, or set NOMOS_HOME to another folder.`,
  );
}

function makeFolder(folder) {
  try {
    mkdirSync(folder, { recursive: true });
    accessSync(folder, constants.W_OK);
  } catch (error) {
    throw new SetupFailure(
      `The folder ${folder} cannot be written (${error.code}): start as the user who owns it, or set NOMOS_HOME to another folder.`,
    );
  }
}

/** Until the real program runs, a signal ends the steps of the set-up. */
function endOnSignal() {
  const handlers = [
    ['SIGINT', 130],
    ['SIGTERM', 143],
    ['SIGHUP', 129],
  ].map(([signal, code]) => {
    const handler = () => {
      endSteps();
      process.stderr.write('\nnomos: stopped. The next start goes on from here.\n');
      process.exit(code);
    };
    process.on(signal, handler);
    return () => process.off(signal, handler);
  });
  return () => handlers.forEach((off) => off());
}
