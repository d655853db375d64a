/** What systemd says of a unit: `active`, `inactive`, `failed`, or on the way between them. */
export type ActiveState = 'active' | 'inactive' | 'failed' | 'activating' | 'deactivating';

/** An address and port that a unit listens on while it is active. */
export interface Listener {
  readonly protocol: 'tcp' | 'udp';
  readonly address: string;
  readonly port: number;
}

/** How a unit is when its machine is first looked at. */
export interface UnitSpec {
  readonly name: string;
  readonly description: string;
  /** Command lines of its processes, the main one first; none for a unit without processes. */
  readonly processes?: readonly string[];
  readonly user?: string;
  readonly memoryMib?: number;
  readonly listens?: readonly Listener[];
  readonly active?: ActiveState;
  readonly enabled?: 'enabled' | 'disabled' | 'static' | 'masked';
  /** How long ago it came into that state, in seconds; the time since boot if left out. */
  readonly sinceSecondsAgo?: number;
  /** Exit code of the main process of a failed unit. */
  readonly exitCode?: number;
  /** Whether systemd starts it again when its process is killed. */
  readonly restarts?: boolean;
  /** Lines that a start writes to the journal before systemd's own, with the name that they carry. */
  readonly startLines?: readonly string[];
  /** How long a start takes, in milliseconds. */
  readonly startMs?: number;
  /** For a timer: when it ran last and runs next, in seconds from now. */
  readonly timer?: { readonly lastSecondsAgo: number; readonly nextInSeconds: number };
}

/** A unit of a running machine. */
export interface Unit {
  readonly spec: UnitSpec;
  active: ActiveState;
  enabled: NonNullable<UnitSpec['enabled']>;
  sinceMs: number;
  pids: number[];
  exitCode: number;
}

/** The part of a unit's name behind the last dot: service, timer, socket, target … */
export function unitType(name: string): string {
  return name.slice(name.lastIndexOf('.') + 1);
}

/** The `SUB` column of systemd for a unit. */
export function subState(unit: Unit): string {
  if (unit.active === 'failed') return 'failed';
  if (unit.active !== 'active') return unit.active === 'inactive' ? 'dead' : 'start';
  const type = unitType(unit.spec.name);
  if (type === 'timer') return 'waiting';
  if (type === 'mount') return 'mounted';
  if (type === 'target') return 'active';
  return (unit.spec.processes?.length ?? 0) > 0 ? 'running' : 'exited';
}
