import { z } from 'zod';
import type { Reader } from '../../core/db/database.ts';
import type { Session } from '../../core/db/rows.ts';
import { asId, type MatrixEventId, type RoomId } from '../../core/ids.ts';
import type { CardLink, RunningState, TaskState, WaitingState } from '../cards/state.ts';
import type { View } from '../cards/view.ts';
import { cardKey } from './keys.ts';

/** How long a task must have been silent before it is offered to resume it (C9). */
export const STUCK_AFTER_MS = 30_000;

const originShape = z.looseObject({
  kind: z.string(),
  roomId: z.string().optional(),
  eventId: z.string().optional(),
  linkTo: z.string().optional(),
});

/** Where a task came from, as its row keeps it. */
export function originOf(session: Pick<Session, 'origin'>): z.infer<typeof originShape> {
  return originShape.parse(session.origin);
}

/** A task with everything that its card shows. */
export async function taskState(db: Reader, session: Session, view: View): Promise<TaskState> {
  const sessionId = session.id;
  const [steps, approvals, questions, open, passes] = await Promise.all([
    db.planStep.findMany({ where: { sessionId }, orderBy: { seq: 'asc' } }),
    db.approval.findMany({
      where: { sessionId, status: 'pending' },
      include: {
        executions: { where: { status: 'pending_approval' }, omit: { stdout: true, stderr: true } },
      },
      orderBy: { createdAt: 'asc' },
    }),
    db.question.findMany({ where: { sessionId, status: 'open' }, orderBy: { createdAt: 'asc' } }),
    db.execution.findMany({
      where: { sessionId, status: { in: ['approved', 'queued', 'running'] } },
      orderBy: { createdAt: 'asc' },
      omit: { stdout: true, stderr: true },
    }),
    db.pass.count({ where: { sessionId, state: { in: ['queued', 'running'] } } }),
  ]);
  const approvalKeys = approvals.map((approval) => {
    const [first] = approval.executions;
    return first === undefined ? cardKey.plan(approval.id) : cardKey.execution(first);
  });
  const links = await cardLinks(db, session, [
    ...approvalKeys,
    ...questions.map(({ id }) => cardKey.question(id)),
    ...open.map((execution) => cardKey.execution(execution)),
  ]);
  const waiting: WaitingState[] = [
    ...approvals.map((approval, index): WaitingState => {
      const [first, ...others] = approval.executions;
      return {
        kind: 'approval',
        label: first?.purpose ?? 'The plan',
        target:
          first === undefined
            ? null
            : others.length === 0
              ? first.targetSlug
              : `${others.length + 1} targets`,
        risk: approval.risk,
        until: approval.expiresAt,
        link: links(approvalKeys[index] ?? ''),
      };
    }),
    ...questions.map((question): WaitingState => ({
      kind: 'question',
      label: question.prompt,
      target: null,
      risk: null,
      until: null,
      link: links(cardKey.question(question.id)),
    })),
  ];
  const running = open
    .filter((execution) => execution.status === 'running')
    .map((execution): RunningState => ({
      label: execution.purpose,
      target: execution.targetSlug,
      startedAt: execution.startedAt,
      link: links(cardKey.execution(execution)),
    }));
  const dueContinuations = await db.execution.count({
    where: { sessionId, continuation: 'due', status: { in: ['completed', 'failed', 'unknown'] } },
  });
  return {
    shortId: session.shortId,
    title: session.goal ?? session.title,
    status: session.status,
    outcome: session.outcome,
    summary: session.summary,
    pausedReason: session.pausedReason,
    working: passes > 0 || dueContinuations > 0,
    steps,
    waiting,
    running,
    queuedCount: open.length - running.length,
    lastActivityAt: session.lastActivityAt,
    stuck: isStuck(session, passes, view),
  };
}

function isStuck(session: Session, passes: number, view: View): boolean {
  if (session.status !== 'executing' && session.status !== 'awaiting_input') return false;
  if (passes > 0 || session.lastAgentAt === null) return false;
  return view.now.getTime() - session.lastAgentAt.getTime() >= STUCK_AFTER_MS;
}

/** Looks up where cards stand in the task's room. A card that has not been sent has no event id yet. */
export async function cardLinks(
  db: Reader,
  session: Pick<Session, 'roomId'>,
  keys: readonly string[],
): Promise<(key: string) => CardLink> {
  const cards =
    keys.length === 0
      ? []
      : await db.matrixCard.findMany({
          where: { cardKey: { in: [...keys] } },
          select: { cardKey: true, eventId: true },
        });
  const events = new Map(cards.map((card) => [card.cardKey, card.eventId]));
  const roomId = session.roomId === null ? null : asId<RoomId>(session.roomId);
  return (key) => {
    const eventId = events.get(key) ?? null;
    return { roomId, eventId: eventId === null ? null : asId<MatrixEventId>(eventId) };
  };
}
