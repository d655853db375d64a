import type { Session } from '../../core/db/rows.ts';
import { NomosError } from '../../core/errors.ts';
import type { TurnId } from '../../core/ids.ts';
import type { Role } from '../../core/operators.ts';
import type { Card } from '../cards/card.ts';
import type { HandlerContext, PictureAnswer } from '../handlers/context.ts';

/** One argument of a command. */
export interface Argument {
  /** What it is called in the help, and the key under which the command gets it. */
  readonly name: string;
  /** What it is, in a few words. */
  readonly what: string;
  readonly required: boolean;
  /** Takes the rest of the line, spaces and all. Only for the last one. */
  readonly rest?: boolean;
}

/** What a command is called, takes and does. Parsing, help and refusals are all made from this. */
export interface CommandStatement {
  /** Without the `!`. */
  readonly name: string;
  readonly takes: readonly Argument[];
  /** One sentence for `!help`. */
  readonly does: string;
  /** The least role that may use it. */
  readonly needs: Role;
}

/** One use of a command. */
export interface CommandCall {
  readonly context: HandlerContext;
  /** By the arguments' names; those that were not given are absent. */
  readonly args: Readonly<Record<string, string>>;
  /** The turn whose thread it was written in. */
  readonly turnId: TurnId | undefined;
  /**
   * The task that is meant: the one of argument `task` (a short id), else the room's own. Throws `CommandError` that says what
   * to write.
   */
  task(): Promise<Session>;
  /** Likewise, but undefined where neither names one: then a command speaks of all tasks. */
  taskIfAny(): Promise<Session | undefined>;
}

/**
 * A command: its statement and what it does. The card or picture is its answer; without one the cards in the room say it all.
 */
export interface Command extends CommandStatement {
  run(call: CommandCall): Promise<Card | PictureAnswer | undefined>;
}

/** The argument that names a task. */
export const TASK_ARGUMENT: Argument = {
  name: 'task',
  what: 'short id of a task; in a task’s room its own if left out',
  required: false,
};

/** A command cannot be carried out as it was given: the message says what is allowed. */
export class CommandError extends NomosError {
  constructor(message: string, hint?: string) {
    super('command_invalid', 'operator', message, hint === undefined ? {} : { hint });
  }
}

/** How a command is written: `!status [task]`. */
export function usage({ name, takes }: CommandStatement): string {
  const args = takes.map((argument) =>
    argument.required ? `<${argument.name}>` : `[${argument.name}]`,
  );
  return [`!${name}`, ...args].join(' ');
}
