import { parseRunbook } from '../../core/knowledge/runbook-file.ts';
import { offerCard } from '../cards/runbook.ts';
import { PRIORITY, putCard, react } from '../outbox/enqueue.ts';
import { roomOfKind } from '../rooms/room-state.ts';
import type { DrawContext } from './context.ts';
import { cardKey } from './keys.ts';

/** The card of a runbook that was learned, in the lobby: with ✅ and ❌ while it waits for an operator's word (K11). */
export async function drawRunbook({ unit, view }: DrawContext, runbookId: string): Promise<void> {
  const row = await unit.db.runbook.findUnique({ where: { id: runbookId } });
  const lobby = await roomOfKind(unit.db, 'lobby');
  if (row?.origin !== 'learned' || lobby === undefined) return;
  const waits = row.status === 'offered';
  const to = { room: lobby };
  const key = cardKey.runbook(row.id);
  const runbook = parseRunbook(row.body, `runbook ${row.slug}`, row.slug);
  await putCard(unit, {
    to,
    card: { key, kind: 'runbook', refId: row.id },
    message: offerCard({ ...row, runbook }, view),
    closed: !waits,
  });
  if (!waits) return;
  for (const reaction of ['✅', '❌']) {
    await react(unit, { to, target: { card: key }, key: reaction, priority: PRIORITY.state });
  }
}
