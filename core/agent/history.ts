import type { Reader } from '../db/database.ts';
import type { Message } from '../db/rows.ts';
import type { PassId, SessionId } from '../ids.ts';
import { readAttachments, type SeenAttachment } from './attachments.ts';
import {
  conversation,
  conversationBefore,
  HISTORY_MESSAGES,
  storedSummary,
  SUMMARY_STEP,
} from './summary/step.ts';
import { storedCalls, type StoredCall } from './stored-calls.ts';

/** A step of the conversation: something said to the agent, or an answer of it with the results of its calls. */
export type Exchange =
  | {
      readonly kind: 'operator' | 'note';
      readonly text: string;
      readonly sender: string | null;
      /** What came with it. */
      readonly attachments?: readonly SeenAttachment[];
    }
  | {
      readonly kind: 'answer';
      readonly text: string;
      readonly calls: ReadonlyArray<StoredCall & { readonly result: string }>;
    };

/** The conversation of a task as one pass sees it. */
export interface History {
  /** What is older than `before`, summed up; undefined while there is nothing. */
  readonly summary: string | undefined;
  /** From before this pass: the newest messages. */
  readonly before: readonly Exchange[];
  /** Of this pass: everything. */
  readonly own: readonly Exchange[];
  /** Every text that the operator wrote in what is here. */
  readonly operatorTexts: readonly string[];
}

/**
 * Reads the conversation. What no pass has taken in yet is not part of it, nor what was redacted in time. The order is
 * that in which the agent read and wrote (taking a message in gives it a new place), so that what was sent once stays a
 * prefix of what is sent next.
 */
export async function readHistory(
  db: Reader,
  sessionId: SessionId,
  passId: PassId,
): Promise<History> {
  const summary = await storedSummary(db, sessionId);
  const [own, newest] = await Promise.all([
    db.message.findMany({
      where: { ...conversation(sessionId), passId },
      orderBy: { seq: 'asc' },
    }),
    db.message.findMany({
      where: { ...conversationBefore(sessionId, passId), seq: { gt: summary.uptoSeq } },
      orderBy: { seq: 'desc' },
      take: HISTORY_MESSAGES + SUMMARY_STEP,
    }),
  ]);
  const before = withoutOrphans(newest.toReversed());
  const said = [...before, ...own].filter(({ role }) => role === 'operator');
  const attached = await readAttachments(db, summary.attachments ? said.map(({ id }) => id) : []);
  return {
    summary: summary.body,
    before: toExchanges(before, attached),
    own: toExchanges(own, attached),
    operatorTexts: said.map(({ text }) => text),
  };
}

// A result whose answer is older than the window would hang in the air, and endpoints refuse it.
function withoutOrphans(messages: readonly Message[]): Message[] {
  const first = messages.findIndex((message) => message.role !== 'tool');
  return first === -1 ? [] : messages.slice(first);
}

function toExchanges(
  messages: readonly Message[],
  attached: ReadonlyMap<string, readonly SeenAttachment[]>,
): Exchange[] {
  const results = new Map(
    messages.flatMap((message) =>
      message.toolCallId === null ? [] : [[message.toolCallId, message.text]],
    ),
  );
  return messages.flatMap((message): Exchange[] => {
    switch (message.role) {
      case 'operator':
      case 'note':
        return [
          {
            kind: message.role,
            text: message.text,
            sender: message.sender,
            attachments: attached.get(message.id) ?? [],
          },
        ];
      case 'assistant':
        return [
          {
            kind: 'answer',
            text: message.text,
            calls: storedCalls.parse(message.toolCalls ?? []).map((call) => ({
              ...call,
              // Its pass ended for good in the middle of it.
              result:
                results.get(call.id) ??
                '{"error":{"message":"No result was kept: check before you rely on it."}}',
            })),
          },
        ];
      case 'tool':
        return [];
    }
  });
}
