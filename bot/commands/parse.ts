import { CommandError, usage, type CommandStatement } from './command.ts';

/** A line that begins with `!`, taken apart. */
export interface CommandLine {
  /** In lower case, without the `!`. */
  readonly name: string;
  /** What stands behind the name. */
  readonly rest: string;
}

/** Takes a line that begins with `!` apart; a line break counts as a space. */
export function commandLine(text: string): CommandLine {
  const match = /^!\s*(\S*)\s*([\s\S]*)$/.exec(text.trim());
  return { name: (match?.[1] ?? '').toLowerCase(), rest: (match?.[2] ?? '').trim() };
}

/** Reads the arguments that a command takes. Throws `CommandError` that says what is missing or too much, and what is allowed. */
export function readArguments(command: CommandStatement, rest: string): Record<string, string> {
  const args: Record<string, string> = {};
  let left = rest;
  for (const argument of command.takes) {
    if (left === '') {
      if (argument.required) {
        throw new CommandError(
          `!${command.name} needs ${argument.name}: ${argument.what}.`,
          `Write: ${usage(command)}`,
        );
      }
      continue;
    }
    if (argument.rest === true) {
      args[argument.name] = left;
      left = '';
      continue;
    }
    const [word = '', ...others] = left.split(/\s+/);
    args[argument.name] = word;
    left = others.length === 0 ? '' : left.slice(word.length).trimStart();
  }
  if (left !== '') {
    throw new CommandError(
      command.takes.length === 0
        ? `!${command.name} takes nothing behind it (given: “${left.slice(0, 60)}”).`
        : `!${command.name} does not take “${left.slice(0, 60)}”.`,
      `Write: ${usage(command)}`,
    );
  }
  return args;
}

/** The name that was probably meant by one that is not known: a beginning of it, or at most two letters away. */
export function nearestName(name: string, names: readonly string[]): string | undefined {
  const begun = names.find(
    (known) => name.length >= 2 && (known.startsWith(name) || name.startsWith(known)),
  );
  if (begun !== undefined) return begun;
  let best: string | undefined;
  let bestDistance = 3;
  for (const known of names) {
    const distance = editDistance(name.slice(0, 20), known);
    if (distance < bestDistance) [best, bestDistance] = [known, distance];
  }
  return best;
}

/** How many letters must be put in, taken out, exchanged or swapped with their neighbour to make one word of the other. */
function editDistance(a: string, b: string): number {
  let before: number[] = [];
  let last = Array.from({ length: b.length + 1 }, (_, index) => index);
  for (let i = 1; i <= a.length; i++) {
    const row = [i];
    for (let j = 1; j <= b.length; j++) {
      const same = a[i - 1] === b[j - 1] ? 0 : 1;
      let least = Math.min((row[j - 1] ?? 0) + 1, (last[j] ?? 0) + 1, (last[j - 1] ?? 0) + same);
      if (i > 1 && j > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1]) {
        least = Math.min(least, (before[j - 2] ?? 0) + 1);
      }
      row.push(least);
    }
    [before, last] = [last, row];
  }
  return last[b.length] ?? 0;
}
