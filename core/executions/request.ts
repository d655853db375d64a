import type { Unit } from '../db/database.ts';
import type { AllowedBy } from '../db/rows.ts';
import { requestApproval } from '../approvals/request.ts';
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
import type { Risk } from '../policy/risk.ts';
import { lockSession } from '../tasks/lock.ts';
import { refreshStatus } from '../tasks/status.ts';
import { subjectHash } from './hash.ts';
import { judge, type Judged } from './judge.ts';
import { coveredHash, type Preview } from './preview.ts';
import type { Registration } from './registration.ts';
import { storedScripts, type SeenScript } from './scripts.ts';
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
  /** The container that it makes (X11). */
  registers?: Registration | undefined;
  /** What the operator should know of how the command came about; stands on the card under the reasons. */
  notes?: readonly string[] | undefined;
  /** The scripts that it runs, as they were found on the target (A16). */
  scripts?: readonly SeenScript[] | undefined;
  /** Milliseconds; the configured default, 60 minutes at most (X3). */
  timeoutMs?: number | undefined;
  /** Its end wakes nobody: whoever asks uses what it says by itself. */
  silent?: boolean | undefined;
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

/**
 * Takes in a command: judges it, and stores the execution as queued or, with an approval, as waiting (X1, A1). Nothing is sent
 * to the target here. Throws as `judge` does.
 */
export async function requestExecution(
  unit: Unit,
  request: ExecutionRequest,
): Promise<RequestOutcome> {
  if (request.sessionId !== null) await lockSession(unit, request.sessionId);
  const found = await judge(unit, request);
  if (found.twin !== null) {
    const { executionId, shortId } = found.twin;
    return { kind: 'twin', executionId, shortId };
  }
  const { judged } = found;
  const { verdict, permission } = judged;
  const approval =
    permission === null
      ? await requestApproval(unit, {
          sessionId: request.sessionId,
          turnId: request.turnId,
          passId: request.passId,
          risk: verdict.risk,
          subjectHash: subjectHash([
            coveredHash({
              commandHash: judged.hash,
              preview: request.preview ?? null,
              registers: request.registers ?? null,
              scripts: storedScripts(request.scripts) ?? null,
            }),
          ]),
          needsRole: verdict.needsRole,
          needsPeople: verdict.needsPeople,
        })
      : null;
  const executionId = await storeExecution(unit, request, judged, {
    approvalId: approval?.approvalId ?? null,
  });
  if (request.sessionId !== null) await refreshStatus(unit, request.sessionId);
  const { risk, reasons } = verdict;
  if (permission !== null)
    return { kind: 'queued', executionId, risk, reasons, allowedBy: permission.by };
  if (approval === null) throw new Error('an execution that waits has an approval');
  return { kind: 'waiting', executionId, ...approval, risk, reasons };
}

/** Stores a judged command: waiting for the approval that is given, else queued by its permission. */
export async function storeExecution(
  unit: Unit,
  request: ExecutionRequest,
  judged: Judged,
  place: { approvalId: ApprovalId | null; batch?: { id: string; index: number; canary: boolean } },
): Promise<ExecutionId> {
  const { target, hash, verdict } = judged;
  const waits = place.approvalId !== null;
  const permission = waits ? null : judged.permission;
  if (!waits && permission === null) throw new Error('an execution runs by a permission');
  const scripts = storedScripts(request.scripts);
  const id = newId<ExecutionId>();
  const status = waits ? 'pending_approval' : 'queued';
  await unit.db.execution.create({
    data: {
      id,
      shortId: newShortId(),
      sessionId: request.sessionId,
      turnId: request.turnId,
      passId: request.passId,
      toolCallId: request.toolCallId,
      batchId: place.batch?.id ?? null,
      batchIndex: place.batch?.index ?? null,
      batchCanary: place.batch?.canary ?? false,
      entityId: judged.entityId,
      targetSlug: target.slug,
      target,
      command: request.command,
      commandHash: hash,
      purpose: request.purpose,
      declaredRisk: request.declaredRisk ?? null,
      risk: verdict.risk,
      reasons: [...verdict.reasons, ...(request.notes ?? [])],
      blast: judged.blast,
      ...(request.preview === undefined ? {} : { preview: request.preview }),
      ...(request.registers === undefined ? {} : { registers: request.registers }),
      ...(scripts === undefined ? {} : { scripts }),
      status,
      allowedBy: permission?.by ?? null,
      grantId: permission?.grant?.id ?? null,
      approvalId: place.approvalId,
      timeoutMs: Math.min(request.timeoutMs ?? limits().executionTimeoutMs, MAX_EXECUTION_MS),
      // What waits for a person is not waited for by the pass: its end wakes the agent (J1).
      continuation: request.silent === true ? 'suppressed' : waits ? 'due' : 'awaited',
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
  return id;
}
