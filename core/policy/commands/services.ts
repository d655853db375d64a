/** systemd and its kin, and the other service managers. */
import { changes, endless, shown } from '../model.ts';
import type { Check } from '../model.ts';
import { sendsNames } from './hosts.ts';
import { FIREWALLS, LIFELINES, systemctl } from './systemctl.ts';
import { sure, sureWord } from './lenient.ts';
import { has, readOptions, valuesOf } from './options.ts';
import { dangerFindings, each, problems, reads, verbs } from './rules.ts';

import type { Table } from './rules.ts';

const JOURNAL =
  '-aefqxrlkm -b? -n? -o: -u: -t: -p: -g: -S: -U: -c: -D: -F: -N -M: -T: -# --all --no-pager --follow --no-full --full --no-tail --lines? --output: --utc --catalog --quiet --merge --boot? --list-boots --dmesg --unit: --user-unit: --identifier: --exclude-identifier: --facility: --priority: --grep: --case-sensitive? --since: --until: --cursor: --after-cursor: --show-cursor --reverse --pager-end --user --system --disk-usage --header --list-catalog --dump-catalog --fields --field: --no-hostname --output-fields: --directory: --file: --machine: --verify --truncate-newline --namespace: --version --help';

/** `journalctl -b -1` and `-n 50` give an optional value in a word of its own. */
const journalctl: Check = (call) => {
  const words = call.args.filter(
    (arg, at) =>
      !(
        /^-[a-z]*[bn]$|^--(boot|lines)$/.test(call.args[at - 1]?.value ?? '') &&
        /^([-+]?\d+|all|[0-9a-f]{32})$/.test(arg.value)
      ),
  );
  const read = readOptions(words, JOURNAL);
  const follows = has(read, '-f', '--follow') ? [endless('journalctl -f follows the log')] : [];
  return [...follows, ...problems('journalctl', read)];
};

const plain = reads(
  '-alq -o: -n: --no-pager --no-legend --all --full --json: --output: --lines: --property: --value --type: --no-ask-password --version --help -p:',
);

const service: Check = (call) => {
  const words = call.args.map(sureWord);
  if (sure(call) === '--status-all') return [];
  if (/^(reboot|halt|poweroff|shutdown|kexec)$/.test(words[0] ?? ''))
    return dangerFindings(call, [[/./, 'stops or restarts the machine']]);
  const stops = dangerFindings(call, [
    [new RegExp(`^${LIFELINES} stop( |$)`), 'locks the administrator out'],
    [new RegExp(`^${FIREWALLS} stop( |$)`), 'takes the firewall down'],
  ]);
  if (stops.length > 0) return stops;
  return words.length === 2 &&
    /^(status|is-active)$/.test(words[1] as string) &&
    /^[\w@.:-]+$/.test(words[0] as string)
    ? []
    : [changes(`service ${words.map(shown).join(' ')} changes a service`)];
};

export const services: Table = {
  systemctl,
  journalctl: { check: journalctl },
  service: { check: service, inert: true },
  ...each('rc-service', {
    check: (call) =>
      call.args.length === 2 && call.args[1]?.value === 'status'
        ? []
        : service(call, undefined as never),
    inert: true,
  }),
  'rc-status': reads('-alsruC --all --list --servicelist --runlevel --unused --crashed --manual'),
  'rc-update': verbs({ read: { show: reads('-v') }, inert: true }),
  ...each(
    'sv s6-svstat supervisorctl initctl chkconfig monit',
    verbs({ read: { 'status list avail summary': reads('') }, inert: true }),
  ),
  loginctl: verbs({
    globals: '-alq --no-pager --no-legend',
    read: {
      'list-sessions list-users list-seats session-status show-session user-status show-user seat-status show-seat':
        plain,
      '': plain,
    },
    danger: [
      [
        /(^| )(reboot|poweroff|halt|suspend|hibernate|hybrid-sleep|suspend-then-hibernate|kexec)( |$)/,
        'stops or restarts the machine',
      ],
    ],
    inert: true,
  }),
  timedatectl: verbs({
    globals: '-a --no-pager',
    read: {
      'status show list-timezones timesync-status show-timesync': reads(
        '-a -p: --all --value --property: --no-pager',
      ),
      '': reads(''),
    },
    inert: true,
  }),
  hostnamectl: verbs({
    globals: '--no-pager --static --transient --pretty -j --json:',
    read: { status: plain, '': reads('') },
    inert: true,
  }),
  localectl: verbs({
    globals: '--no-pager',
    read: {
      'status list-locales list-keymaps list-x11-keymap-models list-x11-keymap-layouts': plain,
      '': reads(''),
    },
    inert: true,
  }),
  networkctl: verbs({
    globals: '-as --all --no-pager --no-legend --full --json: -l',
    read: { 'list status lldp label cat': plain, '': reads('') },
    inert: true,
  }),
  resolvectl: verbs({
    globals: '-46 -i: --interface: --no-pager --legend: --json: -t: -p: --cache:',
    read: {
      'status statistics query service tlsa dns domain default-route llmnr mdns dnssec dnsovertls nta show-cache show-server-state':
        reads('-46 -i: -t: --no-pager --legend: --json:', {
          also: (read, call) => [
            ...sendsNames(call.name, read.operands),
            ...(/ (dns|domain|default-route|llmnr|mdns|dnssec|dnsovertls|nta)$/.test(call.name) &&
            read.operands.length > 1
              ? [changes('resolvectl sets name servers')]
              : []),
          ],
        }),
      '': reads(''),
    },
    inert: true,
  }),
  'systemd-resolve': reads('-46 --status --statistics -i: -t:', {
    also: (read, call) => sendsNames(call.name, read.operands),
  }),
  'systemd-analyze': verbs({
    globals:
      '--user --system --no-pager --order --require --man: --from-pattern: --to-pattern: --fuzz: --json:',
    // `verify` and an offline look at units start a manager, which notes when units were last loaded.
    read: {
      'time blame critical-chain plot dot dump unit-paths exit-status capability syscall-filter calendar timestamp timespan security cat-config unit-files fdstore':
        reads(
          '--user --system --no-pager --iterations: --base-time: --fuzz: --threshold: --json: --man: --recursive-errors: --order --require --from-pattern: --to-pattern:',
        ),
      '': reads(''),
    },
  }),
  'systemd-cgls': reads('-al -u: --no-pager --all --full --unit: --user-unit: -k'),
  'systemd-cgtop': reads(
    '-bptcmikPr1 -n: -d: --batch --iterations: --depth: --raw --order: --recursive: --cpu?',
    {
      also: (read) =>
        has(read, '-n', '--iterations', '-1') ? [] : [endless('systemd-cgtop repeats')],
    },
  ),
  'systemd-detect-virt': reads('-cvqr --container --vm --quiet --chroot --private-users --list'),
  'systemd-escape': reads('-pum --path --unescape --mangle --suffix: --template:'),
  'systemd-path': reads('--suffix:'),
  'systemd-delta': reads('-t: --type: --no-pager --diff:'),
  'systemd-id128': verbs({
    read: { 'machine-id boot-id new invocation-id show var-partition-uuid': reads('-pu') },
  }),
  coredumpctl: verbs({
    globals: '-q1r -n: --no-pager --no-legend --reverse -S: -U:',
    read: {
      'list info': reads(
        '-q1r -n: -S: -U: -F: --no-pager --no-legend --since: --until: --reverse --json:',
      ),
      '': reads(''),
    },
  }),
  bootctl: verbs({
    globals: '--no-pager',
    read: { 'status list is-installed': reads('--no-pager --json: -q'), '': reads('') },
  }),
  busctl: verbs({
    globals: '--user --system --no-pager --list --no-legend -l --full',
    read: {
      'list tree status introspect get-property': reads(
        '--no-pager -jl --json: --list --acquired --activatable --unique',
      ),
      '': reads(''),
    },
    danger: [[/login1.*\b(Reboot|PowerOff|Halt|KExec)\b/i, 'stops or restarts the machine']],
  }),
  'dbus-send': {
    check: (call) => [
      ...dangerFindings(call, [
        [
          /login1\S*\.(Reboot|PowerOff|Halt|KExec)|Manager\.(Reboot|PowerOff)/i,
          'stops or restarts the machine',
        ],
      ]),
      changes('dbus-send calls another program'),
    ],
  },
  gdbus: {
    check: (call) => [
      ...dangerFindings(call, [
        [
          /login1\S*\.(Reboot|PowerOff|Halt|KExec)|Manager\.(Reboot|PowerOff)/i,
          'stops or restarts the machine',
        ],
      ]),
      changes('gdbus calls another program'),
    ],
  },
  udevadm: verbs({
    read: {
      info: reads(
        '-q: -n: -p: --query: --name: --path: --attribute-walk --export --root --export-db --device-id-of-file: -x -a -e -r',
      ),
    },
  }),
  oomctl: verbs({ globals: '--no-pager', read: { dump: reads('--no-pager'), '': reads('') } }),
  chronyc: verbs({
    globals: '-n46avc',
    read: {
      'tracking sources sourcestats activity ntpdata serverstats clients rtcdata smoothing selectdata authdata':
        reads('-av'),
    },
  }),
  ntpq: reads('-pn46w -c:', {
    also: (read) =>
      valuesOf(read, '-c')
        .filter(
          (text) =>
            !/^(peers|associations|rv|readvar|pstats|sysinfo|sysstats|kerninfo|iostats)( [\w .]*)?$/.test(
              text.value,
            ),
        )
        .map((text) => changes(`ntpq sends a command: ${shown(text)}`)),
  }),
  ...each('ntpstat', reads('')),
  // Its dry run downloads packages and writes its log.
  ...each('unattended-upgrade unattended-upgrades', {
    check: () => [changes('unattended-upgrade downloads or installs packages')],
    inert: true,
  }),
};
