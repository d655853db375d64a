import { cleanBody } from '../../core/approvals/words/clean.ts';
import { editMessage } from '../../core/tasks/messages.ts';
import { answerTo } from '../cards/replies.ts';
import { rich } from '../cards/rich.ts';
import { runCommand } from '../commands/run.ts';
import { readMessage, type MessageContent } from './content.ts';
import { answer, botNames, sessionOf, type HandlerContext } from './context.ts';
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
  if (message.edits !== null) return onEdit(context, message);
  if (event.room.kind === 'other' && !isForBot(context, message)) return;
  if (!TEXT_TYPES.has(message.msgtype)) return sayUnsupported(context, message);

  const text = cleanBody(message.body, botNames(context));
  if (text === '') return;
  if (text.startsWith('!')) {
    await runCommand(context, message, text);
    return;
  }
  const sessionId = sessionOf(event);
  if (sessionId === undefined) await inLobby(context, message, text);
  else await inTaskRoom(context, sessionId, message, text);
}

/** The new words of a message (T13). An edit never decides anything: it changes what the agent reads, or is read as well. */
async function onEdit(context: HandlerContext, message: MessageContent): Promise<void> {
  const { unit, event, operator } = context;
  const text = cleanBody(message.body, botNames(context));
  if (message.edits === null || text === '' || !TEXT_TYPES.has(message.msgtype)) return;
  const stored = await unit.db.matrixInbox.findUnique({
    where: { eventId: message.edits },
    select: { roomId: true },
  });
  if (stored?.roomId !== event.room.roomId) return;
  await editMessage(unit, {
    eventId: message.edits,
    editEventId: event.eventId,
    text,
    sender: operator.userId,
  });
}

/** In a room that is neither lobby nor task the bot listens only when it is called. */
function isForBot(context: HandlerContext, message: MessageContent): boolean {
  if (message.body.trimStart().startsWith('!')) return true;
  if (message.mentions.includes(context.botUserId)) return true;
  return cleanBody(message.body, botNames(context)) !== cleanBody(message.body);
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
