import type { DecisionMeans } from '../../core/db/rows.ts';
import { currentRules } from '../../core/policy/rule-store.ts';
import type { Card } from '../cards/card.ts';
import { answerTo } from '../cards/replies.ts';
import { rich, strong } from '../cards/rich.ts';
import { CONFIRMATION } from '../cards/words.ts';
import type { HandlerContext } from './context.ts';

/**
 * Why an operator's word cannot decide: it could be read only when things had moved on, or decisions are strict here (A20) and
 * it was a tap, was spoken, came in clear, came from a device that its owner has not signed or from an account whose signing keys
 * were replaced, or answers something that the homeserver alone says it answers.
 */
export type Distrust =
  | 'late'
  | 'tap'
  | 'spoken'
  | 'in_clear'
  | 'unsigned'
  | 'identity'
  | 'relation';

/**
 * What speaks against an operator's word on something of a task; undefined when nothing does. Strict decisions are demanded
 * where the word is said in an encrypted room, and where what it is about is shown in one.
 */
export async function distrustOf(
  { unit, event, spoken }: HandlerContext,
  sessionId: string | null,
  means: DecisionMeans,
): Promise<Distrust | undefined> {
  const { sealed } = event;
  // Words mean what stands there when they are written; a tap and an id say themselves what they mean.
  const inWords = means === 'word' || means === 'confirmation';
  if (sealed?.late === true && inWords) return 'late';
  if (currentRules().decisions !== 'strict') return undefined;
  const isSecret = event.room.encrypted || (await isEncryptedTask(unit.db, sessionId));
  if (!isSecret) return undefined;
  if (means === 'tap') return 'tap';
  // What a model heard is no message of a device of theirs.
  if (spoken === true) return 'spoken';
  if (sealed === null) return 'in_clear';
  if (sealed.identityChanged) return 'identity';
  if (!sealed.crossSigned) return 'unsigned';
  return sealed.relation || !inWords ? undefined : 'relation';
}

async function isEncryptedTask(
  db: HandlerContext['unit']['db'],
  sessionId: string | null,
): Promise<boolean> {
  if (sessionId === null) return false;
  const session = await db.session.findUnique({
    where: { id: sessionId },
    select: { roomId: true },
  });
  if (session === null || session.roomId === null) return false;
  const room = await db.matrixRoom.findUnique({ where: { roomId: session.roomId } });
  return room?.encrypted === true;
}

/** Says that nothing was decided, why, and what to write. */
export function distrustCard(
  distrust: Distrust,
  asked: { verdict: 'approve' | 'deny'; needsTyped: boolean; shortId: string | null },
): Card {
  const { verdict, needsTyped, shortId } = asked;
  const words = verdict === 'deny' ? 'no' : needsTyped ? CONFIRMATION : 'yes';
  const alone =
    shortId === null
      ? words
      : needsTyped && verdict === 'approve'
        ? `${words} ${shortId}`
        : `!${verdict} ${shortId}`;
  switch (distrust) {
    case 'late':
      return answerTo(
        rich`⌛ I could read this only now, so it decided nothing. Please write it again.`,
      );
    case 'tap':
      return answerTo(
        rich`🔒 A tap decides nothing here: reactions are not encrypted, and decisions are strict.`,
        rich`Reply to the card with: ${strong(words)}`,
      );
    case 'spoken':
      return answerTo(
        rich`🔒 Nothing was decided: spoken words pass through a model, and decisions are strict.`,
        rich`Reply to the card with: ${strong(words)}`,
      );
    case 'in_clear':
      return answerTo(
        rich`🔒 Nothing was decided: this message was not encrypted, and decisions are strict.`,
        rich`Write it in the task’s room, from a client that encrypts.`,
      );
    case 'unsigned':
      return answerTo(
        rich`🔒 Nothing was decided: your own account has not verified the device that this came from, and decisions are strict.`,
        rich`Verify this device in your client, then write it again.`,
      );
    case 'identity':
      return answerTo(
        rich`🔒 Nothing was decided: your account’s signing keys were replaced since I first saw them, and decisions are strict.`,
        rich`If that was you, whoever runs me confirms it there with ${strong('nomos trust')} and your Matrix id. Then write it again.`,
      );
    case 'relation':
      return answerTo(
        rich`🔒 Nothing was decided: which message you answer is not encrypted by your client, and decisions are strict.`,
        rich`Write this instead, as a message of its own: ${strong(alone)}`,
      );
  }
}
