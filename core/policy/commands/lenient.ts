/** A lenient look at a command line, for danger only: what could be meant counts. */
import { HOLE, isKnown, shown } from '../model.ts';
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

/** Stands in {@link sure} for a word that is not known: no pattern of allowed words matches it. */
const OPEN = '\n\0\n';

/** A word for a pattern that allows: as it is when known, a plain word when it can only be one, else what no pattern matches. */
export function sureWord(arg: Arg): string {
  if (isKnown(arg)) return arg.value;
  const plain = arg.holes.length > 0 && arg.holes.every((hole) => hole.kind === 'id') && !arg.glob;
  return plain ? arg.value.replaceAll(HOLE, '0') : OPEN;
}

/** All words joined by blanks, for patterns that allow. For patterns that forbid, {@link best} is the right one. */
export const sure = (call: Call): string => call.args.map(sureWord).join(' ');

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
