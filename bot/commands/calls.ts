import { formatDuration } from '../../core/text/duration.ts';
import { callWords } from '../cards/calls.ts';
import { cardOf, fitting, type Card } from '../cards/card.ts';
import { markOf } from '../cards/progress.ts';
import { answerTo } from '../cards/replies.ts';
import { list, para, rich, strong } from '../cards/rich.ts';
import type { CallState } from '../cards/state.ts';
import { count } from '../cards/words.ts';
import { callStates } from '../projector/load-pass.ts';
import { TASK_ARGUMENT, type Command } from './command.ts';

/** `!calls`: every tool call of a task, the newest last (C2). */
export const callsCommand: Command = {
  name: 'calls',
  takes: [TASK_ARGUMENT],
  does: 'Lists all tool calls of a task.',
  needs: 'viewer',
  async run({ context: { unit }, task }) {
    const session = await task();
    const calls = await callStates(unit.db, { sessionId: session.id });
    if (calls.length === 0) return answerTo(rich`No tool was called yet.`);
    return fitting([200, 60, 20].map((most) => () => callsCard(calls, most)));
  },
};

function callsCard(calls: readonly CallState[], most: number): Card {
  const shown = calls.slice(-most);
  const earlier = calls.length - shown.length;
  return cardOf([
    para(strong(count(calls.length, 'tool call'))),
    earlier > 0 ? para(rich`the last ${shown.length}; ${earlier} came before`) : undefined,
    list(
      shown.map((call) => {
        const took = call.durationMs === null ? '' : ` · ${formatDuration(call.durationMs)}`;
        return rich`${markOf(call)} ${callWords(call)}${took}`;
      }),
    ),
  ]);
}
