import type { UserId } from '../../core/ids.ts';
import { cardOf, type Card } from './card.ts';
import { para, rich, strong } from './rich.ts';
import type { ErrorState } from './state.ts';
import { clock, type View } from './view.ts';
import { label, nameOf, slug } from './words.ts';

/** A failure that stays in view until somebody dealt with it (C7): what failed, how the task stands, what to do. */
export function errorCard(error: ErrorState, view: View, callFor: readonly UserId[] = []): Card {
  const { dealtWith } = error;
  const todo = [
    error.hint === null ? '' : label(error.hint, 400),
    error.retry
      ? 'Tap 🔁 to try again.'
      : error.taskState === null
        ? 'Tap ✅ once it is dealt with.'
        : '',
  ].filter((words) => words !== '');
  return cardOf(
    [
      para(
        strong(rich`${dealtWith === null ? '⚠️' : '☑️'} ${label(error.message, 400)}`),
        error.taskState === null ? undefined : rich`The task: ${label(error.taskState, 200)}`,
      ),
      dealtWith === null
        ? para(...todo)
        : para(rich`${dealtWithWords(error, dealtWith.by)}, ${clock(dealtWith.at, view)}`),
      para(rich`${faultWords(error.fault)} · ${slug(error.code)}`),
    ],
    dealtWith === null ? { mentions: callFor, msgtype: 'm.text' } : {},
  );
}

function dealtWithWords({ retry, taskState }: ErrorState, by: UserId | null): string {
  if (by === null) return 'Dealt with';
  if (retry) return `🔁 ${nameOf(by)} tried again`;
  return taskState === null ? `Dealt with, says ${nameOf(by)}` : `${nameOf(by)} went on`;
}

/** Where the fault lies, so that it is clear who must act. */
function faultWords(fault: string): string {
  switch (fault) {
    case 'operator':
      return 'Something in the request or the configuration';
    case 'model':
      return 'The model or its endpoint';
    case 'target':
      return 'The target';
    default:
      return 'Nomos or one of its services';
  }
}
