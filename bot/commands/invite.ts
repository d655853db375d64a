import { asId, type RoomId } from '../../core/ids.ts';
import { titleOf } from '../cards/mark.ts';
import { answerTo } from '../cards/replies.ts';
import { link, rich } from '../cards/rich.ts';
import { roomLink } from '../cards/task.ts';
import { slug } from '../cards/words.ts';
import { roomIdOf } from '../handlers/context.ts';
import { setState } from '../outbox/enqueue.ts';
import { roomOfKind } from '../rooms/room-state.ts';
import { CommandError, type Command } from './command.ts';

/** `!invite`: the way back for an operator who left: the rooms are for invited people only. */
export const inviteCommand: Command = {
  name: 'invite',
  takes: [
    {
      name: 'task',
      what: 'short id of a task; without it the lobby and the space',
      required: false,
    },
  ],
  does: 'Invites you again, to a task’s room or to the lobby, after you left it.',
  needs: 'viewer',
  async run({ context: { unit, operator }, args, task }) {
    const invite = (roomId: RoomId): Promise<void> =>
      setState(unit, {
        to: { room: roomId },
        eventType: 'm.room.member',
        stateKey: operator.userId,
        state: { membership: 'invite' },
      });
    if (args['task'] === undefined) {
      for (const kind of ['space', 'lobby'] as const) {
        const roomId = await roomOfKind(unit.db, kind);
        if (roomId !== undefined) await invite(roomId);
      }
      return answerTo(rich`You are invited to the lobby and its space, if you are not there.`);
    }
    const session = await task();
    const roomId = session.archivedAt === null ? roomIdOf(session.roomId) : null;
    if (roomId === null) {
      throw new CommandError(
        session.archivedAt === null
          ? `Task ${session.shortId} has no room yet.`
          : `Task ${session.shortId} is archived: I have left its room.`,
      );
    }
    await invite(asId<RoomId>(roomId));
    const title = titleOf({ shortId: session.shortId, title: session.goal ?? session.title });
    return answerTo(
      rich`You are invited to ${link(roomLink(roomId), title)} (${slug(session.shortId)}), if you are not there.`,
    );
  },
};
