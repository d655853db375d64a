import type { UserId } from '../../core/ids.ts';
import type { Risk } from '../../core/policy/risk.ts';
import { headBytes } from '../../core/text/clip.ts';
import { cardOf, fitting, type Card } from './card.ts';
import { link, list, para, quote, rich, strong, type Part, type Rich } from './rich.ts';
import type { ApprovalState, CardLink } from './state.ts';
import { eventLink } from './task.ts';
import { clock, type View } from './view.ts';
import { CONFIRMATION, label, nameOf, RISK_MARK, slug } from './words.ts';

/** Something that waits, as an answer names it. */
export interface WaitingName {
  /** Null for a question, which has none. */
  readonly shortId: string | null;
  readonly label: string;
  readonly target: string | null;
  readonly risk: Risk | null;
  readonly link: CardLink;
}

/** A plain answer of the bot's to something an operator did. It calls nobody: the operator is there. */
export function answerTo(...lines: Array<Part | undefined>): Card {
  return cardOf([para(...lines)], { msgtype: 'm.notice' });
}

/** What was understood of a recording (C16): the words that are worked on, so that a mishearing is seen. */
export function heard(words: string): Card {
  return fitting(
    [4_000, 1_000, 300].map(
      (most) => () =>
        cardOf([para(rich`🎙️ I understood:`), quote(headBytes(words, most))], {
          msgtype: 'm.notice',
        }),
    ),
  );
}

/** A tap or a "yes" on something destructive: what to type (A3). Calls the operator, for whom it did not do what it seemed to. */
export function typedConfirmationHint(waiting: WaitingName, operator: UserId): Card {
  return cardOf(
    [
      para(
        rich`🔴 A tap or a “yes” is not enough for ${strong(label(waiting.label))}: it is destructive.`,
        rich`Reply to its card with: ${strong(CONFIRMATION)}`,
      ),
    ],
    { mentions: [operator], msgtype: 'm.text' },
  );
}

/** The decision came before (A7): what it was, whose, and when. */
export function alreadyDecided(
  was: Pick<ApprovalState, 'status' | 'decidedBy' | 'decidedAt'>,
  view: View,
): Card {
  const when = was.decidedAt === null ? '' : ` at ${clock(was.decidedAt, view)}`;
  const words: Record<ApprovalState['status'], string> = {
    pending: 'Still open',
    approved: `Already approved by ${nameOf(was.decidedBy)}${when}`,
    denied: `Already denied by ${nameOf(was.decidedBy)}${when}`,
    withdrawn: `The approval was already withdrawn by ${nameOf(was.decidedBy)}${when}`,
    expired: `Too late: it expired${when}. Nothing was run; ask again if it is still wanted`,
    cancelled: `It is no longer asked for${when}`,
  };
  return answerTo(rich`${words[was.status]}.`);
}

/** In the place of a card whose matter is asked for again: the new card is the one to decide on. */
export function askedAnew({ label: what, target }: WaitingName): Card {
  const where = target === null ? '' : ` · ${label(target, 40)}`;
  return answerTo(
    rich`↪️ Asked for again in a new card: ${label(what)}${where}.`,
    rich`What had allowed it ended before it started. This card decides nothing any more.`,
  );
}

/** Several things wait and the words fit all of them: nothing is granted (T15, A6). */
export function whichOne(waiting: readonly WaitingName[], destructive: boolean): Card {
  return cardOf([
    para(
      strong(
        waiting.length === 1
          ? rich`One thing waits here, and nothing was decided.`
          : rich`Which one? ${waiting.length} things wait here, so nothing was decided.`,
      ),
      destructive
        ? rich`Reply to the card you mean, or write “${CONFIRMATION}” with its id.`
        : rich`Reply to the card you mean, or tap ✅ or ❌ on it.`,
    ),
    list(waiting.slice(0, 10).map(waitingLine)),
  ]);
}

/** A partial assent ("the restart but not the upgrade") grants nothing (A5). */
export function partialAssent(waiting: readonly WaitingName[]): Card {
  return cardOf([
    para(
      strong(rich`I read that as a yes to a part, so nothing was decided.`),
      rich`Tap ✅ or ❌ on each card:`,
    ),
    list(waiting.slice(0, 10).map(waitingLine)),
  ]);
}

/** One of several people has agreed (A15). */
export function voteCounted(have: number, need: number, again: boolean): Card {
  return answerTo(
    again
      ? rich`You have agreed already, which counts once: ${have} of ${need} people. It still waits for ${need - have} more.`
      : rich`Counted: ${have} of ${need} people have agreed. It still waits for ${need - have} more.`,
  );
}

/** What waits is brought up once more before it expires (C14): a new message, since an edit rings nowhere. */
export function reminderCard(
  waiting: WaitingName,
  until: Date | null,
  view: View,
  callFor: readonly UserId[],
): Card {
  const time = until === null ? '' : ` It expires at ${clock(until, view)}.`;
  return cardOf(
    [
      para(
        strong(rich`⏰ Still waits for you: ${waitingLine(waiting)}`),
        rich`Decide on its card.${time}`,
      ),
    ],
    {
      mentions: callFor,
      msgtype: 'm.text',
    },
  );
}

/** A thing that waits as a line with a link to its card: `🟠 restart nginx · web-1 (k7f3q)`. */
export function waitingLine(waiting: WaitingName): Rich {
  const { roomId, eventId } = waiting.link;
  const words = label(waiting.label);
  const shown =
    roomId === null || eventId === null ? words : link(eventLink(roomId, eventId), words);
  const target = waiting.target === null ? '' : ` · ${label(waiting.target, 40)}`;
  const mark = waiting.risk === null ? '❔' : RISK_MARK[waiting.risk];
  const id = waiting.shortId === null ? '' : rich` (${slug(waiting.shortId)})`;
  return rich`${mark} ${shown}${target}${id}`;
}
