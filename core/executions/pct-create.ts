import { z } from 'zod';

// Nothing in any of these means anything to a shell, so that they can stand in a command as they are (Z3).
const HOST_NAME =
  /^[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?(?:\.[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?)*$/i;
const STORAGE = /^[A-Za-z][A-Za-z0-9_.-]{0,99}$/;
const BRIDGE = /^[a-z][a-z0-9_.]{0,14}$/i;

/** A template as a host names it: `local:vztmpl/debian-12-standard_12.7-1_amd64.tar.zst`. */
export const TEMPLATE_ID =
  /^[A-Za-z][A-Za-z0-9_.-]{0,99}:vztmpl\/[A-Za-z0-9][A-Za-z0-9_.+-]{0,199}$/;

/** The name of a storage, as it can stand in a command. */
export const STORAGE_NAME: RegExp = STORAGE;

/**
 * What a new container is to be (X11). Left out: the newest Debian that the host has, the next free number, 1 core, 512 MiB,
 * 8 GiB on `local-lvm`, DHCP on `vmbr0`, unprivileged, started.
 */
export const newContainer = z
  .strictObject({
    hostname: z
      .string()
      .trim()
      .toLowerCase()
      .regex(HOST_NAME, 'a host name, like cache-1')
      .max(253),
    template: z
      .string()
      .trim()
      .min(1)
      .max(255)
      .optional()
      .describe(
        'A template that the host has, or how its name begins, like "debian-12". Left out, or not there: the newest Debian, else the newest.',
      ),
    vmid: z
      .int()
      .refine((id) => id === 0 || (id >= 100 && id <= 999_999_999), 'a number from 100 on')
      .optional()
      .describe(
        'Best left out: the next free one in the cluster. One that is taken is replaced by it.',
      ),
    cores: z.int().min(1).max(512).default(1),
    memory_mib: z.int().min(16).default(512),
    disk_gib: z.int().min(1).default(8),
    storage: z
      .string()
      .regex(STORAGE, 'the name of a storage, like local-lvm')
      .default('local-lvm'),
    bridge: z.string().regex(BRIDGE, 'the name of a bridge, like vmbr0').default('vmbr0'),
    address: z
      .union([z.cidrv4(), z.cidrv6(), z.literal('dhcp')])
      .optional()
      .describe(
        'DHCP unless a static address is needed. A static one has its prefix, like 192.0.2.10/24, and needs gateway: copy gateway and bridge of a working neighbour, do not guess them.',
      ),
    gateway: z.union([z.ipv4(), z.ipv6()]).optional().describe('Only with a static address.'),
    nameserver: z.union([z.ipv4(), z.ipv6()]).optional(),
    nesting: z.boolean().default(false).describe('For containers that run Docker or the like.'),
    unprivileged: z.boolean().default(true),
    start: z.boolean().default(true),
  })
  .refine((asked) => asked.gateway === undefined || staticAddress(asked) !== undefined, {
    path: ['gateway'],
    message: 'goes with a static address only',
  })
  .refine((asked) => asked.gateway !== undefined || staticAddress(asked) === undefined, {
    path: ['gateway'],
    message: 'a static address needs its gateway: copy that of a working neighbour, or use DHCP',
  })
  .refine(
    (asked) =>
      asked.gateway === undefined ||
      staticAddress(asked)?.includes(':') === asked.gateway.includes(':'),
    { path: ['gateway'], message: 'must be of the same kind as address (IPv4 or IPv6)' },
  );

/** One of the above, checked. */
export type NewContainer = z.output<typeof newContainer>;

/** The address that was asked for, with its prefix; undefined for DHCP. */
export function staticAddress({ address }: { address?: string | undefined }): string | undefined {
  return address === 'dhcp' ? undefined : address;
}

/**
 * The `pct create` of a container. `vmid` and `template` are what was found for it on the host, so that what an operator approves
 * is exactly what runs (A16).
 */
export function pctCreateCommand(
  container: NewContainer,
  found: { vmid: number; template: string },
): string {
  const { hostname, storage, disk_gib, bridge, gateway, nameserver } = container;
  if (!TEMPLATE_ID.test(found.template)) throw new RangeError(`not a template: ${found.template}`);
  const address = staticAddress(container);
  const [ip, gw] = address?.includes(':') === true ? ['ip6', 'gw6'] : ['ip', 'gw'];
  const net = [
    'name=eth0',
    `bridge=${bridge}`,
    `${ip}=${address ?? 'dhcp'}`,
    ...(gateway === undefined ? [] : [`${gw}=${gateway}`]),
  ];
  return [
    'pct create',
    found.vmid,
    found.template,
    `--hostname ${hostname}`,
    `--cores ${container.cores}`,
    `--memory ${container.memory_mib}`,
    `--rootfs ${storage}:${disk_gib}`,
    `--net0 ${net.join(',')}`,
    ...(nameserver === undefined ? [] : [`--nameserver ${nameserver}`]),
    ...(container.nesting ? ['--features nesting=1'] : []),
    `--unprivileged ${container.unprivileged ? 1 : 0}`,
    `--start ${container.start ? 1 : 0}`,
  ].join(' ');
}

/** The command that asks from the host, on the very bridge, whether the gateway answers there. */
export function gatewayCommand(bridge: string, gateway: string): string {
  return `ping -c 2 -W 2 -I ${bridge} ${gateway.includes(':') ? '-6 ' : ''}${gateway}`;
}
