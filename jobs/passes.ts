import { PassHandedOver, PassLost } from '../core/agent/pass.ts';
import type { Database } from '../core/db/database.ts';
import { errorText } from '../core/errors.ts';
import type { PassId, SessionId } from '../core/ids.ts';
import { leases } from '../core/leases.ts';
import { log } from '../core/log.ts';
import { claimPass, endPass, renewPassLease } from '../core/tasks/passes.ts';
import { MAX_PASS_ATTEMPTS } from '../core/tasks/turns.ts';

/** Runs a claimed pass to its end; see `runPass` for how it rejects. */
export type PassRunner = (passId: PassId, signal: AbortSignal) => Promise<void>;

/** What working on passes needs. */
export interface PassDeps {
  database: Database;
  owner: string;
  shutdown: AbortSignal;
  runPass: PassRunner;
}

/** How long an interrupted pass rests before it is taken up again, times how often it was begun. */
const RETRY_MS = 2_000;

/**
 * Works on the task that a job's pass belongs to: claims its oldest queued pass and runs it (T4). The pass that ended is
 * followed by a job of its own for the next one, so that tasks take turns.
 */
export async function workOnPasses(deps: PassDeps, passId: string): Promise<void> {
  if (deps.shutdown.aborted) return;
  const row = await deps.database.read.pass.findUnique({
    where: { id: passId },
    select: { sessionId: true, state: true },
  });
  if (row?.state !== 'queued') return;
  const pass = await claimPass(deps.database, row.sessionId as SessionId, deps.owner);
  if (pass === null) return;
  await runClaimed(deps, pass.id as PassId, row.sessionId as SessionId, pass.attempt);
}

async function runClaimed(
  deps: PassDeps,
  passId: PassId,
  sessionId: SessionId,
  attempt: number,
): Promise<void> {
  const lost = new AbortController();
  const heartbeat = setInterval(() => {
    renewPassLease(deps.database, passId, deps.owner)
      .then((ours) => {
        if (!ours) lost.abort();
      })
      .catch((error: unknown) =>
        log.warn({ pass: passId, error: errorText(error) }, 'heartbeat failed'),
      );
  }, leases().heartbeatMs);
  const signal = AbortSignal.any([deps.shutdown, lost.signal]);
  try {
    await deps.runPass(passId, signal);
  } catch (error) {
    if (error instanceof PassLost) {
      log.warn({ pass: passId, session: sessionId }, 'pass taken up elsewhere');
    } else if (error instanceof PassHandedOver) {
      await putBack(deps, passId, sessionId, 0);
    } else {
      log.error({ pass: passId, session: sessionId, attempt, error }, 'pass interrupted');
      if (attempt < MAX_PASS_ATTEMPTS) await putBack(deps, passId, sessionId, attempt * RETRY_MS);
      else await failPass(deps.database, passId, sessionId, error);
    }
  } finally {
    clearInterval(heartbeat);
  }
}

/** A pass that failed for a reason that its own code did not expect: the operator sees it, and the task stays open. */
async function failPass(
  database: Database,
  passId: PassId,
  sessionId: SessionId,
  error: unknown,
): Promise<void> {
  await database.write(async (unit) => {
    const ended = await endPass(unit, {
      passId,
      state: 'failed',
      givenUp: true,
      error: { code: 'pass_failed', message: errorText(error) },
    });
    if (!ended) return;
    unit.emit({
      type: 'error.raised',
      sessionId,
      refId: passId,
      data: {
        code: 'pass_failed',
        fault: 'system',
        message: `Something went wrong inside Nomos: ${errorText(error)}`,
        hint: 'The task stays open. 🔁 or a message goes on from here.',
        retry: true,
      },
    });
  });
}

/** Hands a pass that was put down to whoever comes next, after a while, without waiting for its lease to end. */
async function putBack(
  deps: PassDeps,
  passId: PassId,
  sessionId: SessionId,
  afterMs: number,
): Promise<void> {
  await deps.database.write(async (unit) => {
    const count = await unit.db.$executeRaw`
      UPDATE passes SET state = 'queued', lease_owner = NULL, lease_until = NULL,
        not_before = CASE WHEN ${afterMs} > 0 THEN clock_timestamp() + ${afterMs} * interval '1 millisecond' END
      WHERE id = ${passId}::uuid AND state = 'running' AND lease_owner = ${deps.owner}`;
    if (count > 0) unit.emit({ type: 'pass.queued', sessionId, refId: passId });
  });
}
