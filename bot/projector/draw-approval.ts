import { z } from 'zod';
import { coveredSteps } from '../../core/approvals/plan.ts';
import type { Approval, ApprovalVote } from '../../core/db/rows.ts';
import type { LoggedEvent } from '../../core/events/types.ts';
import { asId, type SessionId, type TurnId, type UserId } from '../../core/ids.ts';
import type { Role } from '../../core/operators.ts';
import { planCard, planFile } from '../cards/plan.ts';
import { OPTION_KEYS, questionCard } from '../cards/question.ts';
import { reminderCard, typedConfirmationHint, type WaitingName } from '../cards/replies.ts';
import { PRIORITY, putCard, react, uploadFile } from '../outbox/enqueue.ts';
import { askersToCall, decidersToCall, type DrawContext } from './context.ts';
import { drawExecution } from './draw-execution.ts';
import { shownSession } from './draw-task.ts';
import { cardKey } from './keys.ts';
import { retireCard } from './retire-card.ts';
import type { PlanApprovalState } from '../cards/state.ts';
import { approvalState } from './load-execution.ts';
import { waitingName, waitingQuestion } from './waiting-name.ts';

const hintShape = z.looseObject({ operator: z.string() });
const optionsShape = z.array(z.string());
/** More reactions than a thumb finds: further options are answered in words. */
const OPTION_REACTIONS_MAX = 6;

/** The cards that an approval stands on: those of its executions, or the plan's own. `asked`: it was asked for just now. */
export async function drawApproval(
  context: DrawContext,
  approvalId: string,
  asked = false,
): Promise<void> {
  const approval = await context.unit.db.approval.findUnique({
    where: { id: approvalId },
    include: {
      executions: { select: { id: true, batchId: true }, orderBy: { createdAt: 'asc' } },
      votes: { orderBy: { at: 'asc' } },
    },
  });
  if (approval === null) return;
  if (approval.kind === 'execution') {
    const drawn = new Set<string>();
    for (const execution of approval.executions) {
      const key = cardKey.execution(execution);
      if (drawn.has(key)) continue;
      drawn.add(key);
      if (asked && approval.status === 'pending') await retireCard(context, approval, key);
      await drawExecution(context, execution.id);
    }
    return;
  }
  const session = await shownSession(context, approval.sessionId);
  if (session === undefined) return;
  const waits = approval.status === 'pending';
  const place = placeIn(session.id, approval.turnId);
  const key = cardKey.plan(approvalId);
  const plan = planState(context, approval);
  await attachPlan(context, plan, key, place, approvalId);
  await putCard(context.unit, {
    ...place,
    card: { key, kind: 'plan', refId: approvalId, ...identity(place) },
    message: planCard(
      plan,
      context.view,
      waits
        ? decidersToCall(context.operators, session.createdBy, {
            role: approval.needsRole as Role,
            people: approval.needsPeople,
          })
        : [],
    ),
    priority: waits ? PRIORITY.person : PRIORITY.state,
    closed: !waits,
  });
  if (!waits) return;
  for (const reaction of ['✅', '❌']) {
    await react(context.unit, {
      to: place.to,
      target: { card: key },
      key: reaction,
      priority: PRIORITY.person,
    });
  }
}

function planState(
  { mask, operators }: DrawContext,
  approval: Approval & { votes: ApprovalVote[] },
): PlanApprovalState {
  return {
    steps: coveredSteps(approval).map(({ seq, title, detail }) => ({
      seq,
      title: mask(title),
      detail: detail === null ? null : mask(detail),
    })),
    approval: approvalState(approval, operators),
  };
}

/** What the card cannot show whole goes before it (A16). */
async function attachPlan(
  { unit, view }: DrawContext,
  plan: PlanApprovalState,
  key: string,
  place: Place,
  refId: string,
): Promise<void> {
  const text = planFile(plan, view);
  if (text === undefined) return;
  await uploadFile(unit, {
    ...place,
    name: `plan-${plan.approval.shortId}.txt`,
    mimetype: 'text/plain',
    bytes: Buffer.from(text),
    card: { key: cardKey.commandFile(key), kind: 'file', refId, ...identity(place) },
    priority: PRIORITY.person,
  });
}

/** The question's card, with a number to tap for each option (C5). */
export async function drawQuestion(context: DrawContext, questionId: string): Promise<void> {
  const { unit, view, operators } = context;
  const question = await unit.db.question.findUnique({ where: { id: questionId } });
  const session = await shownSession(context, question?.sessionId ?? null);
  if (question === null || session === undefined) return;
  const open = question.status === 'open';
  const options = optionsShape.parse(question.options);
  const place = placeIn(session.id, question.turnId);
  const key = cardKey.question(questionId);
  await putCard(unit, {
    ...place,
    card: { key, kind: 'question', refId: questionId, ...identity(place) },
    message: questionCard(
      { ...question, options },
      view,
      open ? askersToCall(operators, session.createdBy) : [],
    ),
    priority: open ? PRIORITY.person : PRIORITY.state,
    closed: !open,
  });
  if (!open) return;
  for (const reaction of OPTION_KEYS.slice(0, Math.min(options.length, OPTION_REACTIONS_MAX))) {
    await react(unit, {
      to: place.to,
      target: { card: key },
      key: reaction,
      priority: PRIORITY.person,
    });
  }
}

/** What to type, for who tapped ✅ on something destructive (A3). */
export async function drawHint(context: DrawContext, event: LoggedEvent): Promise<void> {
  const operator = asId<UserId>(hintShape.parse(event.data).operator);
  await answerOnCard(context, event, cardKey.hint(event.id), 'hint', (waiting) =>
    typedConfirmationHint(waiting, operator),
  );
}

/** What still waits is brought up once more, as a new message (C14). */
export async function drawReminder(context: DrawContext, event: LoggedEvent): Promise<void> {
  await answerOnCard(
    context,
    event,
    cardKey.reminder(event.id),
    'reminder',
    (waiting, callFor, until) => reminderCard(waiting, until, context.view, callFor),
  );
}

async function answerOnCard(
  context: DrawContext,
  event: LoggedEvent,
  key: string,
  kind: string,
  draw: (
    waiting: WaitingName,
    callFor: UserId[],
    until: Date | null,
  ) => ReturnType<typeof reminderCard>,
): Promise<void> {
  const id = event.refId ?? '';
  const session = await shownSession(context, event.sessionId);
  if (session === undefined) return;
  const waiting =
    (await waitingName(context.unit.db, session, id)) ??
    (await waitingQuestion(context.unit.db, session, id));
  if (waiting === undefined || !waiting.open) return;
  const place = placeIn(session.id, waiting.turnId);
  const callFor =
    waiting.needs === null
      ? askersToCall(context.operators, session.createdBy)
      : decidersToCall(context.operators, session.createdBy, waiting.needs);
  await putCard(context.unit, {
    ...place,
    card: { key, kind, refId: id, ...identity(place) },
    message: draw(waiting.name, callFor, waiting.until),
    replyTo: { card: waiting.cardKey },
    priority: PRIORITY.person,
    closed: true,
  });
}

interface Place {
  readonly to: { session: SessionId };
  readonly thread?: { turnId: TurnId };
}

function placeIn(sessionId: string, turnId: string | null): Place {
  return {
    to: { session: asId<SessionId>(sessionId) },
    ...(turnId === null ? {} : { thread: { turnId: asId<TurnId>(turnId) } }),
  };
}

function identity(place: Place): { sessionId: SessionId; turnId?: TurnId } {
  return { sessionId: place.to.session, ...place.thread };
}
