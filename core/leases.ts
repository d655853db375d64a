/** How long work in hand is held without a sign of life, and how often one is given. In milliseconds. */
export interface Leases {
  /** Under the 60 s of R6, with room for a missed sign. Default 30 s. */
  readonly leaseMs: number;
  /** Default a third of the lease. */
  readonly heartbeatMs: number;
}

const DEFAULT_LEASE_MS = 30_000;

// Like `NOMOS_FAULT_KILL` (core/faults.ts): only tests set it, whose workers are frozen for longer than a lease.
const shortened = Number(process.env['NOMOS_FAULT_LEASE_MS'] ?? Number.NaN);
let current = of(shortened > 0 ? shortened : DEFAULT_LEASE_MS);

/** The leases in force in this process, of executions and passes alike. */
export function leases(): Leases {
  return current;
}

/** Makes leases shorter or longer. For the fault tests. */
export function setLease(leaseMs: number): void {
  current = of(leaseMs);
}

function of(leaseMs: number): Leases {
  return { leaseMs, heartbeatMs: Math.ceil(leaseMs / 3) };
}
