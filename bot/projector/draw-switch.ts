import type { LoggedEvent } from '../../core/events/types.ts';
import { switchCard } from '../cards/switch.ts';
import { PRIORITY, putCard } from '../outbox/enqueue.ts';
import { roomOfKind } from '../rooms/room-state.ts';
import type { DrawContext } from './context.ts';
import { cardKey } from './keys.ts';

/** The kill switch was thrown or reset (P7): said in the lobby, whoever did it and however. */
export async function drawSwitch({ unit }: DrawContext, event: LoggedEvent): Promise<void> {
  const { paused, by } = event.data;
  const lobby = await roomOfKind(unit.db, 'lobby');
  if (event.refId !== 'paused' || typeof paused !== 'boolean' || lobby === undefined) return;
  await putCard(unit, {
    to: { room: lobby },
    card: { key: cardKey.killSwitch(event.id), kind: 'switch', refId: String(event.id) },
    message: switchCard({
      paused,
      by: typeof by === 'string' ? by : null,
      waiting: await unit.db.approval.count({ where: { status: 'pending' } }),
    }),
    priority: PRIORITY.person,
    closed: true,
  });
}
