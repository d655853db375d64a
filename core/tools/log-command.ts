import { UNIT_NAME } from '../executions/actions.ts';
import { shellWord } from '../text/shell-word.ts';

/** What is looked through for a text, newest lines first, before the last ones are taken. */
const SEARCHED_LINES = 20_000;

/** Which log, and what of it. Exactly one of `unit` and `file`. */
export interface LogRequest {
  readonly unit?: string | undefined;
  /** An absolute path. */
  readonly file?: string | undefined;
  readonly lines: number;
  /** A text that a line must contain, in any case; not a pattern. */
  readonly grep?: string | undefined;
}

/**
 * The command that shows the last lines of a log. What comes from outside stands in it as quoted words after `--` or as an
 * option's value, so it cannot become another command or option (Z3). It is judged like any other: a key's path stays destructive.
 */
export function logCommand({ unit, file, lines, grep }: LogRequest): string {
  const taken = grep === undefined ? lines : SEARCHED_LINES;
  const source =
    unit === undefined
      ? `tail -n ${taken} -- ${shellWord(file ?? '')}`
      : `journalctl --no-pager --quiet -o short-iso -n ${taken} -u ${unitWord(unit)}`;
  if (grep === undefined) return source;
  return `${source} | grep -F -i -e${shellWord(grep)} | tail -n ${lines}`;
}

function unitWord(unit: string): string {
  if (!UNIT_NAME.test(unit)) throw new RangeError(`not a unit name: ${unit}`);
  return shellWord(unit);
}
