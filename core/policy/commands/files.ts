/** Programs that handle files and directories. */
import { changes, destroys, shown } from '../model.ts';
import type { Arg, Call, Finding } from '../model.ts';
import { isDisk, isSystemRoot } from '../paths.ts';
import { reads } from './rules.ts';
import type { Table } from './rules.ts';

const best = (arg: Arg): string => arg.guess ?? arg.value;

/** True when a short or long option stands anywhere, in a bundle or abbreviated. */
export function given(call: Call, letters: string, ...long: string[]): boolean {
  for (const arg of call.args) {
    const word = best(arg);
    if (word === '--') return false;
    if (word.startsWith('--')) {
      const name = word.slice(2).split('=')[0] as string;
      if (name.length > 0 && long.some((option) => option.startsWith(name))) return true;
    } else if (word.startsWith('-') && [...word.slice(1)].some((letter) => letters.includes(letter))) return true;
  }
  return false;
}

/** Words of a call that are not options. */
export const operandsOf = (call: Call): Arg[] => call.args.filter((arg) => !best(arg).startsWith('-'));

const targets = (call: Call): string => operandsOf(call).map((arg) => shown(best(arg))).join(' ') || 'files named at run time';

function rm(call: Call): Finding[] {
  if (given(call, 'rR', 'recursive')) return [destroys(`rm -r deletes recursively: ${targets(call)}`)];
  const disk = operandsOf(call).find((arg) => isDisk(best(arg)));
  if (disk) return [destroys(`rm deletes a device: ${shown(disk)}`)];
  return [changes(`rm deletes ${targets(call)}`)];
}

function dd(call: Call): Finding[] {
  const to = call.args.find((arg) => best(arg).startsWith('of='));
  const path = to ? best(to).slice(3) : '';
  if (to && (isDisk(path) || to.value.includes('\0'))) return [destroys(`dd overwrites the device ${shown(path)}`)];
  return [changes('dd copies raw data')];
}

function owner(call: Call): Finding[] {
  const what = `${call.name} changes who may use ${targets(call)}`;
  if (!given(call, 'R', 'recursive')) return [changes(what)];
  const root = operandsOf(call).slice(1).find((arg) => isSystemRoot(best(arg)));
  return root ? [destroys(`${call.name} -R changes a whole system directory: ${shown(root)}`)] : [changes(what)];
}

const LS =
  '-aAbBcCdDfFgGhHiIklLmnNopqQrRsStTuUvwxXZ1 --all --almost-all --author --escape --block-size: --color? --directory --classify? --file-type --format: --full-time --group-directories-first --no-group --human-readable --si --dereference --hide: --hyperlink? --indicator-style: --inode --ignore: --kibibytes --literal --numeric-uid-gid --quote-name --quoting-style: --reverse --recursive --size --sort: --time: --time-style: --tabsize: --width: --context --zero --help --version';

export const files: Table = {
  rm: { check: rm },
  dd: { check: dd },
  shred: { check: (call) => [destroys(`shred overwrites ${targets(call)}`)] },
  chmod: { check: owner },
  chown: { check: owner },
  chgrp: { check: owner },
  ls: reads(LS, { anyOption: true }),
};
