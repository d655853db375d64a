/**
 * Named actions (X10): the common operations as fixed commands. They are forms of the same path: what comes out is classified,
 * approved and run like any other command.
 */
export const ACTIONS = ['restart', 'systemctl', 'apt_upgrade', 'pct_exec', 'pct_create'] as const;
/** One of the actions above. */
export type Action = (typeof ACTIONS)[number];

/** What `systemctl` may be asked for by name; anything else goes through `run`. */
export const SYSTEMCTL_VERBS = [
  'status',
  'is-active',
  'is-failed',
  'start',
  'stop',
  'restart',
  'reload',
  'enable',
  'disable',
] as const;

/** A unit's name as systemd takes it. Nothing in it means anything to a shell, so that it can stand in a command as it is (Z3). */
export const UNIT_NAME = /^[A-Za-z0-9_][A-Za-z0-9_.:@\\-]{0,254}$/;

/** What would be upgraded, by the package lists as they are on the machine. Changes nothing. */
const APT_AUDIT = 'apt-get -s upgrade';
const APT_UPGRADE =
  'apt-get update && DEBIAN_FRONTEND=noninteractive apt-get -y -o Dpkg::Options::=--force-confold upgrade';

/** The command of `systemctl VERB UNIT`. `unit` matches `UNIT_NAME`. */
export function systemctlCommand(verb: (typeof SYSTEMCTL_VERBS)[number], unit: string): string {
  if (!UNIT_NAME.test(unit)) throw new RangeError(`not a unit name: ${unit}`);
  // A backslash is part of some unit names (systemd-escape) and the one character that a shell would take.
  return `systemctl ${verb} ${unit.replaceAll('\\', '\\\\')}`;
}

/** The command that looks for upgrades (`audit`, reads only) or makes them. */
export function aptUpgradeCommand(mode: 'audit' | 'upgrade'): string {
  return mode === 'audit' ? APT_AUDIT : APT_UPGRADE;
}
