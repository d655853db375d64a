import type { Card } from './card.ts';
import { answerTo } from './replies.ts';
import { rich } from './rich.ts';
import { count, nameOf } from './words.ts';

/** The kill switch as it was thrown or reset, and what waits since then (P7). `by` is a user id; null: nobody is known. */
export function switchCard(state: { paused: boolean; by: string | null; waiting: number }): Card {
  const { paused, waiting } = state;
  const by = nameOf(state.by);
  if (paused) {
    return answerTo(
      rich`⏸️ Paused by ${by}. Every command waits for approval now, even reads, and all grants are closed. !unpause ends it.`,
    );
  }
  return answerTo(
    rich`▶️ Unpaused by ${by}. What is asked for from now on runs as before.`,
    waiting === 0
      ? undefined
      : rich`${count(waiting, 'thing', 'things')} asked for until now still ${waiting === 1 ? 'waits' : 'wait'} for you, reads too: !approvals lists ${waiting === 1 ? 'it' : 'them'}.`,
  );
}
