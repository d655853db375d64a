import { z } from 'zod';
import { AllowedBy, ExecutionStatus, type Execution } from '../../db/rows.ts';
import type { Reader } from '../../db/database.ts';
import { NotFoundError } from '../../errors.ts';
import { requestCancel } from '../../executions/cancel.ts';
import { blastShape } from '../../graph/blast-radius.ts';
import { targetShape } from '../../graph/targets.ts';
import type { ExecutionId, SessionId } from '../../ids.ts';
import { RISKS } from '../../policy/risk.ts';
import { act } from '../actor.ts';
import { listExecutions } from '../execution-list.ts';
import { idOut, pageSize, rowId, stored } from '../fields.ts';
import { changeRoute, lookRoute, type Route } from '../route.ts';

const byId = z.strictObject({ id: rowId<ExecutionId>('execution') });
const pageQuery = z.strictObject({
  status: z.enum(ExecutionStatus).optional(),
  limit: pageSize({ max: 200, otherwise: 50 }),
  before: rowId<ExecutionId>('execution').optional().describe('The `next` of the page before.'),
});
const listQuery = pageQuery.extend({ session: rowId<SessionId>('task').optional() });

const listing = z.object({
  id: idOut,
  shortId: z.string(),
  sessionId: idOut.nullable().describe('Null once its task was deleted.'),
  target: z.string().describe('The slug of the host or container.'),
  command: z.string(),
  purpose: z.string(),
  risk: z.enum(RISKS),
  status: z.enum(ExecutionStatus),
  allowedBy: z.enum(AllowedBy).nullable(),
  approvalId: idOut.nullable(),
  exitCode: z.int().nullable(),
  signal: z.string().nullable(),
  errorCode: z.string().nullable(),
  error: z.string().nullable(),
  createdAt: z.date(),
  startedAt: z.date().nullable(),
  endedAt: z.date().nullable(),
});
const page = z.object({
  executions: z.array(listing),
  next: idOut.nullable().describe('The `before` of the following page; null at the end.'),
});
const whole = listing.extend({
  turnId: idOut.nullable(),
  host: targetShape.shape.host.describe('The machine that is connected to.'),
  container: targetShape.shape.container.unwrap().nullable(),
  declaredRisk: z.enum(RISKS).nullable().describe('What the agent thought; it can only raise.'),
  reasons: stored(z.array(z.string())).describe('Why it has this risk.'),
  blastRadius: stored(blastShape).describe('What depends on the target.'),
  grantId: idOut.nullable(),
  timeoutMs: z.int(),
  cancelRequestedBy: z.string().nullable(),
  tail: z.string().describe('The last lines of its output.'),
  stdoutBytes: z.bigint(),
  stderrBytes: z.bigint(),
  queuedAt: z.date().nullable(),
});

/** Executions: the list by status and task, one of them, its output, and cancel (H1, X5). */
export const executionRoutes: readonly Route[] = [
  lookRoute({
    path: '/api/v1/executions',
    tag: 'executions',
    summary: 'Executions, the newest first',
    query: listQuery,
    answer: page,
    handle: ({ deps, query }) => listExecutions(deps.database.read, query),
  }),
  lookRoute({
    path: '/api/v1/sessions/:id/executions',
    tag: 'executions',
    summary: 'The executions of a task, the newest first',
    params: z.strictObject({ id: rowId<SessionId>('task') }),
    query: pageQuery,
    answer: page,
    async handle({ deps, params: { id }, query }) {
      const db = deps.database.read;
      if ((await db.session.count({ where: { id } })) === 0) throw new NotFoundError('task', id);
      return listExecutions(db, { ...query, session: id });
    },
  }),
  lookRoute({
    path: '/api/v1/executions/:id',
    tag: 'executions',
    summary: 'One execution',
    params: byId,
    answer: whole,
    handle: async ({ deps, params: { id } }) => shown(await find(deps.database.read, id)),
  }),
  lookRoute({
    path: '/api/v1/executions/:id/output',
    tag: 'executions',
    summary: 'What is kept of the output',
    notes: 'Up to 1 MiB of each stream; the byte counts say how much there was (X4).',
    params: byId,
    answer: z.object({
      status: z.enum(ExecutionStatus),
      stdout: z.string(),
      stderr: z.string(),
      stdoutBytes: z.bigint(),
      stderrBytes: z.bigint(),
    }),
    async handle({ deps, params: { id } }) {
      const row = await find(deps.database.read, id);
      return {
        status: row.status,
        stdout: row.stdout,
        stderr: row.stderr,
        stdoutBytes: row.stdoutBytes,
        stderrBytes: row.stderrBytes,
      };
    },
  }),
  changeRoute({
    method: 'post',
    path: '/api/v1/executions/:id/cancel',
    tag: 'executions',
    summary: 'Cancel an execution',
    notes:
      '`cancelled`: it had not started. `requested`: it runs, and is being ended on its target. `already_ended`.',
    scope: 'operate',
    role: 'approver',
    params: byId,
    answer: z.object({ result: z.enum(['cancelled', 'requested', 'already_ended']) }),
    async handle({ deps, params: { id: executionId }, actor }) {
      const result = await act(
        deps.database,
        actor,
        { action: 'execution.cancel', subject: executionId },
        (unit) => requestCancel(unit, { executionId, by: actor.operator.userId }),
      );
      return { result };
    },
  }),
];

async function find(db: Reader, executionId: ExecutionId): Promise<Execution> {
  const row = await db.execution.findUnique({ where: { id: executionId } });
  if (row === null) throw new NotFoundError('execution', executionId);
  return row;
}

function shown(row: Execution): z.input<typeof whole> {
  const { host, container } = targetShape.parse(row.target);
  return {
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
}
