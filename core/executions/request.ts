import { sql, type Unit } from '../db/database.ts';
import type { AllowedBy, Grant } from '../db/rows.ts';
import { requestApproval } from '../approvals/request.ts';
import { NomosError } from '../errors.ts';
import { blastRadius } from '../graph/blast-radius.ts';
import { resolveTarget } from '../graph/targets.ts';
import {
  newId,
  newShortId,
  type ApprovalId,
  type ExecutionId,
  type PassId,
  type SessionId,
  type ToolCallId,
  type TurnId,
} from '../ids.ts';
import { limits, MAX_EXECUTION_MS } from '../limits.ts';
import { assess } from '../policy/assess.ts';
import { coveringGrant } from '../policy/grants.ts';
import { isPaused } from '../policy/pause.ts';
import type { Risk } from '../policy/risk.ts';
import { lockSession } from '../tasks/lock.ts';
import { refreshStatus } from '../tasks/status.ts';
import { commandHash, subjectHash } from './hash.ts';
import { coveredHash, type Preview } from './preview.ts';
import { MAX_COMMAND_BYTES } from './remote/protocol.ts';
import { recordMove } from './states.ts';

/** A command that the agent (or the API) wants to run on one target. */
export interface ExecutionRequest {
  sessionId: SessionId | null;
  turnId: TurnId | null;
  passId: PassId | null;
  toolCallId: ToolCallId | null;
  /** A slug, or the name of a machine or container when only one has it. */
  target: string;
  command: string;
  purpose: string;
  declaredRisk?: Risk | undefined;
  /** What a dry run said, to stand on the card (A19). */
  preview?: Preview | undefined;
  /** Milliseconds; the configured default, 60 minutes at most (X3). */
  timeoutMs?: number | undefined;
  /** Who asks, for the audit log. Default `agent`. */
  actor?: string | undefined;
}

/** What became of the request. */
export type RequestOutcome =
  | {
      kind: 'queued';
      executionId: ExecutionId;
      risk: Risk;
      reasons: string[];
      allowedBy: AllowedBy;
    }
  | {
      kind: 'waiting';
      executionId: ExecutionId;
      approvalId: ApprovalId;
      expiresAt: Date;
      risk: Risk;
      reasons: string[];
    }
  | { kind: 'twin'; executionId: ExecutionId; shortId: string };

/** How many denials in one turn on one target end the asking there (A18). */
const DENIALS_BEFORE_BREAK = 2;

/**
 * Takes in a command: resolves the target (P9), judges it (P1 to P6), looks for what allows it, and stores the execution
 * as queued or, with an approval, as waiting (X1, A1). Nothing is sent to the target here.
 *
 * Throws `TargetError` for a target that no command is sent to, `command_invalid` for text that is no command, and
 * `asking_stopped` after two denials in the turn on this target (A18).
 */
export async function requestExecution(
  unit: Unit,
  request: ExecutionRequest,
): Promise<RequestOutcome> {
  if (request.sessionId !== null) await lockSession(unit, request.sessionId);
  checkCommand(request.command);
  const { entityId, target, tags } = await resolveTarget(unit.db, request.target);
  const hash = commandHash(target, request.command);
  const twin = await findTwin(unit, request.sessionId, hash);
  if (twin !== null) return twin;
  const blast = await blastRadius(unit.db, entityId);
  const verdict = assess({
    command: request.command,
    declared: request.declaredRisk,
    target,
    tags,
    blast,
  });
  if (verdict.risk !== 'read_only') await checkBreaker(unit, request, target.slug);

  const permission = await findPermission(unit, request, entityId, verdict);
  const id = newId<ExecutionId>();
  const waits = permission === null;
  const approval = waits
    ? await requestApproval(unit, {
        sessionId: request.sessionId,
        turnId: request.turnId,
        passId: request.passId,
        risk: verdict.risk,
        subjectHash: subjectHash([
          coveredHash({ commandHash: hash, preview: request.preview ?? null }),
        ]),
        needsRole: verdict.needsRole,
        needsPeople: verdict.needsPeople,
      })
    : null;
  const status = waits ? 'pending_approval' : 'queued';
  await unit.db.execution.create({
    data: {
      id,
      shortId: newShortId(),
      sessionId: request.sessionId,
      turnId: request.turnId,
      passId: request.passId,
      toolCallId: request.toolCallId,
      entityId,
      targetSlug: target.slug,
      target,
      command: request.command,
      commandHash: hash,
      purpose: request.purpose,
      declaredRisk: request.declaredRisk ?? null,
      risk: verdict.risk,
      reasons: verdict.reasons,
      blast,
      ...(request.preview === undefined ? {} : { preview: request.preview }),
      status,
      allowedBy: permission?.by ?? null,
      grantId: permission?.grant?.id ?? null,
      approvalId: approval?.approvalId ?? null,
      timeoutMs: Math.min(request.timeoutMs ?? limits().executionTimeoutMs, MAX_EXECUTION_MS),
      // What waits for a person is not waited for by the pass: its end wakes the agent (J1).
      continuation: waits ? 'due' : 'awaited',
      queuedAt: waits ? null : new Date(),
    },
  });
  recordMove(
    unit,
    { id, sessionId: request.sessionId, targetSlug: target.slug },
    'requested',
    status,
    {
      actor: request.actor ?? 'agent',
      data: {
        hash,
        risk: verdict.risk,
        allowedBy: permission?.by ?? null,
        ...(permission?.grant === undefined ? {} : { grant: permission.grant.id }),
      },
    },
  );
  if (request.sessionId !== null) await refreshStatus(unit, request.sessionId);
  if (permission !== null) {
    return {
      kind: 'queued',
      executionId: id,
      risk: verdict.risk,
      reasons: verdict.reasons,
      allowedBy: permission.by,
    };
  }
  if (approval === null) throw new Error('an execution that waits has an approval');
  return {
    kind: 'waiting',
    executionId: id,
    ...approval,
    risk: verdict.risk,
    reasons: verdict.reasons,
  };
}

function checkCommand(command: string): void {
  const fault = commandFault(command);
  if (fault !== undefined) {
    throw new NomosError(
      'command_invalid',
      'model',
      `This is no command that can be run: ${fault}`,
    );
  }
}

function commandFault(command: string): string | undefined {
  if (command.trim() === '') return 'it is empty.';
  if (command.includes('\0')) return 'it contains a NUL character, which no shell takes.';
  if (!command.isWellFormed())
    return 'it contains half of a surrogate pair, which is no valid text.';
  const bytes = Buffer.byteLength(command);
  if (bytes > MAX_COMMAND_BYTES) {
    return `it is ${bytes} bytes long; at most ${MAX_COMMAND_BYTES} are taken. Put long content into a file on the target in parts.`;
  }
  return undefined;
}

async function findTwin(
  unit: Unit,
  sessionId: SessionId | null,
  hash: string,
): Promise<RequestOutcome | null> {
  if (sessionId === null) return null;
  const twin = await unit.db.execution.findFirst({
    where: { sessionId, commandHash: hash, status: 'pending_approval' },
    select: { id: true, shortId: true },
  });
  return twin === null
    ? null
    : { kind: 'twin', executionId: twin.id as ExecutionId, shortId: twin.shortId };
}

async function checkBreaker(
  unit: Unit,
  request: ExecutionRequest,
  targetSlug: string,
): Promise<void> {
  if (request.turnId === null) return;
  const rows = await unit.db.$queryRaw<Array<{ denials: bigint }>>(sql`
    SELECT count(DISTINCT coalesce(approval_id, id)) AS denials FROM executions
    WHERE turn_id = ${request.turnId}::uuid AND target_slug = ${targetSlug} AND status = 'denied'`);
  if ((rows[0]?.denials ?? 0n) >= BigInt(DENIALS_BEFORE_BREAK)) {
    throw new NomosError(
      'asking_stopped',
      'model',
      `The operator denied ${DENIALS_BEFORE_BREAK} changes on ${targetSlug} in this turn; no further change can be asked for there now.`,
      { hint: 'Use ask_operator to find out what is wanted.' },
    );
  }
}

/** What lets a command run without asking: its class, or a grant. Null when it must wait. */
async function findPermission(
  unit: Unit,
  request: ExecutionRequest,
  entityId: Parameters<typeof coveringGrant>[1]['entityId'],
  verdict: ReturnType<typeof assess>,
): Promise<{ by: 'class' | 'grant'; grant?: Grant } | null> {
  if (await isPaused(unit.db)) return null;
  if (verdict.risk === 'read_only') return { by: 'class' };
  if (request.sessionId === null || verdict.alwaysAsk) return null;
  const grant = await coveringGrant(unit, {
    sessionId: request.sessionId,
    entityId,
    risk: verdict.risk,
  });
  return grant === null ? null : { by: 'grant', grant };
}
