import { asId, type RoomId, type SessionId } from '../../core/ids.ts';
import { archiveTask } from '../../core/tasks/archive.ts';
import { answerTo } from '../cards/replies.ts';
import { rich } from '../cards/rich.ts';
import { slug } from '../cards/words.ts';
import { setState } from '../outbox/enqueue.ts';
import { roomOfKind } from '../rooms/room-state.ts';
import { TASK_ARGUMENT, type Command } from './command.ts';

/** `!archive`: puts a task away and leaves its room (T11). */
export const archiveCommand: Command = {
  name: 'archive',
  takes: [TASK_ARGUMENT],
  does: 'Puts a task away: the bot leaves its room. What it learned, ran and recorded stays.',
  needs: 'approver',
  async run({ context: { unit, operator }, task }) {
    const session = await task();
    const outcome = await archiveTask(unit, {
      sessionId: asId<SessionId>(session.id),
      by: operator.userId,
    });
    if (outcome === 'already')
      return answerTo(rich`Task ${slug(session.shortId)} is archived already.`);
    const space = await roomOfKind(unit.db, 'space');
    if (space !== undefined && session.roomId !== null) {
      await setState(unit, {
        to: { room: asId<RoomId>(space) },
        eventType: 'm.space.child',
        stateKey: session.roomId,
        state: {},
      });
    }
    return answerTo(
      rich`📦 Task ${slug(session.shortId)} is archived; I leave its room. You can leave it as well.`,
    );
  },
};
