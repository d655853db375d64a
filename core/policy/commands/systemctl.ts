/** systemctl: its verbs and options. */
import { changes, shown } from '../model.ts';
import type { Call, Check, HoleKind, Rule } from '../model.ts';
import { sureWord } from './lenient.ts';
import { readOptions, valuesOf } from './options.ts';
import { dangerFindings, reads } from './rules.ts';

const SYSTEMCTL_OPTIONS =
  '-alqr -n: -o: -t: -p: -P: -M: --all --full --no-pager --quiet --lines: --output: --type: --state: --property: --value --user --system --plain --no-legend --legend: --reverse --after --before --with-dependencies --recursive --show-types --failed --timestamp: --machine: --version --help --no-ask-password';

const systemctlReads: Rule = reads(SYSTEMCTL_OPTIONS, {
  also: (read) => [
    ...(valuesOf(read, '-p', '-P', '--property').some((value) =>
      /(^|,)(Environment|\0)/.test(value.value),
    )
      ? [changes('shows the environment of a service, which may hold passwords')]
      : []),
  ],
});

const SYSTEMCTL_VERBS = new Set(
  'status show cat list-units list-unit-files list-timers list-sockets list-paths list-automounts list-jobs list-dependencies list-machines is-active is-enabled is-failed is-system-running get-default show-environment help whoami'.split(
    ' ',
  ),
);

/** Services without which nobody reaches the machine, and those that are its firewall. */
export const LIFELINES =
  '(sshd?|networking|NetworkManager|systemd-networkd|network|dbus|dbus-broker|systemd-logind|systemd-journald|pve-cluster)(\\.service|\\.socket)?';
export const FIREWALLS =
  '(nftables|iptables|ip6tables|netfilter-persistent|ufw|firewalld|pve-firewall|shorewall)(\\.service)?';

/** systemctl takes its options anywhere, also behind the verb. */
const check: Check = (call, shell) => {
  const danger = dangerFindings(call, [
    [
      /(^| )(reboot|poweroff|halt|kexec|soft-reboot|exit|rescue|emergency|hibernate|suspend|hybrid-sleep|suspend-then-hibernate|sleep|default)( |$)(?!.*\.(service|timer|socket))/,
      'stops, restarts or strips the machine',
    ],
    [
      new RegExp(`(^| )(stop|disable|mask|kill)( -\\S+)* (\\S+ )*${LIFELINES}( |$)`),
      'locks the administrator out',
    ],
    [
      new RegExp(`(^| )(stop|disable|mask)( -\\S+)* (\\S+ )*${FIREWALLS}( |$)`),
      'takes the firewall down',
    ],
    [
      /(^| )(start|restart|isolate|enable --now)( -\S+)* \S*\b(reboot|poweroff|halt|kexec|shutdown|rescue|emergency|runlevel[016]|exit|suspend|hibernate|ctrl-alt-del)\.(target|service)/,
      'stops or restarts the machine',
    ],
  ]);
  const read = readOptions(call.args, SYSTEMCTL_OPTIONS);
  const [verb] = read.operands;
  if (verb === undefined || SYSTEMCTL_VERBS.has(verb.value)) {
    return systemctlReads.check({ ...call, args: call.args.filter((arg) => arg !== verb) }, shell);
  }
  return [
    ...danger,
    changes(
      `systemctl ${call.args
        .filter((arg) => !arg.value.startsWith('-'))
        .map(shown)
        .join(' ')} changes a unit`,
    ),
  ];
};

/** Plain listings are words: unit names and states. */
const unitNames = (call: Call): HoleKind => {
  const words = call.args.map(sureWord);
  const plain =
    words.includes('--plain') &&
    words.some((word) => /^--(no-legend|legend=(no|false))$/.test(word));
  return plain && words.some((word) => word.startsWith('list-')) ? { kind: 'id' } : { kind: 'any' };
};

/** systemctl: what it shows, and what it does to units and the machine. */
export const systemctl: Rule = {
  check,
  inert: true,
  output: unitNames,
  leadingIds: (call) =>
    call.args.length === 0 ||
    /^list-(units|unit-files)$/.test(
      call.args.map(sureWord).find((word) => !word.startsWith('-')) ?? 'list-units',
    )
      ? 1
      : 0,
};
