import type { RoomId, UserId } from '../../core/ids.ts';
import { cardOf, fitting, type Card } from './card.ts';
import { MARK_SIGN, MARK_WORDS, markOf, titleOf } from './mark.ts';
import { link, para, quote, rich, say, strong, type Rich } from './rich.ts';
import type { TaskState } from './state.ts';
import { roomLink } from './task.ts';
import { nameOf } from './words.ts';
import { headBytes } from '../../core/text/clip.ts';

/**
 * The answer in the lobby to the message that opened a task (T2): where it is, and its mark. Details stay in the task's room, so
 * that the lobby is edited only when the mark or the title changes.
 */
export function lobbyLinkCard(task: TaskState, roomId: RoomId): Card {
  const mark = markOf(task);
  return cardOf([
    para(
      rich`${MARK_SIGN[mark]} ${strong(link(roomLink(roomId), titleOf(task)))} · ${MARK_WORDS[mark]}`,
      rich`Open ${link(roomLink(roomId), `task ${task.shortId}`)}`,
    ),
  ]);
}

const QUOTE_BYTES = [4_000, 1_500];

/** The message at the root of a turn whose request was not written in the task's room: it quotes the request. */
export function turnRootCard(request: {
  text: string;
  by: UserId | string | null;
  origin: 'lobby' | 'direct' | 'api' | 'schedule' | 'other';
}): Card {
  return fitting(
    QUOTE_BYTES.map((most) => () => {
      const head = headBytes(request.text, most);
      const said = head.length < request.text.length ? rich`${say(head)} …` : say(head);
      return cardOf([para(originWords(request)), quote(said)]);
    }),
  );
}

function originWords(request: { by: string | null; origin: string }): Rich {
  const name = nameOf(request.by);
  switch (request.origin) {
    case 'lobby':
      return rich`${name} asked in the lobby:`;
    case 'direct':
      return rich`${name} asked in a direct chat:`;
    case 'api':
      return rich`${name} asked through the API:`;
    case 'schedule':
      return rich`Scheduled by ${name}:`;
    default:
      return rich`${name} asked:`;
  }
}
