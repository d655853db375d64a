/**
 * The one audit that follows every round: the whole database against itself and against what the hosts wrote. It gives what
 * is wrong, in words that begin with the invariant's id; nothing wrong is an empty list.
 */
import type { Database } from '../../../core/db/database.ts';
import type { Execution } from '../../../core/db/rows.ts';
import { isFinal } from '../../../core/executions/states.ts';
import { deliveriesOf } from './deliveries.ts';
import { auditRecord } from './audit-record.ts';
import { auditRooms, type AuditedRooms } from './audit-rooms.ts';
import { auditSweeps } from './audit-sweeps.ts';
import type { OperatorAtWork } from './people.ts';
import type { FaultWorld, HostLine } from './world.ts';

/** What the audit looks at. */
export type Audited = Pick<FaultWorld, 'database' | 'hostLog' | 'clockMoved'> & {
  readonly matrix: AuditedRooms | undefined;
};
/** What the operator said. */
export type Said = Pick<OperatorAtWork, 'asked' | 'said'>;

/** Looks at everything once work has come to rest. */
export async function audit(world: Audited, operator: Said): Promise<string[]> {
  const { database } = world;
  const executions = await database.read.execution.findMany({ orderBy: { createdAt: 'asc' } });
  const starts = byExecution(world.hostLog('starts'));
  const ends = byExecution(world.hostLog('ends'));
  return [
    ...strangers(executions, starts),
    ...startedOnce(starts),
    ...truthful(world, executions, starts, ends),
    ...(await allowed(world)),
    ...(await decidedOnce(database)),
    ...(await messagesWorkedOn(database, operator)),
    ...(await atRest(database)),
    ...(await wokenOnce(world, executions)),
    ...(await auditRooms(world, operator)),
    ...(await auditRecord(database)),
    ...(await auditSweeps(world)),
  ];
}

function byExecution(lines: readonly HostLine[]): Map<string, HostLine[]> {
  return Map.groupBy(lines, (line) => line.executionId);
}

/** R1: what ran on a host without an execution of ours behind it. */
function strangers(executions: readonly Execution[], starts: Map<string, HostLine[]>): string[] {
  const known = new Set(executions.map(({ id }) => id));
  return [...starts]
    .filter(([id]) => !known.has(id))
    .map(([id, lines]) => `R1: a host ran ${lines[0]?.token} as ${id}, which no row knows`);
}

/** R2: no command began twice. */
function startedOnce(starts: Map<string, HostLine[]>): string[] {
  return [...starts]
    .filter(([, lines]) => lines.length > 1)
    .map(([id, lines]) => `R2: ${id} (${lines[0]?.token}) started ${lines.length} times`);
}

/** R6: what the row says of an end is what the host saw. */
function truthful(
  world: Audited,
  executions: readonly Execution[],
  starts: Map<string, HostLine[]>,
  ends: Map<string, HostLine[]>,
): string[] {
  const wrong: string[] = [];
  for (const one of executions) {
    if (one.risk === 'read_only') continue;
    const began = starts.get(one.id)?.length ?? 0;
    const ended = ends.get(one.id)?.length ?? 0;
    const tell = (what: string): void => {
      wrong.push(
        `R6: ${one.shortId} (${one.purpose}) is ${one.status} (${one.errorCode ?? 'no error'}), but ${what} [${one.id}]`,
      );
    };
    switch (one.status) {
      case 'completed':
        if (began !== 1 || ended !== 1) tell(`began ${began} and ended ${ended} times`);
        break;
      case 'failed':
        if (one.exitCode !== null && (began !== 1 || ended !== 1))
          tell(`began ${began} and ended ${ended} times`);
        if (one.exitCode === null && one.errorCode !== 'timed_out' && began !== 0)
          tell('began all the same');
        break;
      case 'denied':
      case 'expired':
      case 'revoked':
        if (began !== 0) tell('ran all the same');
        break;
      case 'cancelled':
        if (one.startedAt === null && began !== 0) tell('ran all the same');
        break;
      default:
        break;
    }
    const row = starts.get(one.id)?.[0];
    // A host's clock is the machine's own here, so the row's start cannot be later than the command's.
    if (world.clockMoved) continue;
    if (row !== undefined && one.startedAt !== null && row.atMs < one.startedAt.getTime() - 50)
      tell(`began ${one.startedAt.getTime() - row.atMs} ms before it was claimed`);
  }
  return wrong;
}

/** R1, R14: each change that was claimed had its permission on record before, and that permission was good for it then. */
async function allowed({ database, clockMoved }: Audited): Promise<string[]> {
  const rows = await database.read.$queryRaw<Array<{ short_id: string; why: string }>>`
    SELECT e.short_id, CASE
        WHEN e.allowed_by IS NULL THEN 'nothing allowed it'
        WHEN e.allowed_by = 'class' THEN 'its class alone allowed a change'
        WHEN e.allowed_by = 'approval' AND a.id IS NULL THEN 'its approval is gone'
        WHEN e.allowed_by = 'approval' AND yes.id IS NULL THEN 'no approval is in the audit log before its start'
        WHEN e.allowed_by = 'grant' AND g.id IS NULL THEN 'its grant is gone'
        WHEN e.allowed_by = 'grant' AND g.session_id IS DISTINCT FROM e.session_id THEN 'its grant is another task''s'
        WHEN e.allowed_by = 'grant' AND e.risk = 'destructive' AND g.entity_id IS DISTINCT FROM e.entity_id THEN 'its grant is for another target'
        WHEN e.allowed_by = 'grant' AND e.risk <> 'destructive' AND g.kind <> 'task' THEN 'its grant is of the wrong kind'
        WHEN e.allowed_by = 'grant' AND ended.id IS NOT NULL THEN 'its grant''s end is in the audit log before its start'
        WHEN e.allowed_by = 'grant' AND NOT ${clockMoved} AND (g.expires_at < e.started_at OR g.closed_at < e.started_at - interval '100 milliseconds') THEN 'its grant had ended'
        WHEN e.allowed_by = 'grant' AND opened.id IS NULL THEN 'its grant''s opening is not in the audit log before its start'
        ELSE 'fine' END AS why
    FROM executions e
    JOIN audit_log started ON started.subject = e.id::text AND started.action = 'execution.running'
    LEFT JOIN approvals a ON a.id = e.approval_id
    LEFT JOIN audit_log yes ON yes.subject = a.id::text AND yes.action = 'approval.approved' AND yes.id < started.id
    LEFT JOIN grants g ON g.id = e.grant_id
    LEFT JOIN LATERAL (SELECT id FROM audit_log o WHERE o.subject = g.id::text
      AND o.action IN ('grant.opened', 'grant.reopened') AND o.id < started.id LIMIT 1) opened ON true
    LEFT JOIN LATERAL (SELECT id FROM audit_log o WHERE o.subject = g.id::text
      AND o.action IN ('grant.closed', 'grant.ended') AND o.id < started.id LIMIT 1) ended ON true
    WHERE e.risk <> 'read_only'`;
  return rows
    .filter(({ why }) => why !== 'fine')
    .map(({ short_id, why }) => `R1: ${short_id} was started, but ${why}`);
}

/** R3: a decision is on record once for each approval, and says what the approval says. */
async function decidedOnce(database: Database): Promise<string[]> {
  const rows = await database.read.$queryRaw<
    Array<{ short_id: string; status: string; decisions: string[] }>
  >`
    SELECT a.short_id, a.status::text, coalesce(array_agg(l.action ORDER BY l.id) FILTER (WHERE l.id IS NOT NULL), '{}') AS decisions
    FROM approvals a LEFT JOIN audit_log l ON l.subject = a.id::text
      AND l.action IN ('approval.approved', 'approval.denied', 'approval.expired', 'approval.withdrawn')
    GROUP BY a.id`;
  const right: Record<string, string> = {
    pending: '',
    cancelled: '',
    approved: 'approval.approved',
    denied: 'approval.denied',
    expired: 'approval.expired',
    withdrawn: 'approval.approved approval.withdrawn',
  };
  return rows
    .filter(({ status, decisions }) => decisions.join(' ') !== right[status])
    .map(
      ({ short_id, status, decisions }) =>
        `R3: approval ${short_id} is ${status}, its decisions are [${decisions.join(', ')}]`,
    );
}

/** R4: each thing that was asked for opened one task, and every message was read by a pass. */
async function messagesWorkedOn(database: Database, operator: Said): Promise<string[]> {
  const rows = await database.read.message.findMany({
    where: { eventId: { in: operator.asked } },
    select: { eventId: true },
  });
  const inbox = new Map(
    (await database.read.matrixInbox.findMany({ where: { eventId: { in: operator.asked } } })).map(
      ({ event: _event, position, ...row }) => [
        row.eventId,
        { ...row, position: Number(position) },
      ],
    ),
  );
  const taken = new Set(rows.map(({ eventId }) => eventId));
  const unread = await database.read.$queryRaw<Array<{ id: string; text: string }>>`
    SELECT m.id, m.text FROM messages m JOIN sessions s ON s.id = m.session_id
    WHERE m.role = 'operator' AND m.taken_in_at IS NULL AND m.redacted_at IS NULL AND s.archived_at IS NULL`;
  const tasks = await database.read.session.count();
  return [
    ...operator.asked
      .filter((id) => !taken.has(id))
      .map((id) => `R4: ${id} opened no task; in the inbox: ${JSON.stringify(inbox.get(id))}`),
    ...unread.map(({ text }) => `R4: no pass has read "${text.slice(0, 60)}"`),
    ...(tasks === operator.asked.length
      ? []
      : [`R4: ${operator.asked.length} tasks were asked for, ${tasks} were opened`]),
  ];
}

/** R6 and more: nothing is under way, and nothing waits for somebody who will not come. */
async function atRest(database: Database): Promise<string[]> {
  const { read } = database;
  const [executions, passes, approvals, open] = await Promise.all([
    read.execution.findMany({
      where: { status: { in: ['requested', 'approved', 'queued', 'running'] } },
    }),
    read.pass.findMany({ where: { state: { in: ['queued', 'running'] } } }),
    read.approval.findMany({
      where: { status: 'pending', session: { endedAt: { not: null } } },
    }),
    read.toolCall.findMany({
      where: {
        state: { in: ['requested', 'running'] },
        pass: { state: { in: ['done', 'failed'] } },
      },
    }),
  ]);
  return [
    ...executions.map(({ shortId, status }) => `R6: ${shortId} is still ${status}`),
    ...passes.map(({ id, state }) => `T4: pass ${id} is still ${state}`),
    ...approvals.map(({ shortId }) => `A14: approval ${shortId} waits in a task that ended`),
    ...open.map(({ name, id }) => `L6: call ${id} of ${name} has no end, but its pass has`),
  ];
}

/** R7: the agent heard of each end exactly once, or nobody was to be woken. */
async function wokenOnce(
  { database, clockMoved }: Audited,
  executions: readonly Execution[],
): Promise<string[]> {
  const wrong: string[] = [];
  const heard = await deliveriesOf(database);
  const sessions = new Map(
    (await database.read.session.findMany({ select: { id: true, endedAt: true } })).map((row) => [
      row.id,
      row.endedAt,
    ]),
  );
  const stopped = new Set(
    (
      await database.read.pass.findMany({ where: { state: 'cancelled' }, select: { id: true } })
    ).map(({ id }) => id),
  );
  const batches = Map.groupBy(executions, ({ batchId }) => batchId);
  for (const one of executions) {
    const name = `${one.shortId} (${one.purpose}, ${one.status})`;
    if (!isFinal(one.status)) continue;
    if (/^(Preview|Check): /.test(one.purpose)) {
      if (one.continuation !== 'suppressed' || heard.has(`${one.sessionId} ${one.shortId}`))
        wrong.push(
          `R7: ${name} goes before a change, but is ${one.continuation}, as if to be told`,
        );
      continue;
    }
    if (one.continuation === 'awaited' || one.continuation === 'due') {
      wrong.push(`R7: ${name} has ended, and nobody was told: ${one.continuation}`);
      continue;
    }
    const { notes, calls } = heard.get(`${one.sessionId} ${one.shortId}`) ?? { notes: 0, calls: 0 };
    const times = notes + calls;
    if (one.continuation === 'woken' && times !== 1)
      wrong.push(`R7: the agent heard ${times} times of the end of ${name} [${one.id}]`);
    if (one.continuation !== 'suppressed') continue;
    const more = `[${one.id}, pass ${one.passId}, ended ${one.endedAt?.toISOString()}, told ${one.continuedAt?.toISOString()}]`;
    // A call that waited for it when its task was put away may still bring it: that wakes nobody.
    if (notes > 0 || calls > 1)
      wrong.push(
        `R7: ${name} was to wake nobody, yet the agent heard of it ${times} times ${more}`,
      );
    const taskEnd = sessions.get(one.sessionId ?? '');
    // The executions of a call are told together, when the last of them has ended (X13).
    const together = one.batchId === null ? [one] : (batches.get(one.batchId) ?? []);
    const early =
      taskEnd != null && together.every(({ endedAt }) => endedAt !== null && endedAt < taskEnd);
    if (clockMoved) continue;
    if (early && times === 0 && !stopped.has(one.passId ?? '') && one.status !== 'cancelled')
      wrong.push(`R7: ${name} ended before its task did, and the agent never heard of it ${more}`);
  }
  return wrong;
}
