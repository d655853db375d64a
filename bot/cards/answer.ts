import type { UserId } from '../../core/ids.ts';
import { headBytes } from '../../core/text/clip.ts';
import { cardOf, fitting, type Card } from './card.ts';
import { markdown } from './markdown.ts';
import { para, rich, type Rich } from './rich.ts';
import { firstLine, label } from './words.ts';

/** What an answer that is still being written shows of itself at its end. */
const GROWING = '…';

// From the whole text down to what fits in any case; the rest is attached as a file.
const BUDGETS = [16_000, 8_000, 4_000, 2_000] as const;

/** Whether an answer is so long that a card cannot show all of it. */
export function answerIsLong(text: string): boolean {
  return answerCard({ text, growing: false }).body.endsWith(TOO_LONG.text);
}

const TOO_LONG: Rich = rich`… the answer is longer: all of it is attached as a file.`;

/** Calls who must go on after an answer that was streamed (C14): its last form is an edit, and an edit rings nowhere. */
export function callCard(text: string, callFor: readonly UserId[]): Card {
  const words = firstLine(markdown(headBytes(text, 2_000)).text);
  const delivery = { mentions: callFor, msgtype: 'm.text' } as const;
  return cardOf([para(rich`👉 Your turn: ${label(words, 120)}`)], delivery);
}

/** The agent's answer, whole or as far as it has come (C13). Undefined mentions call nobody. */
export function answerCard(
  answer: { text: string; growing: boolean },
  callFor: readonly UserId[] = [],
): Card {
  const { text, growing } = answer;
  const delivery = { mentions: callFor, msgtype: 'm.text' } as const;
  const forms = [...new Set(BUDGETS.map((budget) => headBytes(text, budget)))].map((head) => {
    const whole = head.length === text.length;
    const end = !whole ? para(TOO_LONG) : growing ? para(GROWING) : undefined;
    return () => cardOf([markdown(head), end], delivery);
  });
  // Even its shortest form grows beyond the limit where every character must be written as an escape.
  return fitting([
    ...forms,
    () => cardOf([markdown(headBytes(text, 400)), para(TOO_LONG)], delivery),
  ]);
}
