import { cardOf, type Card } from '../cards/card.ts';
import { code, list, para, rich, strong } from '../cards/rich.ts';
import type { Command } from './command.ts';
import { CommandError, usage } from './command.ts';
import { nearestName } from './parse.ts';

/** The statement of `!help` itself. */
export const HELP_STATEMENT = {
  name: 'help',
  takes: [{ name: 'command', what: 'a command’s name', required: false }],
  does: 'Lists the commands, or tells of one.',
  needs: 'viewer',
} as const;

/** The help, made from the commands' own statements: all of them, or one. Throws `CommandError` for an unknown one. */
export function helpCard(commands: readonly Command[], name?: string): Card {
  const all = [HELP_STATEMENT, ...commands];
  if (name === undefined) {
    return cardOf([
      para(
        strong('Write what you want done in the lobby: each task gets a room of its own.'),
        rich`On what waits tap ✅ or ❌, or reply “yes”, “no, because …”, or “I confirm”.`,
      ),
      list(all.map((command) => rich`${code(usage(command))} ${command.does}`)),
    ]);
  }
  const wanted = name.replace(/^!/, '').toLowerCase();
  const command = all.find((one) => one.name === wanted);
  if (command === undefined)
    throw unknownCommand(
      wanted,
      all.map((one) => one.name),
    );
  return cardOf([
    para(strong(code(usage(command))), command.does),
    list(command.takes.map((argument) => rich`${code(argument.name)}: ${argument.what}`)),
    command.needs === 'viewer' ? undefined : para(rich`Needs the role ${command.needs}.`),
  ]);
}

/** The refusal of a name that no command has, with the one that was probably meant. */
export function unknownCommand(name: string, names: readonly string[]): CommandError {
  const near = nearestName(name, names);
  return new CommandError(
    `There is no command !${name.slice(0, 30)}.`,
    near === undefined ? '!help lists them.' : `Did you mean !${near}? !help lists them all.`,
  );
}
