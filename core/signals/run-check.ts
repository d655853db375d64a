import { sql, type Database } from '../db/database.ts';
import type { Check } from '../db/rows.ts';
import { NomosError } from '../errors.ts';
import type { Mask } from '../executions/finish.ts';
import type { Captured, RemoteRunner, RunEnd } from '../executions/ports.ts';
import { resolveTarget } from '../graph/targets.ts';
import { newId, type ExecutionId } from '../ids.ts';
import { assess } from '../policy/assess.ts';
import { formatDuration } from '../text/duration.ts';
import { safeText } from '../text/safe.ts';
import { storedParameters, type CheckParameters } from './check-kinds.ts';
import { freshUntilSql } from './health.ts';
import { certificateProbe, httpProbe, tcpProbe } from './probes/network.ts';
import { failed, unknown, type Observation } from './probes/observation.ts';
import { saidText, shellProbe, type ShellProbe } from './probes/shell.ts';
import { recordResult } from './record-result.ts';

/** What making checks needs. */
export interface CheckDeps {
  database: Database;
  runner: RemoteRunner;
  mask: Mask;
  /** This worker's name: the owner of its leases. */
  owner: string;
  /** Fires when the process ends: a check in hand is given back. */
  shutdown: AbortSignal;
}

/** How many checks may ask one host at the same time: one that hangs holds no more than these. */
export const AT_ONCE_PER_HOST = 2;
/** How much longer than its time a check is held, for what else there is to do. */
const LEASE_OVER_MS = 60_000;
/** The target ends its command by itself when its time is over; who does not even answer that is not waited for. */
const ANSWER_OVER_MS = 500;

/**
 * Makes a check that is due and keeps its result. Does nothing when it is not to be had: not due, in hand elsewhere, or its host
 * is busy with others, after which it is still due (S1).
 */
export async function runCheck(deps: CheckDeps, id: string): Promise<void> {
  const check = await claimCheck(deps.database, id, deps.owner);
  if (check === null) return;
  let seen: Observation | undefined;
  try {
    seen = await look(deps, check);
  } catch (error) {
    if (!(error instanceof NomosError)) {
      await release(deps.database, id, deps.owner, { due: false });
      throw error;
    }
    seen = unknown(error.message);
  }
  if (seen === undefined) return release(deps.database, id, deps.owner, { due: true });
  const { detail, ...rest } = seen;
  const line = safeText(deps.mask(detail).replaceAll(/\s+/g, ' ').trim().slice(0, MAX_DETAIL));
  await recordResult(deps.database, { id, owner: deps.owner, seen: { ...rest, detail: line } });
}

const MAX_DETAIL = 300;

/**
 * Takes a check in hand: one conditional UPDATE by the database's clock, which also sets when it is due next. So each check is
 * made once in its interval, however many workers there are; one that died in the middle is made again at the next.
 */
async function claimCheck(database: Database, id: string, owner: string): Promise<Check | null> {
  return database.write(async ({ db }) => {
    // One at a time for each host: who counts beside another does not see what that takes in hand.
    await db.$executeRaw`
      SELECT pg_advisory_xact_lock(hashtext('nomos_check_host'), hashtext(host)) FROM checks
      WHERE id = ${id}::uuid AND host IS NOT NULL`;
    const claimed = await db.$executeRaw`
    UPDATE checks c SET lease_owner = ${owner},
      lease_until = clock_timestamp() + (c.timeout_ms + ${LEASE_OVER_MS}::float8) * interval '1 millisecond',
      next_at = clock_timestamp() + c.every_ms * interval '1 millisecond'
    WHERE c.id = ${id}::uuid AND c.gone_at IS NULL AND c.next_at <= clock_timestamp()
      AND (c.lease_until IS NULL OR c.lease_until <= clock_timestamp())
      AND (c.host IS NULL OR (SELECT count(*) FROM checks o
        WHERE o.host = c.host AND o.lease_until > clock_timestamp()) < ${AT_ONCE_PER_HOST})`;
    return claimed === 0 ? null : db.check.findUnique({ where: { id } });
  });
}

/** Gives a check back: due at once, as if it had not been taken, or, where it broke, at its next interval. */
async function release(
  database: Database,
  id: string,
  owner: string,
  { due }: { due: boolean },
): Promise<void> {
  await database.read.$executeRaw`
    UPDATE checks SET lease_owner = NULL, lease_until = NULL,
      next_at = CASE WHEN ${due} THEN clock_timestamp() ELSE next_at END
    WHERE id = ${id}::uuid AND lease_owner = ${owner}`;
}

/** Looks once. Undefined: this process ends, and nothing was seen. */
async function look(deps: CheckDeps, check: Check): Promise<Observation | undefined> {
  const parameters = storedParameters.parse(check.parameters);
  const probe = shellProbe(parameters);
  if (probe !== undefined) return lookInside(deps, check, parameters, probe);
  const limit = AbortSignal.timeout(check.timeoutMs);
  const signal = AbortSignal.any([limit, deps.shutdown]);
  const seen = await lookOutside(parameters, signal);
  return deps.shutdown.aborted && !limit.aborted && seen.status === 'fail' ? undefined : seen;
}

function lookOutside(parameters: CheckParameters, signal: AbortSignal): Promise<Observation> {
  if (parameters.kind === 'http' && parameters.url !== undefined)
    return httpProbe({ ...parameters, url: parameters.url }, signal);
  if (parameters.kind === 'certificate' && parameters.address !== undefined) {
    const { address, port = 443, warn, fail } = parameters;
    return certificateProbe({ address, port, warn, fail }, signal);
  }
  if (parameters.kind === 'reachable' && parameters.address !== undefined) {
    const { address, port = 22 } = parameters;
    return tcpProbe({ address, port }, signal);
  }
  return Promise.resolve(unknown(`a ${parameters.kind} check without an address`));
}

/**
 * Asks the machine's shell, by the same way as a command that only reads: that target or nowhere (X12), in the pinned
 * environment. What the owner's rules make more than a read here is not asked.
 */
async function lookInside(
  deps: CheckDeps,
  check: Check,
  parameters: CheckParameters,
  probe: ShellProbe,
): Promise<Observation | undefined> {
  const { machine } = check;
  if (machine === null) return unknown('it runs on no machine that is known');
  const { target, tags } = await resolveTarget(deps.database.read, machine);
  const verdict = assess({
    command: probe.command,
    target,
    tags,
    blast: { version: 1, total: 0, byDepth: [], names: [] },
  });
  if (verdict.risk !== 'read_only')
    return unknown(
      `not looked: it is ${verdict.risk} here (${verdict.reasons.at(-1) ?? 'a rule'})`,
    );
  const isReachable = parameters.kind === 'reachable';
  if (!isReachable) {
    const away = await unreachable(deps.database, [machine, target.host.slug]);
    if (away !== undefined) return unknown(`not looked: ${away} does not answer`);
  }
  const { host, container } = target;
  const deadline = AbortSignal.timeout(check.timeoutMs + ANSWER_OVER_MS);
  const signal = AbortSignal.any([deadline, deps.shutdown]);
  const running = deps.runner.run({
    executionId: newId<ExecutionId>(),
    target: container === undefined ? { host } : { host, container },
    command: probe.command,
    kind: 'read',
    timeoutMs: check.timeoutMs,
    signal,
  });
  // A host that is frozen answers nothing, not even that: its connection is found dead later, and nobody waits for that.
  const end = await Promise.race([running, aborted(signal)]);
  if (end === undefined || end.kind === 'cancelled')
    return deadline.aborted ? failed(inVain(check.timeoutMs)) : undefined;
  return observed(end, probe, isReachable, check.timeoutMs);
}

/** The first of these machines whose own check says that it cannot be reached: then nothing else need hang on it. */
async function unreachable(
  database: Database,
  machines: readonly string[],
): Promise<string | undefined> {
  const rows = await database.read.$queryRaw<Array<{ slug: string }>>(sql`
    SELECT e.slug FROM checks JOIN entities e ON e.id = checks.entity_id
    WHERE kind = 'reachable' AND e.slug = ANY(${[...new Set(machines)]}::text[]) AND gone_at IS NULL
      AND status = 'fail' AND ${freshUntilSql} > clock_timestamp()
    ORDER BY e.slug LIMIT 1`);
  return rows[0]?.slug;
}

function observed(
  end: RunEnd,
  probe: ShellProbe,
  isReachable: boolean,
  timeoutMs: number,
): Observation {
  const away = isReachable ? failed : unknown;
  switch (end.kind) {
    case 'exited':
      return probe.judge({
        exitCode: end.exitCode,
        stdout: textOf(end.stdout),
        stderr: textOf(end.stderr),
      });
    case 'signalled':
      return failed(`its command was ended by ${end.signal}`);
    case 'timed_out':
    case 'cancelled':
      return failed(inVain(timeoutMs));
    case 'not_started':
    case 'connection_lost':
      return away(end.error.message);
    case 'unknown':
      return unknown(end.reason);
  }
}

function inVain(timeoutMs: number): string {
  return `no answer within ${formatDuration(timeoutMs)}`;
}

function aborted(signal: AbortSignal): Promise<undefined> {
  return new Promise((resolve) => {
    if (signal.aborted) resolve(undefined);
    else signal.addEventListener('abort', () => resolve(undefined), { once: true });
  });
}

function textOf({ bytes }: Captured): string {
  return saidText(bytes);
}
