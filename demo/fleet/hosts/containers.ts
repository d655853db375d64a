import type { MachineSpec } from '../machine/machine.ts';
import type { UnitSpec } from '../machine/unit.ts';
import { ADDRESSES, GIB, debian } from './debian.ts';
import type { DebianParts } from './debian.ts';

/** The Proxmox machine itself. */
export const pve1: MachineSpec = debian({
  name: 'pve-1',
  address: ADDRESSES['pve-1'] ?? '',
  kernel: '6.8.4-3-pve',
  root: { sizeGib: 94, usedGib: 41 },
  cores: 16,
  memoryMib: 65_536,
  usedMemoryMib: 28_100,
  load: [1.31, 1.2, 1.12],
  bootedSecondsAgo: 88 * 86_400 + 19_000,
  units: ['pve-cluster', 'pvedaemon', 'pveproxy', 'pvestatd'].map((name): UnitSpec => ({
    name: `${name}.service`,
    description: `PVE ${name}`,
    processes: [name],
    memoryMib: 120,
    ...(name === 'pveproxy'
      ? { listens: [{ protocol: 'tcp' as const, address: '0.0.0.0', port: 8006 }] }
      : {}),
  })),
  packages: [
    {
      name: 'pve-manager',
      version: '8.2.2',
      candidate: '8.2.4',
      sizeKib: 3_100,
      restarts: ['pveproxy.service', 'pvedaemon.service'],
      description: 'Proxmox Virtual Environment Management Tools',
    },
    {
      name: 'pve-container',
      version: '5.1.10',
      candidate: '5.1.12',
      sizeKib: 140,
      description: 'Proxmox VE Container management tool',
    },
    { name: 'lxc-pve', version: '6.0.0-1', description: 'Linux containers userspace tools' },
  ],
  sites: [
    {
      port: 8006,
      unit: 'pveproxy.service',
      server: 'pve-api-daemon/3.0',
      status: 200,
      body: '<html><title>pve-1 - Proxmox Virtual Environment</title></html>\n',
    },
  ],
});

/** A container of the node, by its number. */
export interface ContainerSpec {
  readonly id: number;
  readonly machine: MachineSpec;
  readonly running: boolean;
  readonly onboot: boolean;
}

/** The containers at the start. */
export const containers: readonly ContainerSpec[] = [
  {
    id: 101,
    running: true,
    onboot: true,
    machine: container('dns', {
      units: [
        {
          name: 'unbound.service',
          description: 'Unbound DNS server',
          processes: ['/usr/sbin/unbound -d -p'],
          user: 'unbound',
          memoryMib: 31,
          listens: [
            { protocol: 'udp', address: '0.0.0.0', port: 53 },
            { protocol: 'tcp', address: '0.0.0.0', port: 53 },
          ],
          sinceSecondsAgo: 11_400,
          restarts: true,
        },
      ],
      bootedSecondsAgo: 11_405,
      packages: [
        {
          name: 'unbound',
          version: '1.17.1-2+deb12u1',
          candidate: '1.17.1-2+deb12u2',
          security: true,
          sizeKib: 950,
          restarts: ['unbound.service'],
          description: 'validating, recursive, caching DNS resolver',
        },
      ],
      journal: [
        {
          secondsAgo: 11_400,
          unit: 'unbound.service',
          ident: 'unbound',
          text: 'info: start of service (unbound 1.17.1).',
        },
      ],
    }),
  },
  {
    id: 102,
    running: true,
    onboot: true,
    machine: container('gitea', {
      root: { sizeGib: 24, usedGib: 19.6 },
      memoryMib: 2048,
      units: [
        {
          name: 'gitea.service',
          description: 'Gitea (Git with a cup of tea)',
          processes: ['/usr/local/bin/gitea web --config /etc/gitea/app.ini'],
          user: 'git',
          memoryMib: 310,
          listens: [{ protocol: 'tcp', address: '0.0.0.0', port: 3000 }],
          startMs: 1_500,
          restarts: true,
        },
      ],
      packages: [
        {
          name: 'git',
          version: '1:2.39.2-1.1',
          candidate: '1:2.39.5-0+deb12u1',
          security: true,
          sizeKib: 7_256,
          description: 'fast, scalable, distributed revision control system',
        },
        {
          name: 'openssh-client',
          version: '1:9.2p1-2+deb12u2',
          candidate: '1:9.2p1-2+deb12u3',
          security: true,
          sizeKib: 991,
          description: 'secure shell (SSH) client',
        },
      ],
      sites: [
        {
          port: 3000,
          unit: 'gitea.service',
          server: 'gitea',
          status: 200,
          body: '<html><title>Gitea: Git with a cup of tea</title></html>\n',
        },
      ],
      files: {
        '/etc/gitea/app.ini':
          '[server]\nHTTP_PORT = 3000\nROOT_URL = https://git.home.example/\n[database]\nDB_TYPE = postgres\nHOST = db-1:5432\n',
      },
    }),
  },
  {
    id: 103,
    running: true,
    onboot: true,
    machine: container('nfs-export', {
      mounts: [
        {
          source: 'nas-1:/srv/media',
          type: 'nfs4',
          path: '/export/media',
          sizeBytes: 3_600 * GIB,
          baseBytes: 1_930 * GIB,
        },
      ],
      units: [
        {
          name: 'nfs-server.service',
          description: 'NFS server and services',
          listens: [{ protocol: 'tcp', address: '0.0.0.0', port: 2049 }],
        },
      ],
      packages: [
        {
          name: 'nfs-kernel-server',
          version: '1:2.6.2-4',
          description: 'support for NFS kernel server',
        },
      ],
      files: { '/etc/exports': '/export/media 10.20.0.0/24(ro,all_squash)\n' },
    }),
  },
  {
    id: 104,
    running: true,
    onboot: true,
    machine: container('auth-outpost', {
      units: [
        {
          name: 'auth-outpost.service',
          description: 'Sign-in outpost',
          processes: ['/usr/local/bin/auth-outpost'],
          memoryMib: 88,
          listens: [{ protocol: 'tcp', address: '0.0.0.0', port: 9000 }],
          restarts: true,
        },
      ],
      packages: [
        {
          name: 'ca-certificates',
          version: '20230311',
          candidate: '20230311+deb12u1',
          sizeKib: 153,
          description: 'Common CA certificates',
        },
      ],
      sites: [
        {
          port: 9000,
          unit: 'auth-outpost.service',
          server: 'auth-outpost',
          status: 200,
          body: 'ok\n',
        },
      ],
    }),
  },
  {
    id: 105,
    running: false,
    onboot: false,
    machine: container('old-wiki', {
      os: 'Debian GNU/Linux 11 (bullseye)',
      units: [
        {
          name: 'apache2.service',
          description: 'The Apache HTTP Server',
          processes: ['/usr/sbin/apache2 -k start'],
          memoryMib: 60,
          listens: [{ protocol: 'tcp', address: '0.0.0.0', port: 80 }],
        },
      ],
      packages: [
        {
          name: 'apache2',
          version: '2.4.56-1~deb11u2',
          candidate: '2.4.59-1~deb11u1',
          security: true,
          sizeKib: 280,
          restarts: ['apache2.service'],
          description: 'Apache HTTP Server',
        },
      ],
    }),
  },
];

/** A container with what a fresh one has, plus what is given. */
export function container(
  name: string,
  parts: Omit<DebianParts, 'name' | 'address'> & { readonly address?: string } = {},
): MachineSpec {
  return debian({
    name,
    address: ADDRESSES[name] ?? '10.20.0.100',
    kind: 'container',
    kernel: pve1.kernel,
    root: { sizeGib: 8, usedGib: 2.1 },
    cores: 1,
    memoryMib: 1024,
    usedMemoryMib: 190,
    load: [0.05, 0.04, 0.05],
    bootedSecondsAgo: 20 * 86_400,
    ...parts,
  });
}
