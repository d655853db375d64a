import { isOver, outputOf, type Run } from './job.ts';
import { nameOf } from './work.ts';

/** A file system as df shows it. */
export interface FileSystem {
  readonly target: string;
  readonly mount: string;
  readonly size: string;
  readonly free: string;
  readonly percent: number;
}

/** From here on a disk is worth a word, and from here on it is urgent. */
const FULL_PERCENT = 90;
const TIGHT_PERCENT = 80;

/** The command that shows the disks of a machine. */
export const DISKS = 'df -h -x tmpfs -x devtmpfs';

/** The file systems in an output of df. */
export function fileSystems(run: Run): FileSystem[] {
  return run.stdout.split('\n').flatMap((line) => {
    const [, size, , free, percent, mount] =
      /^(?:\S+)\s+(\S+)\s+(\S+)\s+(\S+)\s+(\d+)%\s+(\/\S*)/.exec(line) ?? [];
    if (size === undefined || free === undefined || percent === undefined || mount === undefined)
      return [];
    return [{ target: run.target, mount, size, free, percent: Number(percent) }];
  });
}

/** One line on a machine's disks: every file system with its fill, a mark where it is tight, or why it is not known. */
export function diskLine(run: Run): string {
  const found = fileSystems(run);
  if (found.length === 0) return `- ${nameOf(run.target)}: not known, ${firstWords(run)}`;
  const parts = found.map(({ mount, percent, free }) => {
    const mark = percent >= FULL_PERCENT ? ' 🔴' : percent >= TIGHT_PERCENT ? ' 🟡' : '';
    return `${mount} ${percent} %${mark === '' ? '' : `, ${free} free${mark}`}`;
  });
  return `- ${nameOf(run.target)}: ${parts.join('; ')}`;
}

/** The first line on disks: whether any is full. */
export function diskVerdict(runs: readonly Run[]): string {
  const all = runs.flatMap(fileSystems);
  const worst = fullest(all);
  const unknown = runs.filter((run) => fileSystems(run).length === 0).length;
  const missing = unknown === 0 ? '' : ` ${unknown} of ${runs.length} could not be read.`;
  if (worst === undefined) return `No disk could be read.`;
  if (worst.percent >= FULL_PERCENT) {
    return `${worst.mount} on ${nameOf(worst.target)} is ${worst.percent} % full, with ${worst.free} left.${missing}`;
  }
  return `No disk is tight; the fullest is ${worst.mount} on ${nameOf(worst.target)} with ${worst.percent} %.${missing}`;
}

/** The fullest of them. */
export function fullest(all: readonly FileSystem[]): FileSystem | undefined {
  return all.toSorted((a, b) => b.percent - a.percent)[0];
}

/** A folder as du shows it. */
export interface Folder {
  readonly path: string;
  readonly size: string;
}

/** The folders directly under `root` in an output of du. */
export function folders(run: Run, root: string): Folder[] {
  const prefix = root === '/' ? '/' : `${root}/`;
  return run.stdout.split('\n').flatMap((line) => {
    const [, size, path] = /^(\S+)\t(\S.*)$/.exec(line) ?? [];
    if (size === undefined || path === undefined || !path.startsWith(prefix)) return [];
    return path.slice(prefix.length).includes('/') ? [] : [{ path, size }];
  });
}

/** A package that can be upgraded. */
export interface Upgrade {
  readonly name: string;
  readonly from: string;
  readonly to: string;
}

/** The upgrades in an output of `apt list --upgradable`. */
export function upgrades(run: Run): Upgrade[] {
  return run.stdout.split('\n').flatMap((line) => {
    const [, name, to, from] =
      /^([^/\s]+)\/\S+ (\S+) \S+ \[upgradable from: ([^\]]+)\]/.exec(line) ?? [];
    return name === undefined || to === undefined || from === undefined ? [] : [{ name, from, to }];
  });
}

/** Why a run gave nothing to go by, in a few words. */
export function firstWords(run: Run): string {
  if (!isOver(run)) return 'it has not ended';
  const line = outputOf(run)
    .split('\n')
    .find((one) => one.trim() !== '');
  const code = run.exitCode === undefined ? '' : ` (exit code ${run.exitCode})`;
  return `${line === undefined ? `it ${run.status}` : line.trim().slice(0, 160)}${code}`;
}
