import { cleanBody } from '../../core/approvals/words/clean.ts';
import { runCommand } from '../commands/run.ts';
import { readMessage, type MessageContent } from './content.ts';
import { botNames, sessionOf, type HandlerContext } from './context.ts';
import { onEdit } from './edit.ts';
import { inLobby } from './lobby.ts';
import { sayHeard, takeIn } from './media.ts';
import { inTaskRoom } from './task-room.ts';

const TEXT_TYPES: ReadonlySet<string> = new Set(['m.text', 'm.emote']);

/** A message of an operator's, in whatever room. */
export async function onMessage(context: HandlerContext): Promise<void> {
  const { event } = context;
  const message = readMessage(event.content);
  if (message === undefined || event.room.kind === 'space') return;
  // Notices come from bots; to answer them would be talking among machines.
  if (message.msgtype === 'm.notice') return;
  if (message.edits !== null)
    return TEXT_TYPES.has(message.msgtype) ? onEdit(context, message) : undefined;
  if (event.room.kind === 'other' && !isForBot(context, message)) return;
  if (!TEXT_TYPES.has(message.msgtype)) {
    const taken = await takeIn(context, message);
    if (taken === undefined) return;
    await toRoom(taken.context, message, taken.text);
    if (taken.context.spoken === true) await sayHeard(taken, message);
    return;
  }
  const text = cleanBody(message.body, botNames(context, message));
  if (text === '') return;
  // Only what was typed is a command.
  if (text.startsWith('!')) await runCommand(context, message, text);
  else await toRoom(context, message, text);
}

async function toRoom(
  context: HandlerContext,
  message: MessageContent,
  text: string,
): Promise<void> {
  const sessionId = sessionOf(context.event);
  if (sessionId === undefined) await inLobby(context, message, text);
  else await inTaskRoom(context, sessionId, message, text);
}

/** In a room that is neither lobby nor task the bot listens only when it is called. */
function isForBot(context: HandlerContext, message: MessageContent): boolean {
  if (message.body.trimStart().startsWith('!')) return true;
  if (message.mentions.includes(context.botUserId)) return true;
  return cleanBody(message.body, botNames(context, message)) !== cleanBody(message.body);
}
