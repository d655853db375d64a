import type { Session } from '../../core/db/rows.ts';
import { cardOf, fitting } from '../cards/card.ts';
import { MARK_SIGN, markOf, titleOf } from '../cards/mark.ts';
import { answerTo } from '../cards/replies.ts';
import { link, list, para, rich, strong, type Rich } from '../cards/rich.ts';
import { roomLink, statusLine } from '../cards/task.ts';
import type { View } from '../cards/view.ts';
import { count, slug } from '../cards/words.ts';
import type { Reader } from '../../core/db/database.ts';
import { roomIdOf } from '../handlers/context.ts';
import { taskState } from '../projector/load-task.ts';
import { CommandError, type Command } from './command.ts';

const MOST = 20;

/** `!tasks`: the task board. */
export const tasksCommand: Command = {
  name: 'tasks',
  takes: [{ name: 'all', what: '“all” lists ended ones too', required: false }],
  does: 'Lists the open tasks: what each does or waits for.',
  needs: 'viewer',
  async run({ context: { unit, view }, args }) {
    const all = args['all']?.toLowerCase();
    if (all !== undefined && all !== 'all') {
      throw new CommandError(`!tasks takes “all” or nothing (given: “${all.slice(0, 20)}”).`);
    }
    const where = { archivedAt: null, ...(all === undefined ? { endedAt: null } : {}) };
    const [sessions, total] = await Promise.all([
      unit.db.session.findMany({ where, orderBy: { lastActivityAt: 'desc' }, take: MOST }),
      unit.db.session.count({ where }),
    ]);
    if (sessions.length === 0) {
      return answerTo(
        rich`No ${all === undefined ? 'open ' : ''}tasks. Write here what you want done.`,
      );
    }
    const lines = await Promise.all(sessions.map((session) => taskLine(unit.db, session, view)));
    return fitting(
      [MOST, 8].map((most) => () => {
        const rest = total - Math.min(most, lines.length);
        return cardOf([
          para(strong(count(total, all === undefined ? 'open task' : 'task'))),
          list(lines.slice(0, most)),
          rest > 0 ? para(rich`and ${rest} more`) : undefined,
        ]);
      }),
    );
  },
};

async function taskLine(db: Reader, session: Session, view: View): Promise<Rich> {
  const state = await taskState(db, session, view);
  const roomId = roomIdOf(session.roomId);
  const title = titleOf(state);
  const shown = roomId === null ? rich`${title}` : link(roomLink(roomId), title);
  return rich`${MARK_SIGN[markOf(state)]} ${shown} (${slug(session.shortId)}) · ${statusLine(state)}`;
}
