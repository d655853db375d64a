import { aptCommands } from './commands/apt.ts';
import { diskCommands } from './commands/disk.ts';
import { journalctlCommands } from './commands/journalctl.ts';
import { networkCommands } from './commands/network.ts';
import type { Lookup } from './commands/network.ts';
import { nginxCommands, postgresCommands } from './commands/services.ts';
import { processCommands } from './commands/processes.ts';
import { systemCommands } from './commands/system.ts';
import { systemctlCommands } from './commands/systemctl.ts';
import { container, containers, pve1 } from './hosts/containers.ts';
import { ALIASES } from './hosts/debian.ts';
import { db1, nas1 } from './hosts/servers.ts';
import { web1 } from './hosts/web.ts';
import { Machine } from './machine/machine.ts';
import type { MachineSpec } from './machine/machine.ts';
import type { CommandTable } from './machine/command.ts';
import { Shell } from './machine/shell.ts';
import { ProxmoxNode } from './proxmox/node.ts';
import { proxmoxCommands } from './proxmox/tools.ts';

/** A machine that can be reached over SSH, and the containers that it can enter, if any. */
export interface FleetHost {
  readonly slug: string;
  readonly machine: Machine;
  readonly shell: Shell;
  readonly proxmox: ProxmoxNode | undefined;
}

/** The machines of the demo fleet, all in this process's memory. */
export interface Fleet {
  readonly hosts: readonly FleetHost[];
}

const DAY_MS = 86_400_000;
const TEMPLATES = [
  'local:vztmpl/debian-11-standard_11.7-1_amd64.tar.zst',
  'local:vztmpl/debian-12-standard_12.2-1_amd64.tar.zst',
  'local:vztmpl/debian-12-standard_12.7-1_amd64.tar.zst',
  'local:vztmpl/alpine-3.19-default_20240207_amd64.tar.xz',
];

/** Builds the fleet. `pace` 1 is lifelike; 0.01 makes all that takes time a hundred times as fast. */
export function buildFleet(pace: number): Fleet {
  const machines: Machine[] = [];
  const nodes: ProxmoxNode[] = [];
  const lookup: Lookup = (given) => {
    const name = ALIASES[given] ?? given.replace(/\.home\.example$/, '');
    const inNode = nodes.flatMap((node) =>
      [...node.containers.values()].map((entry) => entry.machine),
    );
    return [...machines, ...inNode].find(
      (machine) => machine.name === name || machine.spec.address === given,
    );
  };
  const common: CommandTable = {
    ...systemCommands,
    ...processCommands,
    ...systemctlCommands,
    ...journalctlCommands,
    ...diskCommands,
    ...aptCommands,
    ...networkCommands(lookup),
  };
  const make = (
    spec: MachineSpec,
    extra: CommandTable = {},
  ): { machine: Machine; shell: Shell } => {
    const machine = new Machine(spec, pace);
    const shell = new Shell(machine, { ...common, ...extra });
    furnish(machine);
    return { machine, shell };
  };
  const host = (spec: MachineSpec, extra: CommandTable): FleetHost => {
    const made = make(spec, extra);
    machines.push(made.machine);
    return { slug: `host:${spec.name}`, ...made, proxmox: undefined };
  };

  const proxmoxMachine = new Machine(pve1, pace);
  machines.push(proxmoxMachine);
  const node = new ProxmoxNode(proxmoxMachine, {
    vms: [{ id: 200, name: 'home-assistant', memoryMib: 4096, diskGib: 32, status: 'running' }],
    templates: TEMPLATES,
    storages: [
      {
        name: 'local',
        type: 'dir',
        content: 'vztmpl,iso,backup',
        totalKib: 98_497_780,
        usedKib: 42_990_592,
      },
      {
        name: 'local-lvm',
        type: 'lvmthin',
        content: 'rootdir,images',
        totalKib: 832_860_160,
        usedKib: 301_495_296,
      },
    ],
    make: (_id, hostname, address) => make(container(hostname, { address, bootedSecondsAgo: 1 })),
  });
  nodes.push(node);
  const proxmoxShell = new Shell(proxmoxMachine, { ...common, ...proxmoxCommands(node) });
  furnish(proxmoxMachine);
  for (const spec of containers) addContainer(node, spec, make(spec.machine));

  return {
    hosts: [
      { slug: 'host:pve-1', machine: proxmoxMachine, shell: proxmoxShell, proxmox: node },
      host(web1, nginxCommands),
      host(db1, postgresCommands),
      host(nas1, {}),
    ],
  };
}

function addContainer(
  node: ProxmoxNode,
  { id, machine: spec, running, onboot }: (typeof containers)[number],
  made: { machine: Machine; shell: Shell },
): void {
  const [root] = spec.mounts;
  node.add({
    id,
    ...made,
    snapshots: [],
    config: new Map([
      ['arch', 'amd64'],
      ['cores', String(spec.cores)],
      ['hostname', spec.name],
      ['memory', String(spec.memoryMib)],
      ['net0', `name=eth0,bridge=vmbr0,gw=10.20.0.1,ip=${spec.address}/24,type=veth`],
      ['onboot', onboot ? '1' : '0'],
      ['ostype', 'debian'],
      [
        'rootfs',
        `local-lvm:vm-${id}-disk-0,size=${Math.round((root?.sizeBytes ?? 0) / 1024 ** 3)}G`,
      ],
      ['swap', '512'],
      ['unprivileged', '1'],
    ]),
  });
  if (!running) made.machine.halt();
}

/** Puts the files of its specification on a machine; after its shell, whose own files stand there already. */
function furnish(machine: Machine): void {
  const { fs, spec } = machine;
  for (const path of [
    '/root',
    '/tmp',
    '/var/tmp',
    '/opt',
    '/srv',
    '/mnt',
    ...spec.mounts.map((mount) => mount.path),
  ]) {
    fs.mkdirSync(path, { recursive: true });
  }
  for (const [path, content] of Object.entries(spec.files ?? {})) fs.writeFileSync(path, content);
  for (const [path, { bytes, daysAgo }] of Object.entries(spec.large ?? {})) {
    fs.addLarge(path, bytes, new Date(Date.now() - daysAgo * DAY_MS));
  }
  const seconds = () => (Date.now() - machine.bootedAtMs) / 1000;
  fs.addComputed(
    '/proc/uptime',
    () => `${seconds().toFixed(2)} ${(seconds() * spec.cores).toFixed(2)}\n`,
  );
  fs.addComputed('/proc/loadavg', () => `${spec.load.join(' ')} 1/214 4211\n`);
  fs.addComputed('/proc/version', () => `Linux version ${spec.kernel} (demo fleet)\n`);
  fs.addComputed('/proc/sys/kernel/random/boot_id', () => `${machine.bootId}\n`);
  fs.addComputed('/proc/meminfo', () => {
    const { memoryMib, usedMemoryMib } = spec;
    const line = (name: string, mib: number) =>
      `${`${name}:`.padEnd(16)}${String(mib * 1024).padStart(8)} kB\n`;
    return (
      line('MemTotal', memoryMib) +
      line('MemFree', Math.floor((memoryMib - usedMemoryMib) * 0.3)) +
      line('MemAvailable', memoryMib - usedMemoryMib)
    );
  });
  fs.addComputed('/proc/mounts', () =>
    spec.mounts.map((mount) => `${mount.source} ${mount.path} ${mount.type} rw 0 0\n`).join(''),
  );
}
