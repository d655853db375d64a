import { sql, type Unit } from '../db/database.ts';
import type { Grant } from '../db/rows.ts';
import { NomosError } from '../errors.ts';
import { blastRadius, type BlastRadius } from '../graph/blast-radius.ts';
import { resolveTarget, type StoredTarget } from '../graph/targets.ts';
import type { EntityId, ExecutionId, SessionId } from '../ids.ts';
import { assess } from '../policy/assess.ts';
import { coveringGrant } from '../policy/grants.ts';
import { isPaused } from '../policy/pause.ts';
import type { RuleVerdict } from '../policy/rules.ts';
import { commandHash } from './hash.ts';
import { MAX_COMMAND_BYTES } from './remote/protocol.ts';
import type { ExecutionRequest } from './request.ts';
import { readScripts } from './scripts.ts';

/** How many denials in one turn on one target end the asking there (A18). */
const DENIALS_BEFORE_BREAK = 2;

/** How many earlier changes of a task on a target a command is held against (P4). */
const CHANGES_LOOKED_AT = 30;

/** A command on one target, judged: what it is, where it goes, and what lets it run without asking, if anything does. */
export interface Judged {
  entityId: EntityId;
  target: StoredTarget;
  hash: string;
  blast: BlastRadius;
  verdict: RuleVerdict;
  permission: { by: 'class' | 'grant'; grant?: Grant } | null;
}

/** The same command, waiting on the same target already (A13). */
export interface Twin {
  executionId: ExecutionId;
  shortId: string;
  targetSlug: string;
}

/**
 * Resolves the target (P9), judges the command there (P1 to P6) and looks for what allows it. A twin comes first. The caller
 * holds the task's lock.
 *
 * Throws `TargetError` for a target that no command is sent to, `command_invalid` for text that is no command, and
 * `asking_stopped` after two denials in the turn on this target (A18).
 */
export async function judge(
  unit: Unit,
  request: ExecutionRequest,
): Promise<{ twin: Twin } | { twin: null; judged: Judged }> {
  checkCommand(request.command);
  const { entityId, target, tags } = await resolveTarget(unit.db, request.target);
  const hash = commandHash(target, request.command);
  const twin = await findTwin(unit, request.sessionId, hash);
  if (twin !== null) return { twin };
  const blast = await blastRadius(unit.db, entityId);
  const verdict = assess({
    command: request.command,
    before: await changesBefore(unit, request, entityId),
    scripts: request.scripts?.flatMap(({ text, shown, program }) =>
      text === null ? [] : [{ shown, program, text }],
    ),
    declared: request.declaredRisk,
    target,
    tags,
    blast,
  });
  if (verdict.risk !== 'read_only') await checkBreaker(unit, request, target.slug);
  const paused = await isPaused(unit.db);
  // A read that waits would be a riddle otherwise; its card keeps the reason when the pause is over (P5, P7).
  if (paused) verdict.reasons.unshift('Nomos was paused when this was asked for, so it waits');
  const permission = paused ? null : await findPermission(unit, request, entityId, verdict);
  return { twin: null, judged: { entityId, target, hash, blast, verdict, permission } };
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

/** What waits in a task as this very command on this very target. Null without a task. */
export async function findTwin(
  unit: Unit,
  sessionId: SessionId | null,
  hash: string,
): Promise<Twin | null> {
  if (sessionId === null) return null;
  const twin = await unit.db.execution.findFirst({
    where: { sessionId, commandHash: hash, status: 'pending_approval' },
    select: { id: true, shortId: true, targetSlug: true },
  });
  return twin === null
    ? null
    : {
        executionId: twin.id as ExecutionId,
        shortId: twin.shortId,
        targetSlug: twin.targetSlug,
      };
}

/** The changes that this task asked for on this target before, newest first, but for what never ran and never will. */
async function changesBefore(
  unit: Unit,
  { sessionId }: ExecutionRequest,
  entityId: EntityId,
): Promise<string[]> {
  if (sessionId === null) return [];
  const rows = await unit.db.execution.findMany({
    where: {
      ...{ sessionId, entityId, risk: { not: 'read_only' } },
      status: { notIn: ['denied', 'revoked', 'expired'] },
    },
    orderBy: { createdAt: 'desc' },
    select: { command: true },
    take: CHANGES_LOOKED_AT,
  });
  return rows.map(({ command }) => command);
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

/**
 * Whether a script that the command runs was found changed on this target before a start in this task. Whoever changed it waited
 * for a yes, so what it holds now is for a person to see, whatever grant there is.
 */
export async function scriptWasChanged(
  unit: Unit,
  run: {
    sessionId: string | null;
    entityId: string;
    scripts: ReadonlyArray<{ path: string | null; shown: string }>;
  },
): Promise<boolean> {
  const { sessionId, entityId } = run;
  const paths = run.scripts.map(({ path, shown }) => path ?? shown);
  if (sessionId === null || paths.length === 0) return false;
  const rows = await unit.db.execution.findMany({
    where: { sessionId, entityId, errorCode: 'ssh_script_changed' },
    select: { scripts: true },
  });
  return rows.some((row) =>
    readScripts(row.scripts)?.files.some(({ path, shown }) => paths.includes(path ?? shown)),
  );
}

/** What lets a command run without asking: its class, or a grant. Null when it must wait. */
async function findPermission(
  unit: Unit,
  request: ExecutionRequest,
  entityId: Parameters<typeof coveringGrant>[1]['entityId'],
  verdict: ReturnType<typeof assess>,
): Promise<{ by: 'class' | 'grant'; grant?: Grant } | null> {
  if (verdict.risk === 'read_only') return { by: 'class' };
  if (request.sessionId === null || verdict.alwaysAsk) return null;
  const { sessionId, scripts = [] } = request;
  if (await scriptWasChanged(unit, { sessionId, entityId, scripts })) return null;
  const grant = await coveringGrant(unit, {
    sessionId: request.sessionId,
    entityId,
    risk: verdict.risk,
  });
  return grant === null ? null : { by: 'grant', grant };
}
