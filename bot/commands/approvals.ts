import { asId, type SessionId } from '../../core/ids.ts';
import { cardOf, fitting } from '../cards/card.ts';
import { answerTo, waitingLine } from '../cards/replies.ts';
import { list, para, rich, strong, type Rich } from '../cards/rich.ts';
import { clock } from '../cards/view.ts';
import { count } from '../cards/words.ts';
import { waitingName, waitingQuestion, type WaitingThing } from '../projector/waiting-name.ts';
import { bringBack } from '../rooms/bring-back.ts';
import { TASK_ARGUMENT, type Command } from './command.ts';

const MOST = 20;

/** `!approvals`: everything that waits for a person. */
export const approvalsCommand: Command = {
  name: 'approvals',
  takes: [TASK_ARGUMENT],
  does: 'Lists what waits for a decision or an answer, in all tasks or in one.',
  needs: 'viewer',
  async run({ context: { unit, view, operator }, taskIfAny }) {
    const session = await taskIfAny();
    const where = session === undefined ? {} : { sessionId: session.id };
    const include = { session: { select: { roomId: true } } } as const;
    const [approvals, questions] = await Promise.all([
      unit.db.approval.findMany({
        where: { ...where, status: 'pending' },
        orderBy: { createdAt: 'asc' },
        take: MOST,
        include,
      }),
      unit.db.question.findMany({
        where: { ...where, status: 'open' },
        orderBy: { createdAt: 'asc' },
        take: MOST,
        include,
      }),
    ]);
    const waitsIn = [...approvals, ...questions].flatMap(({ sessionId }) => sessionId ?? []);
    for (const sessionId of new Set(waitsIn)) {
      await bringBack(unit, asId<SessionId>(sessionId), [operator.userId]);
    }
    const things = await Promise.all([
      ...approvals.map(({ id, session: of }) => waitingName(unit.db, of ?? { roomId: null }, id)),
      ...questions.map(({ id, session: of }) => waitingQuestion(unit.db, of, id)),
    ]);
    const lines = things
      .filter((thing) => thing !== undefined)
      .map((thing): Rich => rich`${waitingLine(thing.name)}${until(thing)}`);
    if (lines.length === 0) return answerTo(rich`Nothing waits for you.`);
    return fitting(
      [MOST * 2, 8].map(
        (most) => () =>
          cardOf([
            para(strong(rich`${count(lines.length, 'thing waits', 'things wait')} for a person`)),
            list(lines.slice(0, most)),
            lines.length > most ? para(rich`and ${lines.length - most} more`) : undefined,
            para(rich`Decide on the card, or with !approve and !deny and the id.`),
          ]),
      ),
    );

    function until(thing: WaitingThing): string {
      return thing.until === null ? '' : ` · until ${clock(thing.until, view)}`;
    }
  },
};
