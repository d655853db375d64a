import { cleanBody } from '../../core/approvals/words/clean.ts';
import { answerTo } from '../cards/replies.ts';
import { rich } from '../cards/rich.ts';
import { runCommand } from '../commands/run.ts';
import { readMessage, type MessageContent } from './content.ts';
import { answer, botNames, sessionOf, type HandlerContext } from './context.ts';
import { onEdit } from './edit.ts';
import { inLobby } from './lobby.ts';
import { inTaskRoom, turnOfMessage } from './task-room.ts';

const TEXT_TYPES: ReadonlySet<string> = new Set(['m.text', 'm.emote']);

/** What a message that is no text is called in the answer to it. */
const KINDS: Readonly<Record<string, string>> = {
  'm.audio': 'voice and audio messages',
  'm.image': 'pictures',
  'm.video': 'videos',
  'm.file': 'files',
  'm.location': 'locations',
};

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
  if (!TEXT_TYPES.has(message.msgtype)) return sayUnsupported(context, message);

  const text = cleanBody(message.body, botNames(context, message));
  if (text === '') return;
  if (text.startsWith('!')) {
    await runCommand(context, message, text);
    return;
  }
  const sessionId = sessionOf(event);
  if (sessionId === undefined) await inLobby(context, message, text);
  else await inTaskRoom(context, sessionId, message, text);
}

/** In a room that is neither lobby nor task the bot listens only when it is called. */
function isForBot(context: HandlerContext, message: MessageContent): boolean {
  if (message.body.trimStart().startsWith('!')) return true;
  if (message.mentions.includes(context.botUserId)) return true;
  return cleanBody(message.body, botNames(context, message)) !== cleanBody(message.body);
}

async function sayUnsupported(context: HandlerContext, message: MessageContent): Promise<void> {
  const kind = KINDS[message.msgtype] ?? 'messages of this kind';
  const turnId = await turnOfMessage(context, message);
  await answer(
    context,
    answerTo(
      rich`I cannot take in ${kind} yet, so nothing was done with this one. Please write it as text.`,
    ),
    {
      turnId: turnId ?? undefined,
      rootEvent: turnId === null ? (message.threadRoot ?? undefined) : undefined,
    },
  );
}
