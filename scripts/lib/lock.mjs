/**
 * Lock files that a crash does not leave closed: each names its holder's pid and identity, and one whose holder no
 * longer runs is taken over.
 */
import { linkSync, mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';
import { processIdentity, stillRuns } from './identity.mjs';

let counter = 0;

/** @param {string} path */
function read(path) {
  try {
    return readFileSync(path, 'utf8');
  } catch (error) {
    if (error.code === 'ENOENT') return undefined;
    throw error;
  }
}

/** @param {string} text */
function parse(text) {
  try {
    const holder = JSON.parse(text);
    if (typeof holder.pid === 'number' && typeof holder.identity === 'string') return holder;
  } catch {
    // Not written by us, or cut off by a full disk: nobody can be asked, so nobody holds it.
  }
  return undefined;
}

/**
 * The live holder of a lock, or `undefined` if it is free or was left by a process that has ended.
 *
 * @param {string} path
 */
export function lockHolder(path) {
  const text = read(path);
  const holder = text === undefined ? undefined : parse(text);
  return holder !== undefined && stillRuns(holder) ? holder : undefined;
}

/**
 * Takes a lock for this process.
 *
 * @param {string} path
 * @param {Record<string, unknown>} [about] further fields for whoever finds the lock taken
 * @returns the lock, or its holder if another live process has it
 */
export function takeLock(path, about = {}) {
  mkdirSync(dirname(path), { recursive: true });
  const identity = processIdentity(process.pid);
  if (identity === undefined) throw new Error('This process cannot be found in the process table.');
  const draft = `${path}.${process.pid}.${++counter}`;
  const write = (fields) =>
    writeFileSync(
      draft,
      JSON.stringify({ pid: process.pid, identity, since: new Date().toISOString(), ...fields }),
      { mode: 0o600 },
    );
  write(about);
  try {
    for (;;) {
      try {
        // A link appears whole or not at all, unlike a file that is opened first and written later.
        linkSync(draft, path);
        break;
      } catch (error) {
        if (error.code !== 'EEXIST') throw error;
      }
      const text = read(path);
      if (text === undefined) continue;
      const holder = parse(text);
      if (holder !== undefined && stillRuns(holder)) return { taken: false, holder };
      removeStale(path, text, draft);
    }
  } finally {
    rmSync(draft, { force: true });
  }
  return {
    taken: true,
    lock: {
      path,
      /** Replaces the further fields. */
      describe(fields) {
        write(fields);
        renameSync(draft, path);
      },
      release() {
        const text = read(path);
        const holder = text === undefined ? undefined : parse(text);
        if (holder?.pid === process.pid && holder.identity === identity)
          rmSync(path, { force: true });
      },
    },
  };
}

/** Of several processes that found the same stale lock, one moves it away; what it moved is looked at again. */
function removeStale(path, expected, draft) {
  const aside = `${draft}.stale`;
  try {
    renameSync(path, aside);
  } catch (error) {
    if (error.code === 'ENOENT') return;
    throw error;
  }
  if (read(aside) !== expected) {
    // Between the look and the move another process had put its own lock there.
    try {
      linkSync(aside, path);
    } catch (error) {
      if (error.code !== 'EEXIST') throw error;
    }
  }
  rmSync(aside, { force: true });
}
