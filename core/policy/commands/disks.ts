/** Disks, volumes and file systems: looking is harmless, almost everything else is for ever. */
import { changes, destroys, isKnown, shown } from '../model.ts';
import type { Call, Check, HoleKind } from '../model.ts';
import { best, given, operandsOf, sure, targets } from './lenient.ts';
import { has, readOptions, valuesOf } from './options.ts';
import { each, problems, reads, verbs, wrecks } from './rules.ts';
import type { Table } from './rules.ts';

const partitioner = (read: string, ...needed: string[]): { check: Check } => ({
  check: (call) => {
    const line = readOptions(call.args, read);
    if (line.problems.length === 0 && has(line, ...needed)) return [];
    return [destroys(`${call.name} changes partitions: ${targets(call)}`)];
  },
});

/** parted reads with `-l` and `print`; its commands may be abbreviated. */
const parted: Check = (call) => {
  const line = readOptions(call.args, '-lsmj --list --script --machine --json --version --help');
  if (line.problems.length === 0) {
    const words = line.operands.slice(1).map((arg) => arg.value);
    if (has(line, '-l', '--list', '--version', '--help') && line.operands.length === 0) return [];
    const text = words.join(' ');
    if (
      words.length > 0 &&
      line.operands.every(isKnown) &&
      /^((unit (s|b|kb|mb|gb|tb|kib|mib|gib|tib|chs|cyl|%|compact) )?(print|p)( (free|all|list|devices|\d+))?|align-check \w+ \d+)$/i.test(
        text,
      )
    )
      return [];
  }
  return [destroys(`parted changes partitions: ${targets(call)}`)];
};

const smartctl: Check = (call) => {
  const line = readOptions(
    call.args,
    '-aixHcA -l: -d: -n: -q: -T: -f: -g: -j? --all --xall --info --identify? --health --capabilities --attributes --log: --device: --nocheck: --get: --json? --scan --scan-open --format: --tolerance: --version --help',
  );
  const sets = valuesOf(line, '-l', '--log').filter((log) =>
    /^sct(erc|tempint)\b.|\0/.test(log.value),
  );
  return [
    ...problems('smartctl', line),
    ...sets.map((log) => changes(`smartctl -l ${shown(log)} sets how the drive works`)),
  ];
};

const hdparm: Check = (call) => {
  if (
    call.args.some((arg) =>
      /security-(erase|set)|trim-sector|write-sector|make-bad|fwdownload|dco|sanitize|idle-unload/.test(
        best(arg),
      ),
    )
  ) {
    return [destroys(`hdparm rewrites the drive: ${targets(call)}`)];
  }
  // Without a number behind it, each of these tells how it is set.
  const asks = call.args.filter(
    (arg, at) =>
      !(
        /^-[BWAaMmdrku]$/.test(arg.value) && /^\/dev\/[\w/-]+$/.test(call.args[at + 1]?.value ?? '')
      ),
  );
  return problems('hdparm', readOptions(asks, '-IigtTCv'));
};

const nvme = verbs({
  read: {
    'list list-subsys id-ctrl id-ns list-ns list-ctrl smart-log error-log fw-log get-feature show-regs version help self-test-log':
      reads(
        '-n: -o: -e: -f: -s: -vH --namespace-id: --log-entries: --feature-id: --sel: --output-format: --verbose --human-readable',
      ),
  },
  danger: [
    [
      /(^| )(format|sanitize|delete-ns|write-zeroes|write|write-uncor|security-send|dsm|detach-ns)( |$)/,
      'destroys data',
    ],
  ],
});

const tune = (spec: string, ...needed: string[]): { check: Check } => ({
  check: (call) => {
    const line = readOptions(call.args, spec);
    return line.problems.length === 0 && has(line, ...needed)
      ? []
      : [changes(`${call.name} changes a file system: ${targets(call)}`)];
  },
});

/** Names of disks, when nothing else is asked for: `lsblk -dno NAME`, or `-p` for their paths. */
function listedDisks(call: Call): HoleKind {
  const text = sure(call);
  const names = /^-[dln]*(p?)[dln]*o ?NAME$|^(?:-[dln]+ )+-o NAME$/.exec(text);
  if (!names) return { kind: 'any' };
  return names[1] === 'p' ? { kind: 'paths', patterns: ['/dev/*'] } : { kind: 'id' };
}

export const disks: Table = {
  lsblk: reads(
    '-aAbdDfJlmMnNOpPrsStTz -e: -I: -o: -w: -x: -E: --all --bytes --nodeps --discard --exclude: --fs --include: --json --list --merge --perms --noheadings --output: --output-all --paths --pairs --raw --inverse --scsi --nvme --virtio --topology --sort: --zoned --tree? --width: --help --version',
    { output: listedDisks },
  ),
  blkid: reads(
    '-diklp -o: -s: -t: -n: -u: -L: -U: -O: -S: --output: --match-tag: --match-token: --label: --uuid: --probe --info --version --help',
  ),
  findmnt: reads(
    '-aAbcCDefiJklmnPrRstuUvy -d: -F:@ -M: -N: -o: -O: -S: -T: -t: -w: --all --json --list --noheadings --output: --output-all --raw --real --source: --target: --types: --options: --df --tree --bytes --evaluate --pairs --mtab --fstab --kernel --verify --verbose --submounts --help --version',
  ),
  ...each('lsscsi', reads('-acdghiklLpPstuUvwxz -N --size --long --hosts --transport')),
  ...each(
    'fdisk cfdisk',
    partitioner(
      '-l -x -b: -t: -u? -o: --list --list-details --bytes --color? --version --help',
      '-l',
      '-x',
      '--list',
      '--list-details',
      '--version',
      '--help',
    ),
  ),
  sfdisk: partitioner(
    '-dlFJV -o: --dump --list --json --list-free --verify --show-size --version --help',
    '-d',
    '-l',
    '-F',
    '-J',
    '-V',
    '--dump',
    '--list',
    '--json',
    '--list-free',
    '--verify',
    '--version',
    '--help',
  ),
  gdisk: partitioner('-l', '-l'),
  sgdisk: partitioner(
    '-vLEO -i: -p --print --verify --info: --list-types',
    '-p',
    '-v',
    '-i',
    '-L',
    '--print',
    '--verify',
    '--info',
    '--list-types',
  ),
  cgdisk: wrecks('changes partitions'),
  parted: { check: parted },
  partx: reads('-sr -o: -gb --show --raw --noheadings --output: --output-all --bytes', {
    also: (read) =>
      has(read, '-s', '--show', '-r', '--raw')
        ? []
        : [changes('partx changes the partition table in use')],
  }),
  ...each(
    'mkfs mkfs.ext2 mkfs.ext3 mkfs.ext4 mkfs.xfs mkfs.btrfs mkfs.vfat mkfs.fat mkfs.ntfs mkfs.exfat mkfs.f2fs mkfs.minix mkfs.cramfs mkfs.jfs mkfs.reiserfs mkfs.erofs mkfs.bfs mkfs.nilfs2 mkfs.udf mkfs.zonefs mkfs.gfs2 mkfs.ocfs2 mkfs.msdos mke2fs mkntfs mkdosfs mkexfatfs newfs mkreiserfs mkswap bcache-super-show-make make-bcache mkudffs',
    {
      check: (call) => [
        operandsOf(call).length === 0 && given(call, 'V', 'version', 'help')
          ? changes(`${call.name} shows its version`)
          : destroys(`${call.name} formats ${targets(call)}`),
      ],
    },
  ),
  wipefs: {
    check: (call) => {
      const line = readOptions(
        call.args,
        '-npJi -O: -t: --no-act --parsable --json --noheadings --output: --types:',
      );
      return line.problems.length === 0
        ? []
        : [destroys(`wipefs erases signatures on ${targets(call)}`)];
    },
  },
  blkdiscard: wrecks('discards all data of a device'),
  ...each('badblocks', {
    check: (call) => [
      given(call, 'w')
        ? destroys('badblocks -w overwrites a device')
        : changes('badblocks reads a whole device'),
    ],
  }),
  smartctl: { check: smartctl },
  hdparm: { check: hdparm },
  nvme,
  tune2fs: tune('-l', '-l'),
  dumpe2fs: reads('-bfghixV -o:'),
  ...each('xfs_info', reads('-V')),
  ...each(
    'e2fsck fsck fsck.ext4 fsck.xfs xfs_growfs fstrim partprobe vgcreate lvcreate lvchange vgchange vgimport vgexport lvconvert lvrename vgrename pvresize pvmove pvchange',
    {
      check: (call) => [
        call.name === 'lvconvert' && given(call, '', 'merge', 'mergesnapshot')
          ? destroys(`lvconvert throws away what came after the snapshot: ${targets(call)}`)
          : changes(`${call.name} changes a file system or volume: ${targets(call)}`),
      ],
    },
  ),
  xfs_repair: {
    check: (call) => [
      given(call, 'L')
        ? destroys(`xfs_repair -L throws the log away: ${targets(call)}`)
        : changes(`xfs_repair changes a file system: ${targets(call)}`),
    ],
  },
  resize2fs: {
    check: (call) => [
      given(call, 'M') || operandsOf(call).length > 1
        ? destroys(`resize2fs may shrink a file system: ${targets(call)}`)
        : changes(`resize2fs changes a file system: ${targets(call)}`),
    ],
  },
  xfs_db: {
    check: (call) => {
      const line = readOptions(call.args, '-rfV -c:');
      const asks = valuesOf(line, '-c').every((text) =>
        /^(frag|freesp( -s)?|info|sb( \d+)?|print?|p|quit)( -?\w+)*$/.test(text.value),
      );
      return line.problems.length === 0 && has(line, '-r') && has(line, '-c') && asks
        ? []
        : [destroys('xfs_db edits a file system directly')];
    },
  },
  xfs_quota: {
    check: (call) => {
      const line = readOptions(call.args, '-xV -c: -D:@ -P:@');
      const asks = valuesOf(line, '-c').every((text) =>
        /^(df|free|print|report|state|quota)( -[a-eg-zA-Z]+)*( [\w/][\w./-]*)*$/.test(text.value),
      );
      return line.problems.length === 0 && has(line, '-c') && asks
        ? []
        : [changes('xfs_quota sets quotas')];
    },
  },
  losetup: reads('-alJnr -O: --all --list --json --noheadings --raw --output: --associated: -j:', {
    operands: 'names',
    also: (read) =>
      read.operands.length > 1 || (read.operands.length > 0 && has(read, '-r'))
        ? [changes('losetup sets up a loop device')]
        : [],
  }),
  blockdev: {
    check: (call) =>
      call.args.every((arg) => /^(--get\w+|--report|-v|-q)$|^\/dev\//.test(arg.value))
        ? []
        : [changes('blockdev changes a device')],
  },
};
