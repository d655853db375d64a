import type { Unit } from '../db/database.ts';
import type { ToolCall } from '../db/rows.ts';
import { noteInvolved } from '../graph/involve.ts';
import { asId, newId, type MessageId, type ToolCallId } from '../ids.ts';
import { listenAgain } from '../tasks/passes.ts';
import { isStoppedTask } from '../tasks/reopen.ts';
import { OF_A_PERSON } from '../tasks/turns.ts';
import { safeJson, safeText } from '../text/safe.ts';
import { parseArguments } from '../tools/registry.ts';
import type { Spent } from './ask.ts';
import type { ModelAnswer } from './model/types.ts';
import type { PassScope } from './scope.ts';
import { newCallId, type StoredCall } from './stored-calls.ts';

/** The most calls of one answer that are made. A model that asks for more has run away (R11). */
export const MAX_CALLS_PER_ANSWER = 64;

/**
 * Takes in what was said to the agent in this turn and no pass has read (T5): it becomes part of the conversation here,
 * at its end. Returns how many messages there were.
 */
export async function takeIn(scope: PassScope): Promise<number> {
  const { sessionId, turnId, passId } = scope;
  const unread = {
    sessionId,
    turnId,
    takenInAt: null,
    role: { in: ['operator' as const, 'note' as const] },
  };
  if ((await scope.deps.database.read.message.count({ where: unread })) === 0) return 0;
  return scope.write(async (unit) => {
    const waiting = await unit.db.message.findMany({
      where: unread,
      orderBy: { seq: 'asc' },
      select: { id: true, role: true },
    });
    for (const { id } of waiting) {
      // A new place in the order: after all that the agent has read and said so far.
      await unit.db.$executeRaw`
        UPDATE messages SET taken_in_at = clock_timestamp(), pass_id = ${passId}::uuid,
          seq = nextval(pg_get_serial_sequence('messages', 'seq'))
        WHERE id = ${id}::uuid`;
      unit.emit({ type: 'message.taken_in', sessionId, refId: id });
    }
    // A pass that went on by itself may be the one that reads a person's word; others have listened when they were claimed.
    if (!OF_A_PERSON.has(scope.cause) && waiting.some(({ role }) => role === 'operator')) {
      const session = await unit.db.session.findUniqueOrThrow({
        where: { id: sessionId },
        select: { pausedReason: true },
      });
      if (!isStoppedTask(session)) await listenAgain(unit, sessionId);
    }
    return waiting.length;
  });
}

/**
 * Stores an answer of the model with the calls it asks for, before any of them is made (L6). Of too many calls the first
 * are made, and a note says so. Returns the calls, in order.
 */
export async function storeAnswer(
  unit: Unit,
  scope: PassScope,
  answer: ModelAnswer,
  spent: Spent,
): Promise<ToolCall[]> {
  const { sessionId, turnId, passId } = scope;
  const asked = answer.toolCalls.length;
  const calls: StoredCall[] = answer.toolCalls.slice(0, MAX_CALLS_PER_ANSWER).map((call) => ({
    id: newCallId(),
    name: safeText(call.name),
    arguments: safeText(call.arguments),
  }));
  await unit.db.message.createMany({
    data: {
      id: newId<MessageId>(),
      sessionId,
      turnId,
      passId,
      role: 'assistant',
      text: safeText(answer.text),
      ...(calls.length === 0 ? {} : { toolCalls: calls }),
    },
  });
  const stored =
    calls.length === 0
      ? []
      : await unit.db.toolCall.createManyAndReturn({
          data: calls.map((call) => ({
            id: newId<ToolCallId>(),
            sessionId,
            turnId,
            passId,
            callId: call.id,
            name: call.name,
            arguments: storable(call.arguments),
          })),
        });
  if (asked > calls.length) {
    await unit.db.message.createMany({
      data: {
        id: newId<MessageId>(),
        sessionId,
        turnId,
        passId,
        role: 'note',
        takenInAt: new Date(),
        text: `Your answer asked for ${asked} calls; only the first ${calls.length} were made. Look at their results, then go on with what is still needed, in one bulk call where there is one.`,
      },
    });
  }
  await addSpent(unit, scope, spent);
  return stored.toSorted((a, b) => (a.seq < b.seq ? -1 : 1));
}

/** Adds what asking cost to the pass (L9). */
export async function addSpent(unit: Unit, { passId }: PassScope, spent: Spent): Promise<void> {
  await unit.db.pass.updateMany({
    where: { id: passId },
    data: {
      modelCalls: { increment: spent.modelCalls },
      tokensIn: { increment: spent.tokensIn },
      tokensOut: { increment: spent.tokensOut },
      cost: { increment: spent.cost },
    },
  });
}

/** Marks a call as begun. */
export async function beginCall(
  unit: Unit,
  scope: PassScope,
  call: ToolCall,
  about: { input: unknown; entity: string | undefined },
): Promise<void> {
  await unit.db.toolCall.updateMany({
    where: { id: call.id },
    data: {
      state: 'running',
      startedAt: call.startedAt ?? new Date(),
      arguments: safeJson(about.input) ?? {},
      entitySlug: about.entity ?? null,
    },
  });
  unit.emit({
    type: 'tool.started',
    sessionId: scope.sessionId,
    refId: call.id,
    data: { passId: scope.passId },
  });
}

/** How a call ended. */
export interface CallEnd {
  state: 'done' | 'failed' | 'unknown';
  value: Readonly<Record<string, unknown>>;
  entity?: string | undefined;
  /** The entities that the call named (K9). */
  named?: readonly string[] | undefined;
}

/** Stores how a call ended, and its result where the model reads it, in one transaction. */
export async function endCall(
  unit: Unit,
  scope: PassScope,
  call: ToolCall,
  end: CallEnd,
): Promise<void> {
  const { sessionId, turnId, passId } = scope;
  const result = JSON.stringify(safeJson(end.value));
  const endedAt = new Date();
  const [row] = await unit.db.$queryRaw<Array<{ executionId: string | null }>>`
    UPDATE tool_calls SET state = ${end.state}::tool_call_state, success = ${end.state === 'done'}, result = ${result},
      ended_at = ${endedAt}, entity_slug = coalesce(${end.entity ?? null}, entity_slug),
      duration_ms = greatest(0, coalesce(extract(epoch FROM ${endedAt}::timestamptz - started_at) * 1000, 0))::int
    WHERE id = ${call.id}::uuid AND state IN ('requested', 'running') RETURNING execution_id AS "executionId"`;
  // A commit whose answer was lost had stored the end already.
  if (row === undefined) return;
  await unit.db.message.createMany({
    data: {
      id: newId<MessageId>(),
      sessionId,
      turnId,
      passId,
      role: 'tool',
      text: result,
      toolCallId: call.callId,
    },
  });
  const names = [...(end.named ?? []), ...(end.entity === undefined ? [] : [end.entity])];
  if (names.length > 0 || row.executionId !== null) {
    await noteInvolved(unit, { sessionId, toolCallId: asId<ToolCallId>(call.id), names });
  }
  unit.emit({ type: 'tool.ended', sessionId, refId: call.id, data: { passId } });
}

function storable(args: string): NonNullable<ReturnType<typeof safeJson>> {
  const parsed = parseArguments(args);
  return (parsed === undefined ? args : safeJson(parsed.value)) ?? {};
}
