import { z } from 'zod';
import type { Reader } from '../../core/db/database.ts';
import type { Approval, ApprovalVote, Execution } from '../../core/db/rows.ts';
import { readPreview } from '../../core/executions/preview.ts';
import { readScripts } from '../../core/executions/scripts.ts';
import { blastLevels, blastShape } from '../../core/graph/blast-radius.ts';
import { targetShape } from '../../core/graph/targets.ts';
import { roleCovers, type Operators, type Role } from '../../core/operators.ts';
import type { DrawContext } from './context.ts';
import type { ApprovalState, BatchState, ExecutionState, PreviewState } from '../cards/state.ts';

const reasonsShape = z.array(z.string());

/** An execution's row with what its card needs beside it. */
export type ExecutionRow = Execution & { approval: (Approval & { votes: ApprovalVote[] }) | null };

/** What to load with an execution for its card. Whole outputs are left where they are: a card shows the tail. */
export const EXECUTION_PARTS = {
  include: { approval: { include: { votes: { orderBy: { at: 'asc' } } } } },
  omit: { stdout: true, stderr: true },
} as const;

/** An execution's row without its whole outputs. */
export type ExecutionCardRow = Omit<ExecutionRow, 'stdout' | 'stderr'>;

/** The executions that one card shows: those of a batch, or the one alone. Oldest first. */
export async function executionsOfCard(
  db: Reader,
  executionId: string,
): Promise<ExecutionCardRow[]> {
  const one = await db.execution.findUnique({ where: { id: executionId }, ...EXECUTION_PARTS });
  if (one === null) return [];
  if (one.batchId === null) return [one];
  return db.execution.findMany({
    where: { batchId: one.batchId },
    orderBy: [{ batchIndex: 'asc' }, { id: 'asc' }],
    ...EXECUTION_PARTS,
  });
}

/**
 * A row as its card reads it, secrets hidden by `mask` in what was written freely (X9). What is approved stays the command's very
 * bytes, by their hash (A16). Throws a ZodError for stored JSON of another form.
 */
export function executionState(
  row: ExecutionCardRow,
  { mask, operators }: Pick<DrawContext, 'mask' | 'operators'>,
): ExecutionState {
  return {
    shortId: row.shortId,
    purpose: mask(row.purpose),
    target: row.targetSlug,
    address: addressOf(row.target),
    command: mask(row.command),
    masked: mask(row.command) !== row.command,
    preview: previewState(row.preview, mask),
    scripts: (readScripts(row.scripts)?.files ?? []).map(({ shown, sha256, why }) => ({
      name: mask(shown),
      hash: sha256?.slice(0, 12) ?? null,
      why,
    })),
    risk: row.risk,
    reasons: reasonsShape.parse(row.reasons),
    blast: blastLevels(blastShape.parse(row.blast)),
    status: row.status,
    allowedBy: row.allowedBy,
    approval: row.approval === null ? null : approvalState(row.approval, operators),
    createdAt: row.createdAt,
    queuedAt: row.queuedAt,
    startedAt: row.startedAt,
    endedAt: row.endedAt,
    exitCode: row.exitCode,
    signal: row.signal,
    tail: mask(row.tail),
    stdoutBytes: Number(row.stdoutBytes),
    stderrBytes: Number(row.stderrBytes),
    error: row.error === null ? null : mask(row.error),
    cancelRequestedBy: row.cancelRequestedBy,
  };
}

/** The executions of one card, and what they wait for. */
export function batchState(
  rows: readonly ExecutionCardRow[],
  context: Pick<DrawContext, 'mask' | 'operators'>,
): BatchState {
  const [first] = rows;
  const approval = approvalOf(rows);
  return {
    shortId: approval?.shortId ?? first?.shortId ?? '',
    executions: rows.map((row) => executionState(row, context)),
    approval: approval === null ? null : approvalState(approval, context.operators),
  };
}

/** What the executions of one card wait for; else what decided on them. Parts of a batch may have been asked for again. */
export function approvalOf(rows: readonly ExecutionCardRow[]): ExecutionCardRow['approval'] {
  const waits = rows.find((row) => row.status === 'pending_approval');
  return waits?.approval ?? rows.find((row) => row.approval !== null)?.approval ?? null;
}

/** An approval as cards read it. */
export function approvalState(
  row: Approval & { votes: ApprovalVote[] },
  operators: Operators,
): ApprovalState {
  // Whoever may not decide any more counts no longer (A15).
  const votes = row.votes
    .map((vote) => vote.operator)
    .filter((userId) => {
      const role = operators.roleOf(userId);
      return role !== undefined && roleCovers(role, row.needsRole as Role);
    });
  return {
    shortId: row.shortId,
    status: row.status,
    needsTyped: row.needsTyped,
    needsRole: (row.needsRole as Role) === 'admin' ? 'admin' : 'approver',
    needsPeople: row.needsPeople,
    votes,
    missing:
      row.needsPeople < 2
        ? []
        : operators.all
            .filter(({ role }) => roleCovers(role, row.needsRole as Role))
            .map(({ userId }) => userId)
            .filter((userId) => !votes.includes(userId)),
    createdAt: row.createdAt,
    expiresAt: row.expiresAt,
    decidedBy: row.decidedBy,
    decidedAt: row.decidedAt,
    decidedMeans: row.decidedMeans,
    reason: row.reason,
  };
}

/** Where a command goes and as whom, in the words that are approved (A16). */
function addressOf(target: unknown): string {
  const { host, container } = targetShape.parse(target);
  const port = host.port === 22 ? '' : `:${host.port}`;
  const login = `${host.user}@${host.address}${port}`;
  return container === undefined ? login : `pct exec ${container.pveId} by ${login}`;
}

function previewState(stored: unknown, mask: (text: string) => string): PreviewState | null {
  const preview = readPreview(stored);
  if (preview === null) return null;
  const { command, exitCode, tail, longer } = preview;
  return { command: mask(command), exitCode, tail: mask(tail), longer };
}
