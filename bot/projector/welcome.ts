import type { Database } from '../../core/db/database.ts';
import { welcomeCard } from '../cards/welcome.ts';
import { pinCards, putCard } from '../outbox/enqueue.ts';
import { roomOfKind } from '../rooms/room-state.ts';

/**
 * Puts the welcome card into the lobby and pins it, once per lobby: the card's row and its message commit together, so it is
 * said once whatever dies (R5). An upgraded lobby is a new one.
 */
export async function welcome(database: Database): Promise<void> {
  const lobby = await roomOfKind(database.read, 'lobby');
  if (lobby === undefined) return;
  const key = `welcome:${lobby}`;
  const known = await database.read.matrixCard.findUnique({ where: { cardKey: key } });
  if (known !== null) return;
  await database.write(async (unit) => {
    const done = await putCard(unit, {
      to: { room: lobby },
      card: { key, kind: 'welcome', refId: lobby },
      message: welcomeCard(),
      closed: true,
    });
    if (done === 'sent') await pinCards(unit, { to: { room: lobby }, cards: [key] });
  });
}
