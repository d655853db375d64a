import type { Unit } from '../../db/database.ts';
import { requestApproval } from '../../approvals/request.ts';
import { newId, type ExecutionId } from '../../ids.ts';
import { roleCovers, type Role } from '../../operators.ts';
import { stricter, type Risk } from '../../policy/risk.ts';
import { lockSession } from '../../tasks/lock.ts';
import { refreshStatus } from '../../tasks/status.ts';
import { subjectHash } from '../hash.ts';
import { judge, type Judged, type Twin } from '../judge.ts';
import { coveredHash, type Preview } from '../preview.ts';
import { storeExecution, type ExecutionRequest } from '../request.ts';
import { storedScripts, type SeenScript } from '../scripts.ts';

/** One command for several targets (X13). */
export interface BatchRequest extends Omit<ExecutionRequest, 'target' | 'preview' | 'scripts'> {
  targets: readonly string[];
  /** What a dry run on each target said, by the target's name in `targets` (A19). */
  previews?: ReadonlyMap<string, Preview> | undefined;
  /** The scripts that it runs, as they were found on each target, by the target's name in `targets` (A16). */
  scripts?: ReadonlyMap<string, readonly SeenScript[]> | undefined;
  /** The first target alone, the rest only if it succeeds there. */
  canary: boolean;
}

/** What was looked at on one target before the request. */
type Seen = Pick<ExecutionRequest, 'preview' | 'scripts'>;

/** What became of the request: an execution for each target, but for those where the same waits already (A13). */
export interface BatchOutcome {
  batchId: string;
  executions: ExecutionId[];
  twins: Twin[];
}

/**
 * Takes in one command for several targets: each is an execution of its own. If any of them must wait for a person, all of them
 * wait, for one approval over exactly this list: its hash is that of all in order (A16). One target that no command is sent to
 * refuses the whole list, and nothing is stored. Throws as `judge` does.
 */
export async function requestBatch(unit: Unit, request: BatchRequest): Promise<BatchOutcome> {
  if (request.sessionId !== null) await lockSession(unit, request.sessionId);
  const list: Judged[] = [];
  const twins: Twin[] = [];
  const known = new Set<string>();
  const seen = new Map<string, Seen>();
  for (const target of request.targets) {
    const scripts = request.scripts?.get(target);
    const found = await judge(unit, { ...request, target, scripts });
    if (found.twin !== null) twins.push(found.twin);
    else if (!known.has(found.judged.target.slug)) list.push(found.judged);
    if (found.twin !== null) continue;
    known.add(found.judged.target.slug);
    seen.set(found.judged.target.slug, { preview: request.previews?.get(target), scripts });
  }
  const batchId = newId();
  const waits = list.some(({ permission }) => permission === null);
  const approvalId = waits
    ? (
        await requestApproval(unit, {
          sessionId: request.sessionId,
          turnId: request.turnId,
          passId: request.passId,
          subjectHash: subjectHash(
            list.map(({ hash, target }) => {
              const { preview = null, scripts } = seen.get(target.slug) ?? {};
              return coveredHash({
                commandHash: hash,
                preview,
                registers: null,
                scripts: storedScripts(scripts) ?? null,
              });
            }),
          ),
          ...strictest(list),
        })
      ).approvalId
    : null;
  const executions: ExecutionId[] = [];
  for (const [index, judged] of list.entries()) {
    executions.push(
      await storeExecution(
        unit,
        {
          ...request,
          target: judged.target.slug,
          scripts: undefined,
          ...seen.get(judged.target.slug),
        },
        judged,
        { approvalId, batch: { id: batchId, index, canary: request.canary } },
      ),
    );
  }
  if (request.sessionId !== null) await refreshStatus(unit, request.sessionId);
  return { batchId, executions, twins };
}

/** Who has to say yes to all of it: whatever any one of the targets asks for. */
function strictest(list: readonly Judged[]): { risk: Risk; needsRole: Role; needsPeople: number } {
  return list.reduce<{ risk: Risk; needsRole: Role; needsPeople: number }>(
    (all, { verdict }) => ({
      risk: stricter(all.risk, verdict.risk),
      needsRole: roleCovers(verdict.needsRole, all.needsRole) ? verdict.needsRole : all.needsRole,
      needsPeople: Math.max(all.needsPeople, verdict.needsPeople),
    }),
    { risk: 'read_only', needsRole: 'approver', needsPeople: 1 },
  );
}
