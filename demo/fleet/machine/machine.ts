import { randomUUID } from 'node:crypto';
import { MachineFs } from './fs.ts';
import { Journal } from './journal.ts';
import { Packages } from './packages.ts';
import type { PackageSpec } from './packages.ts';
import type { ActiveState, Listener, Unit, UnitSpec } from './unit.ts';

/** A mounted filesystem. What is used is `baseBytes` and what the large files below it claim. */
export interface MountSpec {
  readonly source: string;
  readonly type: string;
  readonly path: string;
  readonly sizeBytes: number;
  readonly baseBytes: number;
  /** Taken into account by what may read a pool's state. */
  readonly pool?: string;
}

/** Something that answers HTTP on a port of the machine while the unit runs. */
export interface SiteSpec {
  readonly port: number;
  readonly unit: string;
  readonly server: string;
  readonly status: number;
  readonly body: string;
  /** Where the answer comes from when the machine only passes it on. */
  readonly upstream?: { readonly machine: string; readonly port: number };
}

/** A machine as it is when the fleet starts. */
export interface MachineSpec {
  readonly name: string;
  readonly kind: 'host' | 'container';
  readonly address: string;
  readonly os: 'Debian GNU/Linux 12 (bookworm)' | 'Debian GNU/Linux 11 (bullseye)';
  readonly kernel: string;
  readonly cores: number;
  readonly memoryMib: number;
  readonly usedMemoryMib: number;
  readonly load: readonly [number, number, number];
  readonly bootedSecondsAgo: number;
  readonly mounts: readonly MountSpec[];
  readonly units: readonly UnitSpec[];
  readonly packages: readonly PackageSpec[];
  readonly available?: readonly PackageSpec[];
  readonly sites?: readonly SiteSpec[];
  readonly files?: Readonly<Record<string, string>>;
  /** Files that claim a size, by path: bytes and age in days. */
  readonly large?: Readonly<Record<string, { readonly bytes: number; readonly daysAgo: number }>>;
  /** The journal so far, with seconds before now. */
  readonly journal?: readonly {
    readonly secondsAgo: number;
    readonly unit: string;
    readonly ident: string;
    readonly text: string;
    readonly priority?: number;
  }[];
}

/** How long a reboot takes at pace 1, in milliseconds. */
const REBOOT_MS = 6_000;

/** A simulated machine: its files, units, packages and journal, and whether it is up. */
export class Machine {
  readonly spec: MachineSpec;
  readonly fs = new MachineFs();
  readonly journal = new Journal();
  readonly packages: Packages;
  readonly units = new Map<string, Unit>();
  /** How fast things go: 1 is lifelike, 0.01 a hundred times as fast. */
  readonly pace: number;
  bootedAtMs: number;
  bootId: string = randomUUID();
  up = true;
  #life = new AbortController();
  readonly #watchers = new Set<(up: boolean) => void>();
  #lastPid = 400;

  constructor(spec: MachineSpec, pace: number) {
    this.spec = spec;
    this.pace = pace;
    this.bootedAtMs = Date.now() - spec.bootedSecondsAgo * 1000;
    this.packages = new Packages(spec.packages, spec.available ?? [], Date.now() - 9 * 3600 * 1000);
    for (const unit of spec.units) this.#addUnit(unit);
    for (const { secondsAgo, unit, ident, text, priority } of spec.journal ?? []) {
      const pid = ident === 'systemd' ? 1 : (this.units.get(unit)?.pids[0] ?? this.nextPid());
      const atMs = Date.now() - secondsAgo * 1000;
      this.journal.add({ atMs, unit, ident, pid, text, priority: priority ?? 6 });
    }
    this.journal.settle();
  }

  get name(): string {
    return this.spec.name;
  }

  /** Ends when the machine goes down; each boot has its own. */
  get life(): AbortSignal {
    return this.#life.signal;
  }

  nextPid(): number {
    this.#lastPid += 1 + (this.#lastPid % 7);
    return this.#lastPid;
  }

  /** A unit by its name, with `.service` added where the name has no type. */
  unit(name: string): Unit | undefined {
    return this.units.get(name) ?? this.units.get(`${name}.service`);
  }

  log(unit: string, ident: string, text: string, priority = 6): void {
    const pid = ident === 'systemd' ? 1 : (this.units.get(unit)?.pids[0] ?? this.nextPid());
    this.journal.add({ atMs: Date.now(), unit, ident, pid, text, priority });
  }

  /** Puts a unit into a state, with new processes when it becomes active. */
  setUnit(unit: Unit, active: ActiveState): void {
    unit.active = active;
    unit.sinceMs = Date.now();
    unit.pids = active === 'active' ? (unit.spec.processes ?? []).map(() => this.nextPid()) : [];
    if (active !== 'failed') unit.exitCode = 0;
  }

  /** What is listened on right now. */
  listeners(): { unit: Unit; listener: Listener }[] {
    return [...this.units.values()].flatMap((unit) =>
      unit.active === 'active'
        ? (unit.spec.listens ?? []).map((listener) => ({ unit, listener }))
        : [],
    );
  }

  /** Bytes used on a mounted filesystem. */
  usedBytes(mount: MountSpec): number {
    const inner = this.spec.mounts.filter(
      (other) => other.path !== mount.path && other.path.startsWith(withSlash(mount.path)),
    );
    const claimed =
      this.fs.claimedBelow(mount.path) -
      inner.reduce((sum, other) => sum + this.fs.claimedBelow(other.path), 0);
    return Math.min(mount.sizeBytes, mount.baseBytes + claimed);
  }

  /** The filesystem that a path is on. */
  mountOf(path: string): MountSpec | undefined {
    return this.spec.mounts
      .filter((mount) => path === mount.path || path.startsWith(withSlash(mount.path)))
      .toSorted((a, b) => b.path.length - a.path.length)[0];
  }

  /** Calls back when the machine goes down or comes up. */
  watch(changed: (up: boolean) => void): void {
    this.#watchers.add(changed);
  }

  /** Goes down; everything that runs on it ends. */
  halt(): void {
    if (!this.up) return;
    this.up = false;
    for (const unit of this.units.values())
      if (unit.active === 'active') this.setUnit(unit, 'inactive');
    this.#life.abort();
    for (const changed of this.#watchers) changed(false);
  }

  /** Comes up with a new boot id; what is enabled runs again, failed or not. */
  boot(): void {
    if (this.up) return;
    this.up = true;
    this.#life = new AbortController();
    this.bootedAtMs = Date.now();
    this.bootId = randomUUID();
    for (const unit of this.units.values()) {
      const starts = unit.enabled === 'enabled' || unit.enabled === 'static';
      this.setUnit(unit, starts ? 'active' : 'inactive');
    }
    this.log('', 'kernel', `Linux version ${this.spec.kernel}`);
    this.log('', 'systemd', 'Startup finished in 1.412s (kernel) + 3.201s (userspace) = 4.613s.');
    for (const changed of this.#watchers) changed(true);
  }

  /** Down now, up again a little later. */
  reboot(): void {
    this.halt();
    setTimeout(() => this.boot(), REBOOT_MS * this.pace).unref();
  }

  #addUnit(spec: UnitSpec): void {
    const since = spec.sinceSecondsAgo;
    const unit: Unit = {
      spec,
      active: 'inactive',
      enabled: spec.enabled ?? 'enabled',
      sinceMs: 0,
      pids: [],
      exitCode: 0,
    };
    this.setUnit(unit, spec.active ?? 'active');
    unit.sinceMs = since === undefined ? this.bootedAtMs + 4_000 : Date.now() - since * 1000;
    unit.exitCode = spec.exitCode ?? 0;
    this.units.set(spec.name, unit);
  }
}

function withSlash(path: string): string {
  return path.endsWith('/') ? path : `${path}/`;
}
