import { z } from 'zod';

// Nothing in any of these means anything to a shell, so that they can stand in a command as they are (Z3).
const HOST_NAME =
  /^[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?(?:\.[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?)*$/i;
const STORAGE = /^[A-Za-z][A-Za-z0-9_.-]{0,99}$/;
const TEMPLATE = /^[A-Za-z][A-Za-z0-9_.-]{0,99}:vztmpl\/[A-Za-z0-9][A-Za-z0-9_.+-]{0,199}$/;
const BRIDGE = /^[a-z][a-z0-9_.]{0,14}$/i;

/** What a new container is to be. Left out: the next free id, 1 core, 512 MiB, 8 GiB on `local-lvm`, DHCP on `vmbr0`, unprivileged, started. */
export const newContainer = z
  .strictObject({
    hostname: z.string().regex(HOST_NAME, 'a host name, like cache-1'),
    template: z
      .string()
      .regex(
        TEMPLATE,
        'a template as `pveam list` names it, like local:vztmpl/debian-12-standard_12.7-1_amd64.tar.zst',
      ),
    vmid: z.int().min(100).max(999_999_999).optional(),
    cores: z.int().min(1).max(512).default(1),
    memory_mib: z.int().min(16).default(512),
    disk_gib: z.int().min(1).default(8),
    storage: z
      .string()
      .regex(STORAGE, 'the name of a storage, like local-lvm')
      .default('local-lvm'),
    bridge: z.string().regex(BRIDGE, 'the name of a bridge, like vmbr0').default('vmbr0'),
    address: z
      .union([z.cidrv4(), z.cidrv6()])
      .optional()
      .describe('A static address with its prefix, like 192.0.2.10/24; DHCP without one.'),
    gateway: z.union([z.ipv4(), z.ipv6()]).optional().describe('Only with address.'),
    unprivileged: z.boolean().default(true),
    start: z.boolean().default(true),
  })
  .refine(({ address, gateway }) => gateway === undefined || address !== undefined, {
    path: ['gateway'],
    message: 'goes with address only',
  })
  .refine(
    ({ address, gateway }) =>
      address === undefined ||
      gateway === undefined ||
      address.includes(':') === gateway.includes(':'),
    { path: ['gateway'], message: 'must be of the same kind as address (IPv4 or IPv6)' },
  );

/** One of the above, checked. */
export type NewContainer = z.output<typeof newContainer>;

/**
 * The `pct create` of a container (X10). Without a vmid the cluster is asked for the next free one when it runs, on the host itself.
 */
export function pctCreateCommand(container: NewContainer): string {
  const { vmid, hostname, template, storage, disk_gib, bridge, address, gateway } = container;
  const [ip, gw] = address?.includes(':') === true ? ['ip6', 'gw6'] : ['ip', 'gw'];
  const net = [
    'name=eth0',
    `bridge=${bridge}`,
    `${ip}=${address ?? 'dhcp'}`,
    ...(gateway === undefined ? [] : [`${gw}=${gateway}`]),
  ];
  return [
    'pct create',
    vmid ?? '"$(pvesh get /cluster/nextid)"',
    template,
    `--hostname ${hostname}`,
    `--cores ${container.cores}`,
    `--memory ${container.memory_mib}`,
    `--rootfs ${storage}:${disk_gib}`,
    `--net0 ${net.join(',')}`,
    `--unprivileged ${container.unprivileged ? 1 : 0}`,
    `--start ${container.start ? 1 : 0}`,
  ].join(' ');
}
