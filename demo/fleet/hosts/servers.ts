import type { MachineSpec } from '../machine/machine.ts';
import { ADDRESSES, GIB, debian } from './debian.ts';

const WELCOME =
  '<!DOCTYPE html>\n<html><head><title>Home</title></head><body><h1>It works, at home.</h1></body></html>\n';

/**
 * The web server. nginx failed at night: an unattended upgrade restarted it in the minute in which the name server was
 * down, so it could not resolve its upstream. The configuration is sound, so a restart mends it.
 */
export const web1: MachineSpec = debian({
  name: 'web-1',
  address: ADDRESSES['web-1'] ?? '',
  root: { sizeGib: 40, usedGib: 21 },
  memoryMib: 2048,
  usedMemoryMib: 520,
  units: [
    {
      name: 'nginx.service',
      description: 'A high performance web server and a reverse proxy server',
      processes: [
        'nginx: master process /usr/sbin/nginx -g daemon on; master_process on;',
        'nginx: worker process',
        'nginx: worker process',
      ],
      user: 'www-data',
      memoryMib: 14,
      listens: [
        { protocol: 'tcp', address: '0.0.0.0', port: 80 },
        { protocol: 'tcp', address: '0.0.0.0', port: 443 },
      ],
      active: 'failed',
      exitCode: 1,
      sinceSecondsAgo: 3 * 3600 + 11 * 60,
      startMs: 900,
    },
    {
      name: 'certbot.timer',
      description: 'Run certbot twice daily',
      timer: { lastSecondsAgo: 21_000, nextInSeconds: 22_000 },
    },
  ],
  packages: [
    {
      name: 'nginx',
      version: '1.22.1-9',
      candidate: '1.22.1-9+deb12u1',
      security: true,
      sizeKib: 527,
      restarts: ['nginx.service'],
      description: 'small, powerful, scalable web/proxy server',
    },
    {
      name: 'curl',
      version: '7.88.1-10+deb12u5',
      candidate: '7.88.1-10+deb12u6',
      security: true,
      sizeKib: 315,
      description: 'command line tool for transferring data',
    },
    { name: 'certbot', version: '2.1.0-4', description: 'automatically configure HTTPS' },
  ],
  sites: [
    { port: 80, unit: 'nginx.service', server: 'nginx/1.22.1', status: 200, body: WELCOME },
    { port: 443, unit: 'nginx.service', server: 'nginx/1.22.1', status: 200, body: WELCOME },
  ],
  files: {
    '/etc/nginx/nginx.conf':
      'user www-data;\nworker_processes auto;\nevents { worker_connections 768; }\nhttp {\n  include /etc/nginx/sites-enabled/*;\n}\n',
    '/etc/nginx/sites-enabled/www.conf':
      'server {\n  listen 80;\n  server_name www.home.example;\n  root /var/www/html;\n}\n',
    '/etc/nginx/sites-enabled/git.conf':
      'upstream gitea {\n  server gitea.home.example:3000;\n}\nserver {\n  listen 80;\n  server_name git.home.example;\n  location / {\n    proxy_pass http://gitea;\n  }\n}\n',
    '/var/www/html/index.html': WELCOME,
    '/var/log/nginx/error.log':
      '[emerg] host not found in upstream "gitea.home.example:3000" in /etc/nginx/sites-enabled/git.conf:2\n',
    '/var/log/nginx/access.log':
      '10.20.0.50 - - "GET / HTTP/1.1" 200 121 "-" "Mozilla/5.0"\n'.repeat(40),
  },
  large: { '/var/log/nginx/access.log.1': { bytes: 1.4 * GIB, daysAgo: 2 } },
  journal: [
    {
      secondsAgo: 11_470,
      unit: 'apt-daily-upgrade.service',
      ident: 'systemd',
      text: 'Starting apt-daily-upgrade.service - Daily apt upgrade and clean activities...',
    },
    {
      secondsAgo: 11_464,
      unit: 'nginx.service',
      ident: 'systemd',
      text: 'Stopping nginx.service - A high performance web server and a reverse proxy server...',
    },
    {
      secondsAgo: 11_463,
      unit: 'nginx.service',
      ident: 'systemd',
      text: 'Starting nginx.service - A high performance web server and a reverse proxy server...',
    },
    {
      secondsAgo: 11_461,
      unit: 'nginx.service',
      ident: 'nginx',
      text: 'nginx: [emerg] host not found in upstream "gitea.home.example:3000" in /etc/nginx/sites-enabled/git.conf:2',
      priority: 3,
    },
    {
      secondsAgo: 11_461,
      unit: 'nginx.service',
      ident: 'nginx',
      text: 'nginx: configuration file /etc/nginx/nginx.conf test failed',
      priority: 3,
    },
    {
      secondsAgo: 11_460,
      unit: 'nginx.service',
      ident: 'systemd',
      text: 'nginx.service: Control process exited, code=exited, status=1/FAILURE',
      priority: 4,
    },
    {
      secondsAgo: 11_460,
      unit: 'nginx.service',
      ident: 'systemd',
      text: "nginx.service: Failed with result 'exit-code'.",
      priority: 4,
    },
    {
      secondsAgo: 11_460,
      unit: 'nginx.service',
      ident: 'systemd',
      text: 'Failed to start nginx.service - A high performance web server and a reverse proxy server.',
      priority: 3,
    },
    {
      secondsAgo: 11_430,
      unit: 'apt-daily-upgrade.service',
      ident: 'systemd',
      text: 'Finished apt-daily-upgrade.service - Daily apt upgrade and clean activities.',
    },
  ],
});

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
