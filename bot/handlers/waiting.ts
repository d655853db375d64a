import { turnsThatWait, type WaitingTurn } from '../../core/approvals/waiting.ts';
import { sql } from '../../core/db/database.ts';
import type { SessionId } from '../../core/ids.ts';
import { cardKey } from '../projector/keys.ts';
import type { HandlerContext } from './context.ts';

/**
 * The turns of a task in which something waits that the words at hand can be about. They may have had to wait themselves, for
 * their key, or for a recording that was said before them: what came into the room only after they had been received was not seen
 * by who wrote them (A4, A16). `newer` says that there is such a thing.
 */
export async function turnsToDecide(
  { unit, event }: HandlerContext,
  sessionId: SessionId,
): Promise<{ turns: WaitingTurn[]; newer: boolean }> {
  const waiting = await turnsThatWait(unit.db, sessionId);
  const keysOf = ({ id, executions }: WaitingTurn['approvals'][number]): string[] =>
    executions.length === 0 ? [cardKey.plan(id)] : executions.map((one) => cardKey.execution(one));
  const keys = waiting.flatMap(({ approvals, questions }) => [
    ...approvals.flatMap(keysOf),
    ...questions.map(({ id }) => cardKey.question(id)),
  ]);
  if (keys.length === 0) return { turns: waiting, newer: false };
  const rows = await unit.db.$queryRaw<Array<{ card_key: string }>>(sql`
    SELECT c.card_key FROM matrix_cards c JOIN matrix_outbox o ON o.card_key = c.card_key AND o.event_id = c.event_id AND o.kind = 'send'
    WHERE c.card_key = ANY(${keys})
      AND coalesce(o.first_tried_at, o.sent_at) > (SELECT received_at FROM matrix_inbox WHERE event_id = ${event.eventId})`);
  if (rows.length === 0) return { turns: waiting, newer: false };
  const later = new Set(rows.map((row) => row.card_key));
  const turns = waiting
    .map((turn) => ({
      ...turn,
      approvals: turn.approvals.filter((one) => !keysOf(one).some((key) => later.has(key))),
      questions: turn.questions.filter(({ id }) => !later.has(cardKey.question(id))),
    }))
    .filter(({ approvals, questions }) => approvals.length + questions.length > 0);
  return { turns, newer: true };
}
