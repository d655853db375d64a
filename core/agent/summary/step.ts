import type { Message } from '../../db/rows.ts';
import type { Reader } from '../../db/database.ts';
import type { PassId, SessionId } from '../../ids.ts';
import { faultPoint } from '../../faults.ts';
import type { PassScope } from '../scope.ts';
import { sumUp } from './facts.ts';

/** How many of the newest messages from before a pass the model gets word for word, at least (L5). */
export const HISTORY_MESSAGES = 30;
/** So many more may gather before they are summed up: in between, what is sent keeps its prefix, and caches hold. */
export const SUMMARY_STEP = 10;

/** The messages of a task that are part of its conversation: all that was said by the agent, or read by it in time. */
export function conversation(sessionId: SessionId) {
  return {
    sessionId,
    redactedAt: null,
    OR: [{ takenInAt: { not: null } }, { role: { in: ['assistant' as const, 'tool' as const] } }],
  };
}

/** Those from before a pass. */
export function conversationBefore(sessionId: SessionId, passId: PassId) {
  return { ...conversation(sessionId), NOT: { passId } };
}

/** What is summed up of a task's conversation: nothing below a place, or a text up to it. And whether anything but words is in it. */
export async function storedSummary(
  db: Reader,
  sessionId: SessionId,
): Promise<{ uptoSeq: bigint; body: string | undefined; attachments: boolean }> {
  const [row] = await db.$queryRaw<
    Array<{ uptoSeq: bigint | null; body: string | null; attachments: boolean }>
  >`
    SELECT c.upto_seq AS "uptoSeq", c.body,
      EXISTS (SELECT FROM attachments a WHERE a.session_id = s.id) AS attachments
    FROM sessions s LEFT JOIN context_summaries c ON c.session_id = s.id WHERE s.id = ${sessionId}::uuid`;
  return {
    uptoSeq: row?.uptoSeq ?? 0n,
    body: row?.body ?? undefined,
    attachments: row?.attachments === true,
  };
}

/**
 * Sums up what is older than the newest messages, once enough of it has gathered, and stores it for all passes to come (L5).
 * Called at the beginning of a pass; does nothing most times.
 */
export async function sumUpOlder(scope: PassScope): Promise<void> {
  const { sessionId, passId } = scope;
  const db = scope.deps.database.read;
  const { uptoSeq } = await storedSummary(db, sessionId);
  const newest = await db.message.findMany({
    where: { ...conversationBefore(sessionId, passId), seq: { gt: uptoSeq } },
    orderBy: { seq: 'desc' },
    take: HISTORY_MESSAGES + SUMMARY_STEP,
    select: { seq: true, role: true },
  });
  if (newest.length < HISTORY_MESSAGES + SUMMARY_STEP) return;
  const upto = lastToSumUp(newest);
  await faultPoint('agent.before_summary');
  await scope.write(async (unit) => {
    const body = await sumUp(unit.db, sessionId, upto);
    await unit.db.contextSummary.upsert({
      where: { sessionId },
      create: { sessionId, uptoSeq: upto, body },
      update: { uptoSeq: upto, body },
    });
  });
}

/** Newest first in. A result whose answer is summed up would hang in the air, and endpoints refuse it: it goes too. */
function lastToSumUp(newest: ReadonlyArray<Pick<Message, 'seq' | 'role'>>): bigint {
  const first = newest.slice(0, HISTORY_MESSAGES).findLast(({ role }) => role !== 'tool');
  return first === undefined ? (newest[0]?.seq ?? 0n) : first.seq - 1n;
}
