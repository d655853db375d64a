import { fail } from '../machine/command.ts';
import type { CommandIo, Handler, Said } from '../machine/command.ts';
import { columns, options } from '../commands/text.ts';
import type { Container, ProxmoxNode } from './node.ts';

/** How long the things that take a while take, in milliseconds. */
const MS = {
  start: 1_500,
  stop: 800,
  shutdown: 2_500,
  create: 4_000,
  destroy: 1_500,
  snapshot: 1_000,
} as const;

/** Proxmox's container tool. */
export function pctCommand(node: ProxmoxNode): Handler {
  return async ([verb = '', id = '', ...rest], io) => {
    if (verb === 'list') return list(node);
    if (verb === 'create' || verb === 'restore') return create(node, id, rest, io);
    if (!VERBS.has(verb)) return fail(255, `ERROR: unknown command 'pct ${verb}'`);
    if (!/^\d+$/.test(id)) return fail(255, '400 not enough arguments');
    const container = node.containers.get(Number(id));
    if (!container) return fail(2, missing(node, id));
    const { machine, config, snapshots } = container;
    switch (verb) {
      case 'status':
        return rest.includes('--verbose') || rest.includes('-verbose')
          ? verbose(container)
          : `status: ${status(container)}\n`;
      case 'config':
        return [...config].map(([key, value]) => `${key}: ${value}\n`).join('');
      case 'exec':
        return exec(container, rest, io);
      case 'start':
        if (machine.up) return fail(255, `CT ${id} already running`);
        await io.pause(MS.start);
        machine.boot();
        return '';
      case 'stop':
      case 'shutdown':
        if (!machine.up) return verb === 'stop' ? '' : fail(255, `CT ${id} not running`);
        await io.pause(MS[verb]);
        machine.halt();
        return '';
      case 'reboot':
        if (!machine.up) return fail(255, `CT ${id} not running`);
        await io.pause(MS.shutdown);
        machine.halt();
        await io.pause(MS.start);
        machine.boot();
        return '';
      case 'destroy':
        return destroy(node, container, rest, io);
      case 'snapshot': {
        const [name = ''] = rest;
        if (!/^[A-Za-z][\w-]+$/.test(name))
          return fail(255, `snapname: invalid format - invalid configuration ID '${name}'`);
        if (snapshots.some((snapshot) => snapshot.name === name))
          return fail(255, `snapshot name '${name}' already used`);
        await io.pause(MS.snapshot);
        snapshots.push({ name, atMs: Date.now() });
        return `  Logical volume "snap_vm-${id}-disk-0_${name}" created.\n`;
      }
      case 'listsnapshot':
        return `${snapshots.map(({ name, atMs }) => `\`-> ${name.padEnd(20)} ${new Date(atMs).toISOString().slice(0, 19).replace('T', ' ')}\n`).join('')} \`-> current             You are here!\n`;
      case 'delsnapshot':
      case 'rollback': {
        const at = snapshots.findIndex((snapshot) => snapshot.name === rest[0]);
        if (at < 0) return fail(255, `snapshot '${rest[0] ?? ''}' does not exist`);
        await io.pause(MS.snapshot);
        if (verb === 'delsnapshot') snapshots.splice(at, 1);
        return '';
      }
      case 'set':
        for (let index = 0; index + 1 < rest.length; index += 2) {
          config.set((rest[index] ?? '').replace(/^--?/, ''), rest[index + 1] ?? '');
        }
        return '';
      case 'unlock':
        config.delete('lock');
        return '';
      case 'df':
        return columns([
          ['MP', 'Volume', 'Size', 'Used', 'Avail', 'Use%', 'Path'],
          ...machine.spec.mounts.map((mount) => {
            const used = machine.usedBytes(mount);
            const gib = (bytes: number) => `${(bytes / 1024 ** 3).toFixed(1)}G`;
            return [
              'rootfs',
              `local-lvm:vm-${id}-disk-0`,
              gib(mount.sizeBytes),
              gib(used),
              gib(mount.sizeBytes - used),
              (used / mount.sizeBytes).toFixed(2),
              mount.path,
            ];
          }),
        ]);
      default:
        return fail(255, `pct ${verb}: needs a terminal; use pct exec`);
    }
  };
}

/** What `pct` says about a number that no container has. */
export function missing(node: ProxmoxNode, id: number | string): string {
  return `Configuration file 'nodes/${node.machine.name}/lxc/${id}.conf' does not exist`;
}

const VERBS = new Set([
  'status',
  'config',
  'exec',
  'start',
  'stop',
  'shutdown',
  'reboot',
  'destroy',
  'snapshot',
  'listsnapshot',
  'delsnapshot',
  'rollback',
  'set',
  'unlock',
  'df',
  'enter',
  'console',
]);

function status({ machine }: Container): string {
  return machine.up ? 'running' : 'stopped';
}

function verbose(container: Container): string {
  const { machine, config, id } = container;
  const uptime = machine.up ? Math.floor((Date.now() - machine.bootedAtMs) / 1000) : 0;
  const lines = {
    maxmem: Number(config.get('memory') ?? 512) * 1024 * 1024,
    name: machine.name,
    status: status(container),
    type: 'lxc',
    uptime,
    vmid: id,
  };
  return Object.entries(lines)
    .map(([key, value]) => `${key}: ${value}\n`)
    .join('');
}

function list(node: ProxmoxNode): string {
  const rows = [...node.containers.values()]
    .toSorted((a, b) => a.id - b.id)
    .map((container) => [
      String(container.id),
      status(container),
      container.config.get('lock') ?? '',
      container.machine.name,
    ]);
  return columns([['VMID', 'Status', 'Lock', 'Name'], ...rows], [], '       ');
}

async function exec(container: Container, words: readonly string[], io: CommandIo): Promise<Said> {
  const command = words[0] === '--' ? words.slice(1) : [...words];
  if (command.length === 0) return fail(255, '400 not enough arguments');
  if (!container.machine.up) return fail(255, `container '${container.id}' not running!`);
  const [shell = '', flag = '', script = ''] = command;
  const plain =
    /^(?:\/bin\/)?(?:ba)?sh$/.test(shell) && /^-[lx]?c$/.test(flag) && command.length === 3;
  const kept = { stdout: [] as Buffer[], stderr: [] as Buffer[] };
  const end = await container.shell.run({
    command: plain ? script : command.map(quoted).join(' '),
    signal: io.signal,
    output: (stream, bytes) => {
      if (stream === 'stdout' && io.liveToken !== undefined) io.show(bytes.toString());
      else kept[stream].push(bytes);
    },
  });
  const stdout = Buffer.concat(kept.stdout).toString();
  const stderr = Buffer.concat(kept.stderr).toString();
  return { stdout, stderr, exitCode: end.kind === 'exited' ? end.exitCode : 255 };
}

/** Plain words stay as they are, so that the inner shell sees which command it is about to run. */
function quoted(word: string): string {
  return /^[\w@%+:,./-]+$/.test(word) ? word : `'${word.replaceAll("'", `'\\''`)}'`;
}

async function create(
  node: ProxmoxNode,
  id: string,
  args: readonly string[],
  io: CommandIo,
): Promise<Said> {
  const parsed = options(
    args.map((word) => (/^-[a-z]{2,}/.test(word) ? `-${word}` : word)),
    [
      '--hostname',
      '--cores',
      '--memory',
      '--swap',
      '--rootfs',
      '--net0',
      '--start',
      '--unprivileged',
      '--features',
      '--onboot',
      '--password',
      '--ssh-public-keys',
      '--storage',
      '--nameserver',
      '--searchdomain',
      '--description',
      '--tags',
      '--ostype',
      '--arch',
    ],
  );
  const [template = ''] = parsed.rest;
  if (!/^[1-9]\d{2,8}$/.test(id))
    return fail(
      255,
      `400 Parameter verification failed.\nvmid: invalid format - value '${id}' does not look like a valid VM ID`,
    );
  if (node.isTaken(Number(id)))
    return fail(255, `CT ${id} already exists on node '${node.machine.name}'`);
  if (!node.templates.includes(template)) return fail(255, `volume '${template}' does not exist`);
  const [storage = 'local-lvm', size = '4'] = (parsed.value('--rootfs') ?? '').split(':');
  if (storage !== '' && !node.storages.some(({ name }) => name === storage))
    return fail(255, `storage '${storage}' does not exist`);
  const hostname = parsed.value('--hostname') ?? `CT${id}`;
  if (!/^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$/i.test(hostname))
    return fail(
      255,
      `400 Parameter verification failed.\nhostname: invalid format - value does not look like a valid DNS name`,
    );
  const net = parsed.value('--net0') ?? 'name=eth0,bridge=vmbr0,ip=dhcp';
  const bridge = /bridge=([\w.]+)/.exec(net)?.[1] ?? 'vmbr0';
  if (bridge !== 'vmbr0') return fail(255, `bridge '${bridge}' does not exist`);
  const address = /ip=(\d+\.\d+\.\d+\.\d+)/.exec(net)?.[1] ?? node.lease();
  io.show(`  Logical volume "vm-${id}-disk-0" created.\n`);
  await io.pause(MS.create / 2);
  io.show(`extracting archive '/var/lib/vz/template/cache/${template.split('/').pop()}'\n`);
  await io.pause(MS.create / 2);
  if (io.signal.aborted) return { exitCode: 255 };
  const config = new Map([
    ['arch', 'amd64'],
    ['cores', parsed.value('--cores') ?? '1'],
    ['hostname', hostname],
    ['memory', parsed.value('--memory') ?? '512'],
    ['net0', net],
    ['onboot', parsed.value('--onboot') ?? '0'],
    ['ostype', 'debian'],
    ['rootfs', `${storage || 'local-lvm'}:vm-${id}-disk-0,size=${size}G`],
    ['swap', parsed.value('--swap') ?? '512'],
    ['unprivileged', parsed.value('--unprivileged') ?? '0'],
  ]);
  const made = node.make(Number(id), hostname, address);
  node.add({ id: Number(id), ...made, config, snapshots: [] });
  if (parsed.value('--start') !== '1') made.machine.halt();
  return `Creating SSH host key 'ssh_host_ed25519_key' - this may take some time ...\ndone: SHA256 root@${hostname}\n`;
}

async function destroy(
  node: ProxmoxNode,
  container: Container,
  args: readonly string[],
  io: CommandIo,
): Promise<Said> {
  const forced = args.some((word) => word === '--force' || word === '-force');
  if (container.machine.up && !forced)
    return fail(255, `unable to destroy CT ${container.id} - container is running`);
  if (container.config.get('protection') === '1')
    return fail(255, `can't remove CT ${container.id} - protection mode enabled`);
  await io.pause(MS.destroy);
  container.machine.halt();
  node.containers.delete(container.id);
  return `  Logical volume "vm-${container.id}-disk-0" successfully removed\npurging CT ${container.id} from related configurations..\n`;
}
