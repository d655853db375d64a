import type Router from '@koa/router';
import { z } from 'zod';
import type { Reader } from '../../db/database.ts';
import { ExecutionStatus, type Execution } from '../../db/rows.ts';
import { NotFoundError } from '../../errors.ts';
import { requestCancel } from '../../executions/cancel.ts';
import { targetShape } from '../../graph/targets.ts';
import { isRowId, type ExecutionId } from '../../ids.ts';
import { act, actorOf } from '../actor.ts';
import type { ApiDeps } from '../app.ts';
import { needsScope } from '../auth.ts';
import { readBody, readId, readQuery } from '../body.ts';
import { listExecutions } from '../execution-list.ts';
import { count } from '../fields.ts';

const id = z.string().refine(isRowId, 'no id; ids are UUIDs in lower case');
const listQuery = z.strictObject({
  status: z.enum(ExecutionStatus).optional(),
  session: id.optional(),
  limit: count({ min: 1, max: 200 }).default(50),
  /** The `next` of the page before. */
  before: id.optional(),
});
const emptyBody = z.strictObject({});

/** Executions: the list by status and task, one of them, its output, and cancel (H1, X5). */
export function executionRoutes(router: Router, deps: ApiDeps): void {
  const db = deps.database.read;

  router.get('/api/v1/executions', needsScope('read'), async (ctx) => {
    ctx.body = await listExecutions(db, readQuery(ctx, listQuery));
  });

  router.get('/api/v1/executions/:id', needsScope('read'), async (ctx) => {
    const row = await find(db, readId<ExecutionId>(ctx.params['id'], 'execution'));
    const { host, container } = targetShape.parse(row.target);
    ctx.body = {
      id: row.id,
      shortId: row.shortId,
      sessionId: row.sessionId,
      turnId: row.turnId,
      target: row.targetSlug,
      host,
      container: container ?? null,
      command: row.command,
      purpose: row.purpose,
      declaredRisk: row.declaredRisk,
      risk: row.risk,
      reasons: row.reasons,
      blastRadius: row.blast,
      status: row.status,
      allowedBy: row.allowedBy,
      approvalId: row.approvalId,
      grantId: row.grantId,
      timeoutMs: row.timeoutMs,
      exitCode: row.exitCode,
      signal: row.signal,
      errorCode: row.errorCode,
      error: row.error,
      cancelRequestedBy: row.cancelRequestedBy,
      tail: row.tail,
      stdoutBytes: row.stdoutBytes,
      stderrBytes: row.stderrBytes,
      createdAt: row.createdAt,
      queuedAt: row.queuedAt,
      startedAt: row.startedAt,
      endedAt: row.endedAt,
    };
  });

  // What is kept of the output: up to 1 MiB each; the byte counts say how much there was (X4).
  router.get('/api/v1/executions/:id/output', needsScope('read'), async (ctx) => {
    const row = await find(db, readId<ExecutionId>(ctx.params['id'], 'execution'));
    ctx.body = {
      status: row.status,
      stdout: row.stdout,
      stderr: row.stderr,
      stdoutBytes: row.stdoutBytes,
      stderrBytes: row.stderrBytes,
    };
  });

  router.post('/api/v1/executions/:id/cancel', needsScope('operate'), async (ctx) => {
    const executionId = readId<ExecutionId>(ctx.params['id'], 'execution');
    await readBody(ctx, emptyBody);
    const actor = actorOf(ctx, deps.operators, 'approver');
    const result = await act(
      deps.database,
      actor,
      { action: 'execution.cancel', subject: executionId },
      (unit) => requestCancel(unit, { executionId, by: actor.operator.userId }),
    );
    ctx.body = { result };
  });
}

async function find(db: Reader, executionId: ExecutionId): Promise<Execution> {
  const row = await db.execution.findUnique({ where: { id: executionId } });
  if (row === null) throw new NotFoundError('execution', executionId);
  return row;
}
