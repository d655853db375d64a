import type { Reader } from '../../core/db/database.ts';
import type { Session } from '../../core/db/rows.ts';
import type { DigestState, ExecutionStatus } from '../cards/state.ts';

const ORDER: readonly ExecutionStatus[] = [
  'completed',
  'failed',
  'unknown',
  'running',
  'queued',
  'approved',
  'pending_approval',
  'denied',
  'revoked',
  'expired',
  'cancelled',
];

/** The balance of a task, counted from its rows (C6). */
export async function digestState(db: Reader, session: Session, now: Date): Promise<DigestState> {
  const sessionId = session.id;
  const [byStatus, byAllowed, targets, calls, passes, knowledge] = await Promise.all([
    db.execution.groupBy({ by: ['status'], where: { sessionId }, _count: true }),
    db.execution.groupBy({ by: ['allowedBy'], where: { sessionId }, _count: true }),
    db.execution.findMany({
      where: { sessionId },
      distinct: ['targetSlug'],
      select: { targetSlug: true },
      orderBy: { targetSlug: 'asc' },
    }),
    db.toolCall.findMany({
      where: { sessionId },
      distinct: ['entitySlug'],
      select: { entitySlug: true },
    }),
    db.pass.aggregate({
      where: { sessionId },
      _count: true,
      _sum: { tokensIn: true, tokensOut: true, cost: true },
    }),
    db.knowledge.findMany({
      where: { sessionId },
      select: { title: true },
      orderBy: { title: 'asc' },
    }),
  ]);
  const toolCalls = await db.toolCall.count({ where: { sessionId } });
  const allowed = (by: string): number =>
    byAllowed.find((row) => row.allowedBy === by)?._count ?? 0;
  const entities = new Set([
    ...targets.map(({ targetSlug }) => targetSlug),
    ...calls.map(({ entitySlug }) => entitySlug).filter((slug) => slug !== null),
  ]);
  return {
    shortId: session.shortId,
    title: session.goal ?? session.title,
    status: session.status,
    outcome: session.outcome,
    summary: session.summary,
    byStatus: ORDER.map((status) => ({
      status,
      count: byStatus.find((row) => row.status === status)?._count ?? 0,
    })).filter((one) => one.count > 0),
    allowed: {
      byClass: allowed('class'),
      byGrant: allowed('grant'),
      byApproval: allowed('approval'),
      denied: byStatus.find((row) => row.status === 'denied')?._count ?? 0,
    },
    entities: [...entities].filter((slug) => !slug.startsWith('task:')),
    knowledge: knowledge.map(({ title }) => title),
    durationMs: (session.endedAt ?? now).getTime() - session.createdAt.getTime(),
    passes: passes._count,
    toolCalls,
    tokensIn: passes._sum.tokensIn ?? 0,
    tokensOut: passes._sum.tokensOut ?? 0,
    cost: passes._sum.cost ?? 0,
    notes: [],
  };
}
