import { columns, options } from '../commands/text.ts';
import { fail } from '../machine/command.ts';
import type { CommandIo, CommandTable, Said } from '../machine/command.ts';
import type { ProxmoxNode, VirtualMachine } from './node.ts';
import { pctCommand } from './pct.ts';

/** All that a Proxmox node has on top of Debian. */
export function proxmoxCommands(node: ProxmoxNode): CommandTable {
  return {
    pct: pctCommand(node),
    qm: (args, io) => qm(node, args, io),
    pvesh: (args) => pvesh(node, args),
    pvesm: (args) => pvesm(node, args),
    pveam: ([verb, storage]) => {
      if (verb === 'list') return columns([['NAME', 'SIZE'], ...templates(node, storage)]);
      if (verb === 'available')
        return node.templates.map((name) => `system          ${name.split('/').pop()}\n`).join('');
      return verb === 'update'
        ? 'update successful\n'
        : fail(255, `ERROR: unknown command 'pveam ${verb ?? ''}'`);
    },
    pveversion: () =>
      `pve-manager/8.2.4/faa83925c9641325 (running kernel: ${node.machine.spec.kernel})\n`,
    pvecm: () =>
      `Cluster information\n-------------------\nName:             homelab\nNodes:            1\nQuorate:          Yes\n`,
    vzdump: async ([id = ''], io) => {
      const container = node.containers.get(Number(id));
      if (!container) return fail(255, `ERROR: VM ${id} does not exist`);
      io.show(
        `INFO: starting new backup job: vzdump ${id}\nINFO: Starting Backup of VM ${id} (lxc)\n`,
      );
      await io.pause(4_000);
      return `INFO: Finished Backup of VM ${id} (00:00:04)\nINFO: Backup job finished successfully\n`;
    },
  };
}

async function qm(
  node: ProxmoxNode,
  [verb = '', id = '']: readonly string[],
  io: CommandIo,
): Promise<Said> {
  if (verb === 'list') {
    return columns(
      [
        ['VMID', 'NAME', 'STATUS', 'MEM(MB)', 'BOOTDISK(GB)', 'PID'],
        ...node.vms.map((vm) => [
          String(vm.id),
          vm.name,
          vm.status,
          String(vm.memoryMib),
          vm.diskGib.toFixed(2),
          vm.status === 'running' ? '1893' : '0',
        ]),
      ],
      [0, 3, 4, 5],
    );
  }
  const vm = node.vms.find((candidate) => String(candidate.id) === id);
  if (!vm)
    return fail(
      2,
      `Configuration file 'nodes/${node.machine.name}/qemu-server/${id}.conf' does not exist`,
    );
  switch (verb) {
    case 'status':
      return `status: ${vm.status}\n`;
    case 'config':
      return `cores: 2\nmemory: ${vm.memoryMib}\nname: ${vm.name}\nscsi0: local-lvm:vm-${id}-disk-0,size=${vm.diskGib}G\n`;
    case 'start':
      if (vm.status === 'running') return fail(255, `VM ${id} already running`);
      return switchTo(vm, 'running', io);
    case 'stop':
    case 'shutdown':
      return switchTo(vm, 'stopped', io);
    default:
      return fail(
        255,
        `qm ${verb}: not part of the demo fleet; list, status, config, start, stop and shutdown are`,
      );
  }
}

async function switchTo(
  vm: VirtualMachine,
  status: VirtualMachine['status'],
  io: CommandIo,
): Promise<Said> {
  await io.pause(1_500);
  vm.status = status;
  return '';
}

function pvesh(node: ProxmoxNode, [verb = '', path = '', ...args]: readonly string[]): Said {
  if (verb !== 'get' && verb !== 'ls')
    return fail(255, `pvesh ${verb}: only get is part of the demo fleet`);
  const { value } = options(args, ['--type', '--output-format', '--node', '--content', '--vmid']);
  const data = resource(node, path.replace(/\/+$/, '') || '/', value('--type'));
  if (data === undefined) return fail(255, `No '${verb}' handler defined for '${path}'`);
  if (value('--output-format')?.startsWith('json') === true) return `${JSON.stringify(data)}\n`;
  if (typeof data === 'string') return `${data}\n`;
  return table(Array.isArray(data) ? data : [data]);
}

type Row = Readonly<Record<string, string | number>>;

function resource(
  node: ProxmoxNode,
  path: string,
  type: string | undefined,
): Row[] | Row | string | undefined {
  const { machine, vms, storages } = node;
  const containers = [...node.containers.values()];
  const lxcs = containers.map(({ id, machine: inner, config }): Row => ({
    id: `lxc/${id}`,
    vmid: id,
    name: inner.name,
    node: machine.name,
    status: inner.up ? 'running' : 'stopped',
    type: 'lxc',
    maxmem: Number(config.get('memory') ?? 512) * 1024 * 1024,
    uptime: inner.up ? Math.floor((Date.now() - inner.bootedAtMs) / 1000) : 0,
  }));
  const qemus = vms.map((vm): Row => ({
    id: `qemu/${vm.id}`,
    vmid: vm.id,
    name: vm.name,
    node: machine.name,
    status: vm.status,
    type: 'qemu',
    maxmem: vm.memoryMib * 1024 * 1024,
    uptime: 0,
  }));
  const nodes: Row[] = [
    {
      id: `node/${machine.name}`,
      node: machine.name,
      status: 'online',
      type: 'node',
      maxcpu: machine.spec.cores,
      maxmem: machine.spec.memoryMib * 1024 * 1024,
    },
  ];
  const stores = storages.map((store): Row => ({
    id: `storage/${machine.name}/${store.name}`,
    storage: store.name,
    type: 'storage',
    status: 'available',
    maxdisk: store.totalKib * 1024,
    disk: store.usedKib * 1024,
  }));
  if (path === '/cluster/resources') {
    if (type === 'vm') return [...lxcs, ...qemus];
    if (type === 'node') return nodes;
    return type === 'storage' ? stores : [...nodes, ...lxcs, ...qemus, ...stores];
  }
  if (path === '/cluster/nextid') return String(node.nextId());
  if (path === '/version') return { release: '8.2', version: '8.2.4' };
  if (path === '/nodes') return nodes;
  if (path === '/storage') return stores;
  const inner = new RegExp(`^/nodes/(?:${machine.name}|localhost)/(.+)$`).exec(path)?.[1];
  if (inner === 'lxc') return lxcs;
  if (inner === 'qemu') return qemus;
  if (inner === 'storage') return stores;
  if (inner === 'network') {
    return [
      { iface: 'vmbr0', type: 'bridge', cidr: `${machine.spec.address}/24`, gateway: '10.20.0.1' },
    ];
  }
  if (inner === 'status')
    return {
      uptime: Math.floor((Date.now() - machine.bootedAtMs) / 1000),
      kversion: machine.spec.kernel,
    };
  const [, id, what] = /^lxc\/(\d+)\/(config|status\/current)$/.exec(inner ?? '') ?? [];
  const container = id === undefined ? undefined : node.containers.get(Number(id));
  if (container && what === 'config') return Object.fromEntries(container.config);
  return container && lxcs.find((row) => row['vmid'] === container.id);
}

function table(rows: readonly Row[]): string {
  const keys = [...new Set(rows.flatMap((row) => Object.keys(row)))];
  return columns(
    [keys, ...rows.map((row) => keys.map((key) => String(row[key] ?? '')))],
    [],
    ' | ',
  );
}

function pvesm(node: ProxmoxNode, [verb = '', storage]: readonly string[]): Said {
  if (verb === 'status') {
    return columns(
      [
        ['Name', 'Type', 'Status', 'Total', 'Used', 'Available', '%'],
        ...node.storages.map((store) => [
          store.name,
          store.type,
          'active',
          String(store.totalKib),
          String(store.usedKib),
          String(store.totalKib - store.usedKib),
          `${((store.usedKib / store.totalKib) * 100).toFixed(2)}%`,
        ]),
      ],
      [3, 4, 5, 6],
    );
  }
  if (verb === 'list') return columns([['Volid', 'Size'], ...templates(node, storage)]);
  return fail(255, `pvesm ${verb}: only status and list are part of the demo fleet`);
}

function templates(node: ProxmoxNode, storage: string | undefined): string[][] {
  return node.templates
    .filter((name) => storage === undefined || name.startsWith(`${storage}:`))
    .map((name) => [name, '120.65MB']);
}
