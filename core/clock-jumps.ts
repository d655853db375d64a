import type { Database } from './db/database.ts';
import { leases } from './leases.ts';
import { limits } from './limits.ts';

/** The longest that a pass is put off, whatever an endpoint asks for: what is longer was set by a clock that was ahead. */
export const LONGEST_REST_MS = 10 * 60_000;

/**
 * Sets right what was set by the database's clock before that was set back: an end cannot be further away than it was when
 * it was set. So a grant or an approval never lasts longer than its time (R14), a lost worker's lease not for an hour,
 * a pass does not rest for one, and no check either. Does nothing while the clock only goes forward.
 */
export async function settleAfterClockJump(database: Database): Promise<void> {
  const { leaseMs } = leases();
  const { grantTtlMs, destructiveGrantTtlMs, approvalTtlMs } = limits();
  const { read } = database;
  await read.$executeRaw`
    UPDATE executions SET lease_until = clock_timestamp() + ${leaseMs} * interval '1 millisecond'
    WHERE status = 'running' AND lease_until > clock_timestamp() + ${leaseMs} * interval '1 millisecond'`;
  await read.$executeRaw`
    UPDATE passes SET lease_until = clock_timestamp() + ${leaseMs} * interval '1 millisecond'
    WHERE state = 'running' AND lease_until > clock_timestamp() + ${leaseMs} * interval '1 millisecond'`;
  await read.$executeRaw`
    UPDATE passes SET not_before = NULL
    WHERE state = 'queued' AND not_before > clock_timestamp() + ${LONGEST_REST_MS} * interval '1 millisecond'`;
  await read.$executeRaw`
    UPDATE grants SET expires_at = clock_timestamp()
      + CASE kind WHEN 'task' THEN ${grantTtlMs}::float8 ELSE ${destructiveGrantTtlMs}::float8 END * interval '1 millisecond'
    WHERE closed_at IS NULL AND expires_at > clock_timestamp()
      + CASE kind WHEN 'task' THEN ${grantTtlMs}::float8 ELSE ${destructiveGrantTtlMs}::float8 END * interval '1 millisecond'`;
  await read.$executeRaw`
    UPDATE checks SET next_at = clock_timestamp(), lease_until = NULL
    WHERE gone_at IS NULL AND next_at > clock_timestamp() + 2 * every_ms * interval '1 millisecond'`;
  await read.$executeRaw`
    UPDATE approvals SET expires_at = clock_timestamp() + ${approvalTtlMs} * interval '1 millisecond'
    WHERE status = 'pending' AND expires_at > clock_timestamp() + ${approvalTtlMs} * interval '1 millisecond'`;
}
