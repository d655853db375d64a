/** A lenient look at a command line, for danger only: what could be meant counts. */
import { shown } from '../model.ts';
import type { Arg, Call } from '../model.ts';

/** The likeliest text of a word. */
export const best = (arg: Arg): string => arg.guess ?? arg.value;

/** True when one of the short letters or long options stands anywhere, in a bundle or abbreviated. */
export function given(call: Call, letters: string, ...long: string[]): boolean {
  for (const arg of call.args) {
    const word = best(arg);
    if (word === '--') return false;
    if (word.startsWith('--')) {
      const name = word.slice(2).split('=')[0] as string;
      if (name.length > 0 && long.some((option) => option.startsWith(name))) return true;
    } else if (
      word.startsWith('-') &&
      [...word.slice(1)].some((letter) => letters.includes(letter))
    )
      return true;
  }
  return false;
}

/** Words that are not options; behind `--` all are. */
export function operandsOf(call: Call): Arg[] {
  const end = call.args.findIndex((arg) => arg.value === '--');
  const front = end < 0 ? call.args : call.args.slice(0, end);
  const rest = end < 0 ? [] : call.args.slice(end + 1);
  return [...front.filter((arg) => !best(arg).startsWith('-') || best(arg) === '-'), ...rest];
}

/** The words a command works on, for a reason. */
export const targets = (call: Call): string =>
  operandsOf(call)
    .map((arg) => shown(best(arg)))
    .join(' ') || 'what is named at run time';
