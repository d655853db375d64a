import type { MachineSpec, MountSpec } from '../machine/machine.ts';
import type { PackageSpec } from '../machine/packages.ts';
import type { UnitSpec } from '../machine/unit.ts';

/** 2 to the 30th: sizes of the fleet are stated in these. */
export const GIB = 1024 ** 3;

/** Names and addresses in the fleet's network, as every machine has them in its /etc/hosts. */
export const ADDRESSES: Readonly<Record<string, string>> = {
  'pve-1': '10.20.0.10',
  'web-1': '10.20.0.11',
  'db-1': '10.20.0.12',
  'nas-1': '10.20.0.13',
  dns: '10.20.0.21',
  gitea: '10.20.0.22',
  'nfs-export': '10.20.0.23',
  'auth-outpost': '10.20.0.24',
  'old-wiki': '10.20.0.25',
};

/** Further names by which machines of the fleet are known to each other. */
export const ALIASES: Readonly<Record<string, string>> = {
  'www.home.example': 'web-1',
  'git.home.example': 'web-1',
};

const UNITS: readonly UnitSpec[] = [
  {
    name: 'cron.service',
    description: 'Regular background program processing daemon',
    processes: ['/usr/sbin/cron -f'],
    memoryMib: 2,
    restarts: true,
  },
  {
    name: 'systemd-journald.service',
    description: 'Journal Service',
    enabled: 'static',
    processes: ['/lib/systemd/systemd-journald'],
    memoryMib: 18,
  },
  {
    name: 'apt-daily.timer',
    description: 'Daily apt download activities',
    timer: { lastSecondsAgo: 32_000, nextInSeconds: 54_000 },
  },
  { name: 'multi-user.target', description: 'Multi-User System', enabled: 'static' },
];

const SSH: UnitSpec = {
  name: 'ssh.service',
  description: 'OpenBSD Secure Shell server',
  processes: ['sshd: /usr/sbin/sshd -D'],
  listens: [{ protocol: 'tcp', address: '0.0.0.0', port: 22 }],
  memoryMib: 6,
  restarts: true,
};

const PACKAGES: readonly PackageSpec[] = [
  {
    name: 'base-files',
    version: '12.4+deb12u5',
    candidate: '12.4+deb12u6',
    sizeKib: 71,
    description: 'Debian base system miscellaneous files',
  },
  { name: 'bash', version: '5.2.15-2+b2', description: 'GNU Bourne Again SHell' },
  { name: 'coreutils', version: '9.1-1', description: 'GNU core utilities' },
  {
    name: 'libssl3',
    version: '3.0.11-1~deb12u2',
    candidate: '3.0.13-1~deb12u1',
    security: true,
    sizeKib: 2022,
    description: 'Secure Sockets Layer toolkit',
  },
  {
    name: 'openssl',
    version: '3.0.11-1~deb12u2',
    candidate: '3.0.13-1~deb12u1',
    security: true,
    sizeKib: 1426,
    description: 'Secure Sockets Layer toolkit - command line',
  },
  { name: 'systemd', version: '252.22-1~deb12u1', description: 'system and service manager' },
  { name: 'tzdata', version: '2024a-0+deb12u1', description: 'time zone and daylight-saving data' },
];

const AVAILABLE: readonly PackageSpec[] = [
  'htop',
  'tmux',
  'ncdu',
  'jq',
  'rsync',
  'git',
  'vim',
  'prometheus-node-exporter',
].map((name) => ({ name, version: '1.0-1', sizeKib: 240, description: name }));

/** What differs from one Debian machine to the next. */
export type DebianParts = Pick<MachineSpec, 'name' | 'address'> &
  Partial<Omit<MachineSpec, 'name' | 'address'>> & {
    readonly root?: { readonly sizeGib: number; readonly usedGib: number };
  };

/** A Debian machine with what all of them have. */
export function debian(parts: DebianParts): MachineSpec {
  const {
    root = { sizeGib: 32, usedGib: 11 },
    units = [],
    packages = [],
    files = {},
    mounts = [],
    ...rest
  } = parts;
  const host = (parts.kind ?? 'host') === 'host';
  const os = parts.os ?? 'Debian GNU/Linux 12 (bookworm)';
  const rootMount: MountSpec = {
    source: host ? '/dev/sda2' : '/dev/mapper/pve-rootfs',
    type: 'ext4',
    path: '/',
    sizeBytes: root.sizeGib * GIB,
    baseBytes: root.usedGib * GIB,
  };
  const memory = (parts.memoryMib ?? 4096) * 1024 * 1024;
  return {
    kind: 'host',
    os,
    kernel: '6.1.0-21-amd64',
    cores: 2,
    memoryMib: 4096,
    usedMemoryMib: 1180,
    load: [0.18, 0.22, 0.2],
    bootedSecondsAgo: 41 * 86_400 + 7_300,
    available: AVAILABLE,
    ...rest,
    mounts: [
      rootMount,
      {
        source: 'tmpfs',
        type: 'tmpfs',
        path: '/run',
        sizeBytes: memory / 10,
        baseBytes: 1024 ** 2,
      },
      ...mounts,
    ],
    units: [...UNITS, ...(host ? [SSH] : []), ...units],
    packages: [
      ...PACKAGES.filter(({ name }) => !packages.some((own) => own.name === name)),
      ...packages,
    ],
    files: { ...etc(parts, os), ...files },
  };
}

function etc({ name }: DebianParts, os: string): Record<string, string> {
  const version = /\d+/.exec(os)?.[0] ?? '12';
  const codename = /\((.+)\)/.exec(os)?.[1] ?? 'bookworm';
  return {
    '/etc/hostname': `${name}\n`,
    '/etc/debian_version': `${version}.5\n`,
    '/etc/os-release': `PRETTY_NAME="${os}"\nNAME="Debian GNU/Linux"\nVERSION_ID="${version}"\nVERSION="${version} (${codename})"\nVERSION_CODENAME=${codename}\nID=debian\n`,
    '/etc/hosts': `127.0.0.1 localhost\n${Object.entries(ADDRESSES)
      .map(([host, address]) => `${address} ${host} ${host}.home.example\n`)
      .join('')}`,
    '/etc/resolv.conf': 'search home.example\nnameserver 10.20.0.21\n',
    '/etc/passwd':
      'root:x:0:0:root:/root:/bin/bash\ndaemon:x:1:1:daemon:/usr/sbin:/usr/sbin/nologin\nwww-data:x:33:33:www-data:/var/www:/usr/sbin/nologin\nnobody:x:65534:65534:nobody:/nonexistent:/usr/sbin/nologin\n',
    '/etc/group': 'root:x:0:\nadm:x:4:\nsudo:x:27:\n',
    '/etc/shadow': 'root:*:19800:0:99999:7:::\n',
    '/etc/fstab':
      '# <file system> <mount point> <type> <options> <dump> <pass>\nUUID=0d2c5d1e-demo / ext4 errors=remount-ro 0 1\n',
    '/etc/apt/sources.list': `deb http://deb.example/debian ${codename} main\n`,
    '/etc/crontab': '17 * * * * root cd / && run-parts --report /etc/cron.hourly\n',
    '/root/.bashrc': '# nothing here\n',
    '/var/log/dpkg.log': '',
    '/var/log/apt/history.log': '',
  };
}
