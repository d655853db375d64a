import { asId, type SessionId } from '../../core/ids.ts';
import { reviewTask } from '../../core/tasks/review.ts';
import { cardOf, fitting } from '../cards/card.ts';
import { list, para, rich, strong } from '../cards/rich.ts';
import { count, label, slug } from '../cards/words.ts';
import { TASK_ARGUMENT, type Command } from './command.ts';

const MOST_TOOLS = 8;

/** `!review`: how a task went, and what to do better (K12). */
export const reviewCommand: Command = {
  name: 'review',
  takes: [TASK_ARGUMENT],
  does: 'Reviews how a task went: calls by tool, what held it up, and what to do better.',
  needs: 'viewer',
  async run({ context: { unit }, task }) {
    const session = await task();
    const review = await reviewTask(unit.db, asId<SessionId>(session.id));
    const total = review.calls.reduce((sum, call) => sum + call.count, 0);
    const tools = review.calls
      .slice(0, MOST_TOOLS)
      .map((call) =>
        call.failed === 0
          ? rich`${slug(call.tool)} ${call.count}`
          : rich`${slug(call.tool)} ${call.count}, ${call.failed} failed`,
      );
    const advice =
      review.advice.length === 0
        ? [rich`Nothing stood out.`]
        : review.advice.map((line) => rich`${label(line, 240)}`);
    return fitting(
      [advice.length, 3].map(
        (most) => () =>
          cardOf([
            para(
              strong(rich`Review of ${label(review.objective ?? `task ${review.shortId}`, 80)}`),
              rich`${review.status.replaceAll('_', ' ')}${review.outcome === null ? '' : `, ${review.outcome}`} · ${count(total, 'call')}`,
            ),
            list(tools),
            para(strong('What to do better')),
            list(advice.slice(0, most)),
          ]),
      ),
    );
  },
};
