import { waitingApprovals } from '../approvals/waiting.ts';
import type { Reader } from '../db/database.ts';
import type { Execution, PlanStep, Session } from '../db/rows.ts';
import { listEntities, type EntityListing } from '../graph/read.ts';
import type { SessionId } from '../ids.ts';
import { isPaused } from '../policy/pause.ts';
import { formatDuration } from '../text/duration.ts';
import { cutLabel } from '../text/label.ts';

/** How many machines are listed one by one; with more, they are counted. */
const MAX_MACHINES = 60;
const MACHINE_TYPES = ['host', 'vm', 'lxc'] as const;
const MAX_STEPS = 40;

/** The fleet and the task as they are now, in words for the end of each request (L8): bounded, however big both are. */
export async function readState(db: Reader, sessionId: SessionId, given?: Date): Promise<string> {
  // Most of it is empty most times, and this is asked before each call of the model: looked at all at once first.
  const there = await whatIsThere(db, sessionId);
  // Ends are judged by the database's clock; telling them by another would be untrue (R14).
  const now = given ?? there.now;
  const [session, steps, approvals, questions, running, grants, paused, machines] =
    await Promise.all([
      db.session.findUniqueOrThrow({ where: { id: sessionId } }),
      there.steps
        ? db.planStep.findMany({
            where: { sessionId, status: { not: 'replaced' } },
            orderBy: { seq: 'asc' },
          })
        : [],
      there.approvals ? waitingApprovals(db, { sessionId }) : [],
      there.questions
        ? db.question.findMany({
            where: { sessionId, status: 'open' },
            orderBy: { createdAt: 'asc' },
          })
        : [],
      there.executions
        ? db.execution.findMany({
            where: { sessionId, status: { in: ['approved', 'queued', 'running'] } },
            orderBy: { createdAt: 'asc' },
          })
        : [],
      there.grants
        ? db.grant.findMany({
            where: { sessionId, closedAt: null, expiresAt: { gt: now } },
            orderBy: { expiresAt: 'asc' },
          })
        : [],
      isPaused(db),
      listEntities(db, { types: MACHINE_TYPES, limit: 10_000 }),
    ]);
  const targets = await grantTargets(db, grants);
  return [
    `Now: ${now.toISOString().slice(0, 16)}Z`,
    taskLine(session),
    ...planLines(steps),
    ...approvals.flatMap((approval) => [
      ...(approval.kind === 'plan'
        ? [
            `Waiting for the operator: the plan (${approval.shortId}), needs a ✅, expires in ${formatDuration(approval.expiresAt.getTime() - now.getTime())}.`,
          ]
        : []),
      ...approval.executions.map(
        (execution) =>
          `Waiting for the operator: ${executionLine(execution)}, ${execution.risk}, ${approval.needsTyped ? 'needs a typed "I confirm"' : 'needs a ✅'}, expires in ${formatDuration(approval.expiresAt.getTime() - now.getTime())}.`,
      ),
    ]),
    ...questions.map((question) => `Open question: ${cutLabel(question.prompt, 200)}`),
    ...running.map(
      (execution) =>
        `${execution.status === 'running' ? 'Running' : 'About to run'}: ${executionLine(execution)}.`,
    ),
    ...grants.map((grant) => {
      const left = formatDuration(grant.expiresAt.getTime() - now.getTime());
      return grant.kind === 'task'
        ? `Granted for ${left} more: reversible_low and config_mutation run in this task without asking. Destructive commands still ask.`
        : `Granted for ${left} more: destructive commands on ${targets.get(grant.entityId ?? '') ?? 'its target'} in this task.`;
    }),
    ...(paused ? ['The kill switch is on: every command, reads too, waits for the operator.'] : []),
    ...fleetLines(machines, now),
  ].join('\n');
}

interface WhatIsThere {
  now: Date;
  steps: boolean;
  approvals: boolean;
  questions: boolean;
  executions: boolean;
  grants: boolean;
}

async function whatIsThere(db: Reader, sessionId: SessionId): Promise<WhatIsThere> {
  const [row] = await db.$queryRaw<[WhatIsThere]>`
    SELECT clock_timestamp() AS now,
      EXISTS (SELECT FROM plan_steps WHERE session_id = s.id AND status <> 'replaced') AS steps,
      EXISTS (SELECT FROM approvals WHERE session_id = s.id AND status = 'pending') AS approvals,
      EXISTS (SELECT FROM questions WHERE session_id = s.id AND status = 'open') AS questions,
      EXISTS (SELECT FROM executions WHERE session_id = s.id AND status IN ('approved', 'queued', 'running')) AS executions,
      EXISTS (SELECT FROM grants WHERE session_id = s.id AND closed_at IS NULL) AS grants
    FROM (VALUES (${sessionId}::uuid)) AS s (id)`;
  return row;
}

async function grantTargets(
  db: Reader,
  grants: ReadonlyArray<{ entityId: string | null }>,
): Promise<Map<string, string>> {
  const ids = grants.flatMap((grant) => (grant.entityId === null ? [] : [grant.entityId]));
  if (ids.length === 0) return new Map();
  const rows = await db.entity.findMany({
    where: { id: { in: ids } },
    select: { id: true, slug: true },
  });
  return new Map(rows.map((row) => [row.id, row.slug]));
}

function taskLine(session: Session): string {
  const goal = session.goal === null ? 'no goal set' : `goal: ${cutLabel(session.goal, 200)}`;
  return `Task ${session.shortId}: ${goal}; status ${session.status}${session.outcome === null ? '' : `, outcome ${session.outcome}`}.`;
}

function planLines(steps: readonly PlanStep[]): string[] {
  if (steps.length === 0) return [];
  const shown = steps.slice(-MAX_STEPS);
  const hidden = steps.length - shown.length;
  return [
    `Plan (${steps.filter((step) => step.status === 'done').length} of ${steps.length} done${hidden > 0 ? `, the first ${hidden} not shown` : ''}):`,
    ...shown.map(
      (step) =>
        `  ${step.seq}. ${step.status}: ${cutLabel(step.title, 120)}${step.note === null ? '' : ` (${cutLabel(step.note, 120)})`}`,
    ),
  ];
}

function executionLine(execution: Execution): string {
  return `${execution.shortId} on ${execution.targetSlug} (${cutLabel(execution.purpose, 80)})`;
}

function fleetLines(machines: readonly EntityListing[], now: Date): string[] {
  if (machines.length === 0) return ['Fleet: no machine in the graph.'];
  if (machines.length > MAX_MACHINES) {
    const counts = new Map<string, number>();
    for (const { type, state, health } of machines) {
      const kind = `${type} ${state}, health ${health}`;
      counts.set(kind, (counts.get(kind) ?? 0) + 1);
    }
    return [
      `Fleet: ${machines.length} machines (list_entities shows them):`,
      ...[...counts].map(([kind, count]) => `  ${count} × ${kind}`),
    ];
  }
  return ['Fleet:', ...machines.map((machine) => `  ${machineLine(machine, now)}`)];
}

function machineLine(machine: EntityListing, now: Date): string {
  const { lan_address, address, role } = machine.attributes;
  const facts = [
    machine.state,
    machine.checkedAt === null
      ? 'health unknown'
      : `${machine.health} ${formatDuration(now.getTime() - machine.checkedAt.getTime())} ago`,
    ...[lan_address ?? address, role]
      .filter((fact) => typeof fact === 'string')
      .map((fact) => cutLabel(fact, 60)),
  ];
  return `${machine.slug}: ${facts.join(', ')}`;
}
