/** Volumes, pools and file systems that span disks. */
import { changes, destroys, HOLE, shown } from '../model.ts';
import type { Arg, Check, Rule } from '../model.ts';
import { counted } from './processes.ts';
import { best, given, sure, targets } from './lenient.ts';
import { has, readOptions } from './options.ts';
import { dangerFindings, each, problems, reads, verbs } from './rules.ts';
import type { Table } from './rules.ts';

const LVM_READ = reads(
  '-acvhPqCsm -o: -S: -O: -A: --all --noheadings --nosuffix --options: --units: --separator: --segments --select: --sort: --reportformat: --verbose --columns --unbuffered --readonly --maps --short --colon --help --version',
);

const ZFS_READ = reads('-HprjlvwxgLPyn -o: -t: -s: -S: -d: -T: -r --json --json-int');

/** A name out of a listing is no number, which no pool may be called. */
const isPoolName = (arg: Arg): boolean =>
  arg.value === HOLE && arg.holes[0]?.kind === 'id' && !arg.holes[0].number;

/** `zpool status 5` and `zpool iostat 5` repeat for ever without a count. */
const POOL_READ: Rule = {
  check: (call, shell) => [
    ...ZFS_READ.check(call, shell),
    ...counted(
      { options: [], operands: call.args.filter((arg) => !isPoolName(arg)), problems: [] },
      call,
    ),
  ],
  output: (call) =>
    /^-Ho name$|^-H -o name$|^-o name -H$/.test(call.args.map((arg) => arg.value).join(' '))
      ? { kind: 'id' }
      : { kind: 'any' },
};

const mdadm: Check = (call) => {
  const line = readOptions(
    call.args,
    '-DEQsv --detail --examine --query --scan --verbose --export --brief --detail-platform --version --help',
  );
  if (
    line.problems.length === 0 &&
    has(
      line,
      '-D',
      '-E',
      '-Q',
      '--detail',
      '--examine',
      '--query',
      '--detail-platform',
      '--version',
      '--help',
    )
  )
    return [];
  const danger = dangerFindings(call, [
    [/--zero-superblock|--create\b|(^| )-C( |$)|--kill-subarray/, 'overwrites disks'],
  ]);
  return [...danger, changes('mdadm changes arrays')];
};

const cryptsetup: Check = (call) => {
  const danger = dangerFindings(call, [
    [
      /\b(luksFormat|erase|luksErase|luksKillSlot|luksRemoveKey|luksHeaderRestore|reencrypt|format)\b/,
      'destroys an encrypted volume',
    ],
    [/--(dump-(master|volume)-key|master-key-file)/, 'gives away a volume key'],
  ]);
  const line = readOptions(call.args, '-qv --type: --verbose --json --version');
  const verb = line.operands[0]?.value ?? '';
  if (/^(status|isLuks|luksUUID|luksDump|benchmark)$/.test(verb) || has(line, '--version'))
    return [...danger, ...problems('cryptsetup', line)];
  return [...danger, changes(`cryptsetup ${shown(verb)} changes encrypted volumes`)];
};

const btrfs = verbs({
  resolve: (verb) =>
    [
      'balance',
      'check',
      'device',
      'filesystem',
      'inspect-internal',
      'property',
      'qgroup',
      'quota',
      'receive',
      'replace',
      'rescue',
      'restore',
      'scrub',
      'send',
      'subvolume',
    ].find((full) => full.startsWith(verb)) ?? verb,
  read: {
    filesystem: verbs({
      read: {
        'df show usage du': reads(
          '-bhkmgtTsHi --raw --human-readable --iec --si --all-devices --mounted --summarize',
        ),
      },
    }),
    subvolume: verbs({
      read: { 'list show get-default find-new': reads('-apcgutsdroGCR --sort:') },
    }),
    device: verbs({ read: { 'stats usage': reads('-Tc --check --tabular') } }),
    scrub: verbs({ read: { status: reads('-dR --raw') } }),
    balance: verbs({ read: { status: reads('-v') } }),
    qgroup: verbs({ read: { show: reads('-preFf --raw --human-readable') } }),
    property: verbs({ read: { 'get list': reads('-t:') } }),
    version: reads(''),
  },
  danger: [
    [/(^|\s)su\w*\s+(-\S+\s+)*d\w*/, 'deletes a subvolume'],
    [/(^|\s)dev\w*\s+(-\S+\s+)*(del|rem)\w*/, 'removes a disk'],
    [/(^|\s)(rescue|check\s.*--repair|check\s.*--init)/, 'rewrites a file system'],
  ],
});

const dmsetup = verbs({
  read: {
    'ls info status deps version targets': reads(
      '-Cc -o: --noheadings --tree --target: --columns --options: --separator:',
    ),
    table: reads('--target:'),
  },
  danger: [
    [/(^| )(remove_all|wipe_table)( |$)/, 'destroys mappings'],
    [/--showkeys/, 'gives away a volume key'],
  ],
});

const volume = (why: string): { check: Check } => ({
  check: (call) => [
    given(call, 't', 'test') && !given(call, 'fy', 'force', 'yes')
      ? changes(`${call.name} in test mode`)
      : destroys(`${call.name} ${why}: ${targets(call)}`),
  ],
});

const grows = (call: Parameters<Check>[0]): ReturnType<Check> => {
  const shrinks = call.args.some(
    (arg) => /^(-L|-l|--size|--extents)?=?-\d/.test(best(arg)) || /^-[lL]-/.test(best(arg)),
  );
  return [
    shrinks ||
    (call.args.some((arg) => /^(-L|--size)$/.test(best(arg))) && call.name === 'lvreduce')
      ? destroys(`${call.name} shrinks a volume: ${targets(call)}`)
      : changes(`${call.name} changes a volume`),
  ];
};

export const volumes: Table = {
  ...each('lvs vgs pvs lvdisplay vgdisplay pvdisplay lvscan lvmdiskscan', {
    // A key to sort by may have a minus in front.
    check: (call, shell) =>
      LVM_READ.check(
        {
          ...call,
          args: call.args.map((arg, at) =>
            /^(--sort|-O)$/.test(call.args[at - 1]?.value ?? '') && /^-[a-z_]+$/.test(arg.value)
              ? { ...arg, value: arg.value.slice(1) }
              : arg,
          ),
        },
        shell,
      ),
  }),
  pvscan: reads('-nseu --short --uuid'),
  vgscan: reads(''),
  ...each('lvremove vgremove pvremove', volume('deletes volumes')),
  ...each('lvreduce lvresize lvextend', { check: grows }),
  lvm: {
    check: (call, shell) =>
      call.args.length > 0
        ? shell.argv(call.args, call.input)
        : [changes('lvm opens a shell of its own'), ...shell.suspect(call.input.texts)],
  },
  pvcreate: volume('writes its label onto disks'),
  vgreduce: {
    check: (call) => [
      given(call, '', 'removemissing')
        ? destroys('vgreduce --removemissing drops volumes')
        : changes('vgreduce changes a group'),
    ],
  },
  mdadm: { check: mdadm },
  cryptsetup: { check: cryptsetup },
  btrfs,
  dmsetup,
  multipath: reads('-ldt -v:', {
    also: (read) => (has(read, '-l', '-t') ? [] : [changes('multipath changes maps')]),
  }),
  zfs: verbs({
    read: {
      list: {
        ...ZFS_READ,
        // Names of data sets begin with a letter or digit and go on with slashes.
        output: (call) =>
          /^(-H -o name|-Ho name|-o name -H|-Hr? -o name|-H -r -o name)( -t (filesystem|volume|snapshot|all))?( [\w./-]+)?$/.test(
            sure(call),
          )
            ? { kind: 'paths', patterns: ['pool/**/*'] }
            : { kind: 'any' },
      },
      'get userspace groupspace projectspace holds diff version help': ZFS_READ,
      // A dry run says how much it would send.
      send: reads('-nvPpRLecw -i: -I: --dryrun --verbose --parsable --props --replicate --raw', {
        also: (read) => (has(read, '-n', '--dryrun') ? [] : [changes('zfs send sends a snapshot')]),
      }),
      // With one name it shows who may do what.
      allow: reads('', {
        also: (read) =>
          read.operands.length === 1 ? [] : [changes('zfs allow says who may do what')],
      }),
      '': reads(''),
    },
    danger: [
      [/(^| )(destroy|rollback)( |$)/, 'destroys data'],
      [/(^| )(recv|receive)( .*)? -\w*F/, 'rolls back and overwrites a file system'],
    ],
  }),
  zpool: verbs({
    read: {
      'list status get iostat history events version help': POOL_READ,
      import: reads('', { operands: 'none' }),
    },
    danger: [
      [/(^| )(destroy|labelclear)( |$)/, 'destroys a pool'],
      [/(^| )(create|add|attach|replace|split)( |$)/, 'overwrites disks'],
      [/(^| )(remove|detach)( |$)(?!.*-n)/, 'takes a disk out of a pool for good'],
    ],
  }),
  ...each('ceph-volume', {
    check: (call) => [
      ...dangerFindings(call, [[/(^| )(zap|prepare|create|batch)( |$)/, 'overwrites disks']]),
      ...(/^(lvm|inventory|raw)( list)?( --format[= ]json(-pretty)?)?$/.test(sure(call))
        ? []
        : [changes('ceph-volume changes storage')]),
    ],
  }),
  zdb: {
    check: (call) =>
      /^(-C|-l)( [\w][\w./-]*|( \/dev\/[\w/.-]+))?$/.test(sure(call))
        ? []
        : [changes(`zdb looks into a pool: ${targets(call)}`)],
  },
  ...each('rbd ceph rados radosgw-admin gluster', {
    check: (call) => [
      ...dangerFindings(call, [
        [/\b(rm|remove|purge|delete|destroy|zap|lost)\b/, 'deletes stored data'],
      ]),
      ...(/^(-s|status|health( detail)?|df( detail)?|osd (tree|df( tree)?|stat|status|perf|dump|blocked-by|utilization|pool (ls|stats|autoscale-status)( detail)?)|(mon|mds|mgr|fs) (stat|dump|ls)|fs status|mgr (services|module ls)|crash ls|orch (ls|ps|host ls|device ls|status)|balancer status|pg (stat|dump_stuck( \w+)?|ls|dump( \w+)?)|osd crush (tree|rule (ls|dump))|versions|version|quorum_status|ls( -l)?( -p)?( [\w-]+)?|(info|status|du)( -p)? [\w./@-]+|(snap ls|lock ls|children|trash ls|pool stats|device list)( -p)?( [\w./@-]+)?|showmapped|lspools|du|volume (info|status|list)|peer status|pool list)( --?f(ormat)?[= ]\w+)?$/.test(
        sure(call),
      )
        ? []
        : [changes(`${call.name} changes storage`)]),
    ],
  }),
};
