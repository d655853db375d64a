/** Names of hosts: whoever looks one up tells it to a name server, so what is only known at run time must not be in it. */
import { changes, HOLE, shown } from '../model.ts';
import type { Arg, Finding, Input } from '../model.ts';

/** `10.0.0.$i`: an address by number asks no name server, and a plain word in it is its last part. */
const countedAddress = (arg: Arg): boolean =>
  /^\d{1,3}\.\d{1,3}\.\d{1,3}\.\0(:\d+)?$/.test(arg.value) && arg.holes[0]?.kind === 'id';

/** A word that is a plain name as a whole (`$h` out of a listing) is one that somebody gave a machine. */
const wholeName = (arg: Arg): boolean => arg.value === HOLE && arg.holes[0]?.kind === 'id';

/** What speaks against using words as names of hosts or addresses. */
export function sendsNames(program: string, words: readonly Arg[]): Finding[] {
  return words
    .filter((arg) => arg.value.includes(HOLE) && !countedAddress(arg) && !wholeName(arg))
    .map((arg) => changes(`${program} sends what is only known at run time: ${shown(arg)}`));
}

/** What speaks against a program that sends its standard input to another machine: all but text that stands in the command. */
export function sendsInput(program: string, input: Input): Finding[] {
  return input.from === 'none' || input.from === 'text' || input.fixed || input.rest
    ? []
    : [changes(`${program} sends what comes in on standard input to another machine`)];
}
