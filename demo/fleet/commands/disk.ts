import { fail } from '../machine/command.ts';
import type { CommandIo, CommandTable, Said } from '../machine/command.ts';
import type { Machine, MountSpec } from '../machine/machine.ts';
import { columns, human, options } from './text.ts';

/** Commands about disks and what is on them. */
export const diskCommands: CommandTable = {
  df: (args, io) => df(args, io),
  du: (args, io) => du(args, io),
  mount: (args, { machine }) =>
    args.length > 0 && !args.includes('-l')
      ? fail(32, 'mount: changing mounts is not part of the demo fleet')
      : machine.spec.mounts
          .map(({ source, path, type }) => `${source} on ${path} type ${type} (rw,relatime)\n`)
          .join(''),
  findmnt: (_args, { machine }) =>
    columns([
      ['TARGET', 'SOURCE', 'FSTYPE', 'OPTIONS'],
      ...machine.spec.mounts.map((m) => [m.path, m.source, m.type, 'rw,relatime']),
    ]),
  mountpoint: (args, { machine, cwd }) => {
    const path = args.find((word) => !word.startsWith('-')) ?? '';
    const full = machine.fs.resolvePath(cwd, path);
    const is = machine.spec.mounts.some((mount) => mount.path === full);
    const stdout = args.includes('-q') ? '' : `${path} is ${is ? '' : 'not '}a mountpoint\n`;
    return { stdout, exitCode: is ? 0 : 32 };
  },
  lsblk: (_args, { machine }) =>
    columns([
      ['NAME', 'MAJ:MIN', 'RM', 'SIZE', 'RO', 'TYPE', 'MOUNTPOINTS'],
      ...machine.spec.mounts
        .filter((mount) => mount.source.startsWith('/dev/'))
        .map((mount, index) => [
          mount.source.slice(5),
          `8:${index}`,
          '0',
          human(mount.sizeBytes),
          '0',
          'part',
          mount.path,
        ]),
    ]),
  blkid: (_args, { machine }) =>
    machine.spec.mounts
      .filter((mount) => mount.source.startsWith('/dev/'))
      .map((mount) => `${mount.source}: TYPE="${mount.type}"\n`)
      .join(''),
  zpool: (args, { machine }) => zpool(args, machine),
  zfs: (args, { machine }) => zfs(args, machine),
};

async function df(args: readonly string[], { machine, cwd }: CommandIo): Promise<Said> {
  const { has, value, rest } = options(args, [
    '-t',
    '--type',
    '-x',
    '--exclude-type',
    '--output',
    '-B',
  ]);
  let mounts = machine.spec.mounts;
  if (rest.length > 0) {
    const found = await Promise.all(
      rest.map(async (path) => {
        const full = machine.fs.resolvePath(cwd, path);
        return { path, mount: (await machine.fs.exists(full)) ? machine.mountOf(full) : undefined };
      }),
    );
    const missing = found.find(({ mount }) => !mount);
    if (missing) return fail(1, `df: ${missing.path}: No such file or directory`);
    mounts = found.flatMap(({ mount }) => mount ?? []);
  }
  const only = value('-t', '--type');
  const except = args.flatMap((word, index) =>
    word === '-x'
      ? (args[index + 1] ?? [])
      : word.startsWith('--exclude-type=')
        ? word.slice(15)
        : [],
  );
  mounts = mounts.filter(
    (mount) => (only === undefined || mount.type === only) && !except.includes(mount.type),
  );
  const readable = has('-h', '--human-readable', '-H');
  const inodes = has('-i', '--inodes');
  const show = (bytes: number): string =>
    readable
      ? human(bytes)
      : String(
          Math.ceil(
            bytes /
              (value('-B') === '1'
                ? 1
                : value('-B')?.startsWith('G')
                  ? 1024 ** 3
                  : value('-B')?.startsWith('M')
                    ? 1024 ** 2
                    : 1024),
          ),
        );
  const rows = mounts.map((mount) => {
    const size = inodes ? mount.sizeBytes / 16_384 : mount.sizeBytes;
    const used = inodes ? mount.baseBytes / 65_536 : machine.usedBytes(mount);
    const count = (n: number) => (inodes ? String(Math.round(n)) : show(n));
    return {
      source: mount.source,
      fstype: mount.type,
      size: count(size),
      used: count(used),
      avail: count(size - used),
      pcent: `${Math.ceil((used / size) * 100)}%`,
      target: mount.path,
    };
  });
  const fields = value('--output')?.split(',').filter(Boolean) ?? [
    'source',
    ...(has('-T', '--print-type') ? ['fstype'] : []),
    'size',
    'used',
    'avail',
    'pcent',
    'target',
  ];
  const heads: Record<string, string> = {
    source: 'Filesystem',
    fstype: 'Type',
    size: inodes ? 'Inodes' : readable ? 'Size' : '1K-blocks',
    used: inodes ? 'IUsed' : 'Used',
    avail: inodes ? 'IFree' : readable ? 'Avail' : 'Available',
    pcent: inodes ? 'IUse%' : 'Use%',
    target: 'Mounted on',
  };
  const right = fields.flatMap((field, index) =>
    ['size', 'used', 'avail', 'pcent'].includes(field) ? [index] : [],
  );
  return columns(
    [
      fields.map((field) => heads[field] ?? field),
      ...rows.map((row) => fields.map((field) => row[field as keyof typeof row] ?? '-')),
    ],
    right,
  );
}

async function du(args: readonly string[], { machine, cwd }: CommandIo): Promise<Said> {
  const { has, value, rest } = options(args, ['-d', '--max-depth', '--exclude', '-t']);
  const depth = has('-s', '--summarize')
    ? 0
    : Number(value('-d', '--max-depth') ?? Number.POSITIVE_INFINITY);
  const show = (bytes: number): string =>
    has('-h')
      ? human(bytes)
      : String(has('-b') ? bytes : Math.ceil(bytes / (has('-m') ? 1024 ** 2 : 1024)));
  const stderr: string[] = [];
  const lines: string[] = [];
  let total = 0;
  const paths = machine.fs.getAllPaths();
  for (const given of rest.length > 0 ? rest : ['.']) {
    const root = machine.fs.resolvePath(cwd, given);
    if (!(await machine.fs.exists(root))) {
      stderr.push(`du: cannot access '${given}': No such file or directory\n`);
      continue;
    }
    const sizes = new Map<string, number>([[root, 0]]);
    const folders = new Set([root]);
    for (const path of paths) {
      if (path !== root && !path.startsWith(root === '/' ? '/' : `${root}/`)) continue;
      const stat = await machine.fs.lstat(path);
      if (stat.isDirectory) folders.add(path);
      const own = stat.isDirectory ? 4096 : Math.ceil(stat.size / 4096) * 4096;
      let at = path;
      for (;;) {
        sizes.set(at, (sizes.get(at) ?? 0) + own);
        if (at === root || at === '/') break;
        at = at.slice(0, at.lastIndexOf('/')) || '/';
      }
    }
    total += sizes.get(root) ?? 0;
    const shown = [...sizes]
      .filter(
        ([path]) =>
          path === root || ((folders.has(path) || has('-a')) && level(root, path) <= depth),
      )
      .toSorted(([a], [b]) => (a === root ? 1 : b === root ? -1 : a < b ? -1 : 1));
    for (const [path, size] of shown) {
      lines.push(
        `${show(size)}\t${path === root ? given : `${given.replace(/\/$/, '')}${path.slice(root === '/' ? 0 : root.length)}`}\n`,
      );
    }
  }
  if (has('-c', '--total')) lines.push(`${show(total)}\ttotal\n`);
  return { stdout: lines.join(''), stderr: stderr.join(''), exitCode: stderr.length > 0 ? 1 : 0 };
}

function level(root: string, path: string): number {
  return path.slice(root === '/' ? 1 : root.length + 1).split('/').length;
}

function pools(machine: Machine): { name: string; datasets: MountSpec[] }[] {
  const names = new Set(machine.spec.mounts.flatMap((mount) => mount.pool ?? []));
  return [...names].map((name) => ({
    name,
    datasets: machine.spec.mounts.filter((mount) => mount.pool === name),
  }));
}

function zpool([verb = '', ...rest]: readonly string[], machine: Machine): Said {
  const found = pools(machine);
  if (verb === 'list') {
    const rows = found.map(({ name, datasets }) => {
      const size = datasets.reduce((sum, mount) => sum + mount.sizeBytes, 0);
      const used = datasets.reduce((sum, mount) => sum + machine.usedBytes(mount), 0);
      return [
        name,
        human(size),
        human(used),
        human(size - used),
        '-',
        '-',
        '14%',
        `${Math.round((used / size) * 100)}%`,
        '1.00x',
        'ONLINE',
        '-',
      ];
    });
    if (rows.length === 0) return 'no pools available\n';
    const head = [
      'NAME',
      'SIZE',
      'ALLOC',
      'FREE',
      'CKPOINT',
      'EXPANDSZ',
      'FRAG',
      'CAP',
      'DEDUP',
      'HEALTH',
      'ALTROOT',
    ];
    return columns(rest.includes('-H') ? rows : [head, ...rows]);
  }
  if (verb === 'status') {
    if (rest.includes('-x')) return 'all pools are healthy\n';
    if (found.length === 0) return 'no pools available\n';
    return found
      .map(
        ({ name }) =>
          `  pool: ${name}\n state: ONLINE\n  scan: scrub repaired 0B in 05:12:44 with 0 errors\nconfig:\n\n` +
          `        NAME        STATE     READ WRITE CKSUM\n        ${name.padEnd(11)} ONLINE       0     0     0\n` +
          `          mirror-0  ONLINE       0     0     0\n            sda     ONLINE       0     0     0\n            sdb     ONLINE       0     0     0\n\nerrors: No known data errors\n`,
      )
      .join('\n');
  }
  if (verb === 'scrub') return '';
  return fail(2, `zpool: '${verb}' is not available in the demo fleet; list, status and scrub are`);
}

function zfs([verb = '', ...rest]: readonly string[], machine: Machine): Said {
  if (verb !== 'list') return fail(2, `zfs: '${verb}' is not available in the demo fleet; list is`);
  if (rest.includes('snapshot')) return 'no datasets available\n';
  const rows = pools(machine).flatMap(({ datasets }) =>
    datasets.map((mount) => {
      const used = machine.usedBytes(mount);
      return [mount.source, human(used), human(mount.sizeBytes - used), human(used), mount.path];
    }),
  );
  return rows.length === 0
    ? 'no datasets available\n'
    : columns([['NAME', 'USED', 'AVAIL', 'REFER', 'MOUNTPOINT'], ...rows]);
}
