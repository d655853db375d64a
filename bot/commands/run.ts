import type { Session } from '../../core/db/rows.ts';
import { NomosError } from '../../core/errors.ts';
import { roleCovers } from '../../core/operators.ts';
import { answerTo } from '../cards/replies.ts';
import { rich } from '../cards/rich.ts';
import type { Card } from '../cards/card.ts';
import type { MessageContent } from '../handlers/content.ts';
import {
  answer,
  answerWithPicture,
  sessionOf,
  type HandlerContext,
  type PictureAnswer,
} from '../handlers/context.ts';
import { turnOfMessage } from '../handlers/task-room.ts';
import { CommandError, type Command, type CommandCall } from './command.ts';
import { helpCard, HELP_STATEMENT, unknownCommand } from './help.ts';
import { COMMANDS } from './index.ts';
import { commandLine, readArguments } from './parse.ts';

/** Carries out a command and answers where it was written: in the lobby, in a task's room, or in a thread (C12). */
export async function runCommand(
  context: HandlerContext,
  message: MessageContent,
  text: string,
): Promise<void> {
  const turnId = await turnOfMessage(context, message);
  const outcome = await outcomeOf(context, text, turnId ?? undefined);
  if (outcome === undefined) return;
  const place = {
    turnId: turnId ?? undefined,
    rootEvent: turnId === null ? (message.threadRoot ?? undefined) : undefined,
  };
  if ('png' in outcome) await answerWithPicture(context, outcome, place);
  else await answer(context, outcome, place);
}

async function outcomeOf(
  context: HandlerContext,
  text: string,
  turnId: CommandCall['turnId'],
): Promise<Card | PictureAnswer | undefined> {
  try {
    const { name, rest } = commandLine(text);
    if (name === '' || name === 'help') {
      return helpCard(COMMANDS, readArguments(HELP_STATEMENT, rest)['command']);
    }
    const command = COMMANDS.find((one) => one.name === name);
    if (command === undefined) {
      throw unknownCommand(name, ['help', ...COMMANDS.map((one) => one.name)]);
    }
    checkRole(context, command);
    const args = readArguments(command, rest);
    const taskIfAny = async (): Promise<Session | undefined> => namedTask(context, args['task']);
    return await command.run({
      context,
      args,
      turnId,
      taskIfAny,
      async task() {
        const found = await taskIfAny();
        if (found !== undefined) return found;
        throw new CommandError(
          `!${name} needs to know which task.`,
          `Write !${name} and the task’s short id here, or !${name} in the task’s room. !tasks lists them.`,
        );
      },
    });
  } catch (error) {
    // What the operator can mend is told here; anything else is the dispatcher's to try again.
    if (!(error instanceof NomosError) || error.fault !== 'operator') throw error;
    return answerTo(
      rich`${error.message}`,
      error.hint === undefined ? undefined : rich`${error.hint}`,
    );
  }
}

function checkRole({ operator }: HandlerContext, command: Command): void {
  if (roleCovers(operator.role, command.needs)) return;
  throw new CommandError(
    `You are ${operator.role === 'approver' || operator.role === 'admin' ? 'an' : 'a'} ${operator.role}; !${command.name} needs the role ${command.needs}.`,
  );
}

async function namedTask(
  { unit, event }: HandlerContext,
  shortId: string | undefined,
): Promise<Session | undefined> {
  if (shortId !== undefined) {
    const folded = shortId.toLowerCase().replace(/^task:/, '');
    const session = await unit.db.session.findUnique({ where: { shortId: folded } });
    if (session !== null) return session;
    throw new CommandError(`There is no task “${shortId.slice(0, 20)}”.`, '!tasks lists them.');
  }
  const own = sessionOf(event);
  if (own === undefined) return undefined;
  return (await unit.db.session.findUnique({ where: { id: own } })) ?? undefined;
}
