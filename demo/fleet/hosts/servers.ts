import type { MachineSpec } from '../machine/machine.ts';
import { ADDRESSES, GIB, debian } from './debian.ts';

/** The database server. */
export const db1: MachineSpec = debian({
  name: 'db-1',
  address: ADDRESSES['db-1'] ?? '',
  root: { sizeGib: 32, usedGib: 9 },
  memoryMib: 8192,
  usedMemoryMib: 4710,
  cores: 4,
  load: [0.64, 0.58, 0.51],
  mounts: [
    {
      source: '/dev/sdb1',
      type: 'ext4',
      path: '/var/lib/postgresql',
      sizeBytes: 100 * GIB,
      baseBytes: 71 * GIB,
    },
  ],
  units: [
    {
      name: 'postgresql.service',
      description: 'PostgreSQL RDBMS',
      processes: [
        '/usr/lib/postgresql/15/bin/postgres -D /var/lib/postgresql/15/main',
        'postgres: 15/main: checkpointer',
        'postgres: 15/main: walwriter',
      ],
      user: 'postgres',
      memoryMib: 1610,
      listens: [{ protocol: 'tcp', address: '0.0.0.0', port: 5432 }],
      startMs: 2_200,
      startLines: ['database system is ready to accept connections'],
    },
  ],
  packages: [
    {
      name: 'postgresql-15',
      version: '15.5-0+deb12u1',
      candidate: '15.6-0+deb12u1',
      security: true,
      sizeKib: 16_840,
      restarts: ['postgresql.service'],
      description: "The World's Most Advanced Open Source Relational Database",
    },
    {
      name: 'libpq5',
      version: '15.5-0+deb12u1',
      candidate: '15.6-0+deb12u1',
      security: true,
      sizeKib: 190,
      description: 'PostgreSQL C client library',
    },
  ],
  files: {
    '/etc/postgresql/15/main/postgresql.conf':
      "port = 5432\nmax_connections = 100\nshared_buffers = 2GB\nlisten_addresses = '*'\n",
  },
  journal: [
    {
      secondsAgo: 86_000,
      unit: 'postgresql.service',
      ident: 'postgres',
      text: 'checkpoint complete: wrote 4127 buffers (1.6%)',
    },
    {
      secondsAgo: 1_700,
      unit: 'postgresql.service',
      ident: 'postgres',
      text: 'checkpoint complete: wrote 3911 buffers (1.5%)',
    },
  ],
});

/** The storage server, whose backup dataset is nearly full because of what an older server left there. */
export const nas1: MachineSpec = debian({
  name: 'nas-1',
  address: ADDRESSES['nas-1'] ?? '',
  root: { sizeGib: 64, usedGib: 14 },
  memoryMib: 16_384,
  usedMemoryMib: 9_200,
  cores: 4,
  mounts: [
    {
      source: 'tank/media',
      type: 'zfs',
      path: '/srv/media',
      sizeBytes: 3_600 * GIB,
      baseBytes: 1_930 * GIB,
      pool: 'tank',
    },
    {
      source: 'tank/backup',
      type: 'zfs',
      path: '/srv/backup',
      sizeBytes: 2_048 * GIB,
      baseBytes: 2 * GIB,
      pool: 'tank',
    },
  ],
  units: [
    {
      name: 'smbd.service',
      description: 'Samba SMB Daemon',
      processes: ['/usr/sbin/smbd --foreground'],
      memoryMib: 34,
      listens: [{ protocol: 'tcp', address: '0.0.0.0', port: 445 }],
    },
    {
      name: 'nfs-server.service',
      description: 'NFS server and services',
      listens: [{ protocol: 'tcp', address: '0.0.0.0', port: 2049 }],
    },
    {
      name: 'zfs-zed.service',
      description: 'ZFS Event Daemon',
      processes: ['/usr/sbin/zed -F'],
      memoryMib: 3,
    },
    {
      name: 'nightly-backup.timer',
      description: 'Nightly backup of the fleet',
      timer: { lastSecondsAgo: 41_000, nextInSeconds: 45_400 },
    },
    {
      name: 'nightly-backup.service',
      description: 'Nightly backup of the fleet',
      enabled: 'disabled',
      active: 'inactive',
    },
  ],
  packages: [
    {
      name: 'zfsutils-linux',
      version: '2.1.11-1',
      description: 'command-line tools to manage OpenZFS filesystems',
    },
    {
      name: 'samba',
      version: '2:4.17.12+dfsg-0+deb12u1',
      description: 'SMB/CIFS file, print, and login server',
    },
    { name: 'rsync', version: '3.2.7-1', description: 'fast, versatile, remote file-copying tool' },
  ],
  files: {
    '/srv/backup/2023-old/README.txt':
      'Backups of the server that was replaced in January 2024. Everything was moved to weekly/.\nKeep until the end of 2024, then delete.\n',
    '/srv/backup/README.txt':
      'daily/   last 7 days\nweekly/  last 8 weeks\n2023-old/  from the old server\n',
  },
  large: {
    ...backups('/srv/backup/2023-old', ['gitea', 'postgresql', 'mail', 'www'], 153, 1_060),
    ...backups('/srv/backup/weekly', ['w1', 'w2', 'w3', 'w4', 'w5', 'w6', 'w7', 'w8'], 88, 8),
    ...backups('/srv/backup/daily', ['mon', 'tue', 'wed', 'thu', 'fri', 'sat', 'sun'], 93, 1),
  },
  journal: [
    {
      secondsAgo: 41_000,
      unit: 'nightly-backup.service',
      ident: 'systemd',
      text: 'Starting nightly-backup.service - Nightly backup of the fleet...',
    },
    {
      secondsAgo: 40_100,
      unit: 'nightly-backup.service',
      ident: 'nightly-backup',
      text: 'warning: /srv/backup is 96% full, less than two nights left',
      priority: 4,
    },
    {
      secondsAgo: 40_090,
      unit: 'nightly-backup.service',
      ident: 'systemd',
      text: 'Finished nightly-backup.service - Nightly backup of the fleet.',
    },
  ],
});

function backups(
  folder: string,
  names: readonly string[],
  gib: number,
  daysAgo: number,
): NonNullable<MachineSpec['large']> {
  return Object.fromEntries(
    names.map((name, index) => [
      `${folder}/${name}.tar.zst`,
      { bytes: gib * GIB, daysAgo: daysAgo + index },
    ]),
  );
}
