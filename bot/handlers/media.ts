import { cleanBody } from '../../core/approvals/words/clean.ts';
import { asId, type TurnId } from '../../core/ids.ts';
import { answerTo, heard } from '../cards/replies.ts';
import { rich } from '../cards/rich.ts';
import type { MessageContent } from './content.ts';
import { answer, botNames, type AnswerPlace, type HandlerContext } from './context.ts';
import { turnOfMessage } from './task-room.ts';

/** What a message that is no text is called in the answer to it. */
const KINDS: Readonly<Record<string, string>> = {
  'm.audio': 'voice and audio messages',
  'm.image': 'pictures',
  'm.video': 'videos',
  'm.file': 'files',
  'm.location': 'locations',
};

/** A client wants to compare emojis, so that its user can mark the bot as verified. */
const VERIFICATION = 'm.key.verification.request';
const NO_EMOJIS =
  'I cannot compare emojis, so you cannot verify me. You need not: what is said here is encrypted all the same.';

/** A message as it is worked on: its words, and the context with what came with them. */
export interface TakenIn {
  readonly context: HandlerContext;
  readonly text: string;
}

/**
 * Takes in a recording, a picture or a file, which was read before (C16): its words are those that were spoken, or the
 * caption. Undefined for what cannot be taken in: the operator was told why.
 */
export async function takeIn(
  context: HandlerContext,
  message: MessageContent,
): Promise<TakenIn | undefined> {
  const { media } = context.event;
  if (message.msgtype === VERIFICATION) {
    await answer(context, answerTo(rich`${NO_EMOJIS}`), await placeOf(context, message));
    return undefined;
  }
  if (media === undefined) {
    const kind = KINDS[message.msgtype] ?? 'messages of this kind';
    await refuse(context, message, `I cannot take in ${kind} here.`);
    return undefined;
  }
  switch (media.kind) {
    case 'refused':
      await refuse(context, message, media.why);
      return undefined;
    case 'spoken':
      return {
        context: { ...context, spoken: true, attachments: [media.attachment] },
        text: cleanBody(media.words, botNames(context, message)) || media.words,
      };
    case 'attached': {
      const { attachment } = media;
      const own = attachment.kind === 'picture' ? '(a picture)' : '(a file)';
      return {
        context: { ...context, attachments: [attachment] },
        text: cleanBody(message.caption, botNames(context, message)) || own,
      };
    }
  }
}

/** Shows the operator what was understood of a recording, where its work goes on. */
export async function sayHeard({ context, text }: TakenIn, message: MessageContent): Promise<void> {
  const { unit, event } = context;
  // The recording may have become the root of a turn of its own.
  const opened = await unit.db.turn.findUnique({
    where: { rootEvent: event.eventId },
    select: { id: true },
  });
  const place =
    opened === null || event.room.kind !== 'task'
      ? await placeOf(context, message)
      : { turnId: asId<TurnId>(opened.id) };
  await answer(context, heard(text), place);
}

async function refuse(
  context: HandlerContext,
  message: MessageContent,
  why: string,
): Promise<void> {
  await answer(
    context,
    answerTo(rich`${why}`, rich`Nothing was done with this one. Please write it as text.`),
    await placeOf(context, message),
  );
}

async function placeOf(context: HandlerContext, message: MessageContent): Promise<AnswerPlace> {
  const turnId = await turnOfMessage(context, message);
  return {
    turnId: turnId ?? undefined,
    rootEvent: turnId === null ? (message.threadRoot ?? undefined) : undefined,
  };
}
