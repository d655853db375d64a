import { decideRunbook } from '../../core/knowledge/runbooks.ts';
import type { Card } from '../cards/card.ts';
import { answerTo } from '../cards/replies.ts';
import { code, rich } from '../cards/rich.ts';
import { clock } from '../cards/view.ts';
import { nameOf } from '../cards/words.ts';
import type { HandlerContext } from './context.ts';
import { distrustCard, distrustOf } from './trust.ts';

/**
 * An operator's word on a runbook that is offered (K11), and what to answer; undefined where the card says it all. Strict decisions
 * hold here as well (A20): what is kept now is run later.
 */
export async function decideOffer(
  context: HandlerContext,
  id: string,
  verdict: 'approve' | 'deny',
  means: 'tap' | 'command',
): Promise<Card | undefined> {
  const { unit, event, operator, view } = context;
  const row = await unit.db.runbook.findUnique({ where: { id } });
  if (row === null) return undefined;
  const why = row.status === 'offered' ? await distrustOf(context, null, means) : undefined;
  if (why !== undefined) {
    unit.audit({
      actor: operator.userId,
      action: 'runbook.decision_refused',
      subject: row.slug,
      data: { why, means, event: event.eventId },
    });
    if (why !== 'tap') return distrustCard(why, { verdict, needsTyped: false, shortId: null });
    return answerTo(
      rich`🔒 A tap decides nothing here: reactions are not encrypted, and decisions are strict.`,
      rich`Write: ${code(`!runbooks ${verdict} ${row.slug}`)}`,
    );
  }
  const result = await decideRunbook(unit, {
    id,
    verdict,
    operator,
    means,
    eventId: event.eventId,
  });
  switch (result.kind) {
    case 'active':
      return means === 'tap' ? undefined : answerTo(rich`📘 Kept: ${code(result.slug)}`);
    case 'refused':
      return means === 'tap' ? undefined : answerTo(rich`🚫 Dropped: ${code(result.slug)}`);
    case 'not_allowed':
      return answerTo(rich`🚫 Not decided. ${result.why}`);
    case 'already': {
      const same =
        result.by === operator.userId &&
        result.status === (verdict === 'approve' ? 'active' : 'refused');
      if (same && means === 'tap') return undefined;
      const when = result.at === null ? '' : ` at ${clock(result.at, view)}`;
      return answerTo(
        rich`Already ${result.status === 'active' ? 'kept' : 'dropped'} by ${nameOf(result.by)}${when}.`,
      );
    }
  }
}
