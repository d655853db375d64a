/** Proxmox VE: guests, storage, cluster, backups. Its programs take unambiguous beginnings of verbs (`qm des`). */
import { changes, destroys, shown } from '../model.ts';
import type { Check, Rule } from '../model.ts';
import { secrecyOf } from '../secrets.ts';
import { best, sure } from './lenient.ts';
import { readOptions } from './options.ts';
import { each, ids, reads, verbs } from './rules.ts';
import type { Table } from './rules.ts';

const OUT = reads(
  '=full =verbose =verbose: =current =current: =snapshot: =output-format: =human-readable: =noborder =noheader =quiet =enabled =enabled: =pretty --pretty? --current? --full? --verbose? --current? --snapshot: --output-format: --human-readable: --noborder --noheader --quiet --enabled? --content: --storage: --vmid: --target: --node: --type: --start: --limit: --errors --source: --since: --until: --vmid:',
);

const PCT =
  'activate-template clone config console cpusets create delsnapshot destroy df enter exec fsck fstrim help list listsnapshot migrate mount move-volume move_volume pending pull push reboot remote-migrate rescan resize restore resume rollback set shutdown snapshot start status stop suspend template unlock unmount';
const QM =
  'agent clone cloudinit config create delsnapshot destroy disk enroll-efi-keys guest help import importdisk importovf list listsnapshot migrate monitor move-disk move_disk mtunnel nbdstop pending reboot remote-migrate rescan reset resize resume rollback sendkey set showcmd shutdown snapshot start status stop suspend template terminal unlink unlock vncproxy wait';

/** The verb that a beginning means; several meanings give the most dangerous one. */
const beginning =
  (all: string) =>
  (verb: string): string => {
    const names = all.split(' ');
    if (verb === '' || names.includes(verb)) return verb;
    const matches = names.filter((name) => name.startsWith(verb));
    return (
      matches.find((name) => /destroy|rollback/.test(name)) ??
      (matches.length === 1 ? (matches[0] as string) : verb)
    );
  };

/** `pct exec 101 -- command …` */
const exec: Check = (call, shell) => {
  const read = readOptions(
    call.args,
    '=keep-env: --keep-env? --timeout: =timeout: --synchronous: --pass-stdin:',
    { stopAtOperand: true },
  );
  const rest = read.operands.slice(1);
  const command = rest[0]?.value === '--' ? rest.slice(1) : rest;
  if (command.length === 0) return [changes(`${call.name} without a command`)];
  return [
    ...read.problems.map((problem) => changes(`${call.name}: ${problem}`)),
    ...shell.inside().argv(command, call.input),
  ];
};

const wiping = (what: string): Rule => ({
  check: (call) => [destroys(`${call.name} ${what}: ${call.args.map(shown).join(' ')}`)],
});

const qmGuest = verbs({ read: { exec: { check: exec }, 'exec-status': OUT, cmd: agent() } });
/** Guest agent commands that ask. */
function agent(): Rule {
  const asking =
    /^(ping|info|get-(fsinfo|host-name|memory-block-info|memory-blocks|osinfo|time|timezone|users|vcpus)|network-get-interfaces|fsfreeze-status)$/;
  return {
    check: (call) =>
      asking.test(call.args[1]?.value ?? '')
        ? []
        : [changes(`${call.name} ${shown(call.args[1] ?? '')} acts in the guest`)],
  };
}

const pct = verbs({
  resolve: beginning(PCT),
  read: {
    'list status': { ...OUT, output: ids },
    'config pending listsnapshot df cpusets help': OUT,
    exec: { check: exec },
    destroy: wiping('deletes the container'),
    rollback: wiping('throws away what came after the snapshot'),
    'pull push': {
      check: (call) => [
        changes(`${call.name} copies a file`),
        ...call.args
          .filter((arg) => secrecyOf(best(arg)) === 'key')
          .map((arg) => destroys(`${call.name} copies a private key: ${shown(arg)}`)),
      ],
    },
  },
  danger: [[/^(-\S+ )*(res\w*|create) .*-+force/, 'overwrites a container']],
});

const qm = verbs({
  resolve: beginning(QM),
  read: {
    'list status': { ...OUT, output: ids },
    'config pending listsnapshot showcmd help wait': OUT,
    guest: qmGuest,
    agent: agent(),
    cloudinit: verbs({ read: { pending: OUT } }),
    destroy: wiping('deletes the virtual machine'),
    rollback: wiping('throws away what came after the snapshot'),
  },
  danger: [
    [/(^| )unl\w* .*-+force/, 'deletes a disk'],
    [/(^| )disk unl\w* .*-+force/, 'deletes a disk'],
  ],
});

const pvesh = verbs({
  read: {
    'get ls usage help': reads(
      '=output-format: --output-format: --human-readable? --noborder? --noheader? --verbose? --quiet? --returns? --command: --type: --full? --limit: --start: --since: --until: --errors? --source: --node: --timeframe: --cf: --vmid: --content: --storage: --statusfilter: --typefilter:',
      { also: secretsOfApi },
    ),
  },
  danger: [
    [
      /^(-\S+ )*del\w* .*(\/(qemu|lxc)\/\d+\/?( |$)|content|\/storage\/|disks|\/zfs|\/lvm|\/ceph|\/pools\/|snapshot)/,
      'deletes guests or volumes',
    ],
    [
      /^(-\S+ )*(create|set) .*\/nodes\/\S+\/status .*(reboot|shutdown)/,
      'stops or restarts the node',
    ],
    [
      /^(-\S+ )*create .*\/(wipedisk|initgpt|disks\/(zfs|lvm|lvmthin|directory))( |$)/,
      'overwrites a disk',
    ],
    [/^(-\S+ )*create .*\/rollback/, 'rolls back'],
  ],
});

function secretsOfApi(read: ReturnType<typeof readOptions>): ReturnType<Check> {
  return read.operands
    .filter((arg) =>
      /\/access\/(tfa|ticket)|\/certificates\/.*key|vncproxy|\/agent\/file-read|cloudinit\/dump/.test(
        arg.value,
      ),
    )
    .map((arg) => changes(`pvesh reads ${shown(arg)}, which may hold secrets`));
}

const pvesm = verbs({
  read: { 'status list path scan help': OUT },
  resolve: beginning(
    'add alloc apiinfo cifsscan export extractconfig free glusterfsscan help import iscsiscan list lvmscan lvmthinscan nfsscan path prune-backups remove scan set status zfsscan',
  ),
  danger: [
    [/^(-\S+ )*f\w* /, 'deletes a volume'],
    [/^(-\S+ )*prune-backups (?!.*--?dry-run)/, 'deletes backups'],
  ],
});

const many = (read: string, danger: readonly (readonly [RegExp, string])[] = []): Rule =>
  verbs({ read: { [read]: OUT }, danger });

/** Reading without a lock and without a cache leaves no trace. */
const RESTIC_ASKS =
  /^(version|(?=.*(^| )--no-lock( |$))(?=.*(^| )--no-cache( |$))((--no-lock|--no-cache|--json|-r [\w.:/@-]+|--repo[= ][\w.:/@-]+|--password-file[= ][\w./-]+|--host[= ][\w.-]+|--tag[= ][\w.-]+|latest|[0-9a-f]{8}) )*(snapshots|stats|ls)( (--no-lock|--no-cache|--json|--compact|--latest[= ]\d+|--mode[= ][\w-]+|latest|[0-9a-f]{8}))*)$/;

export const proxmox: Table = {
  pct,
  qm,
  pvesh,
  pvesm,
  pveum: verbs({
    read: {
      user: many('list permissions'),
      group: many('list'),
      role: many('list'),
      acl: many('list'),
      pool: many('list'),
      realm: many('list'),
    },
  }),
  pvecm: many('status nodes apiver help', [[/(^| )delnode( |$)/, 'removes a node']]),
  pveversion: reads('-v --verbose'),
  pveperf: { check: () => [changes('pveperf writes while it measures')] },
  pvenode: verbs({
    read: { config: many('get'), task: many('list log status'), cert: many('info') },
  }),
  pvesr: many('list status read help'),
  'pve-firewall': many('status compile localnet help', [
    [/(^| )stop( |$)/, 'takes the firewall down'],
  ]),
  'ha-manager': many('status config groupconfig help'),
  pveceph: verbs({
    read: { status: OUT, pool: many('ls get'), osd: many('details') },
    danger: [[/(^| )(destroy|purge)( |$)/, 'destroys stored data']],
  }),
  pvereport: { check: () => [] },
  pveam: many('available list help'),
  pvesubscription: many('get'),
  pvedaemon: many('status'),
  pveproxy: many('status'),
  pvestatd: many('status'),
  qmrestore: {
    check: (call) => [
      call.args.some((arg) => /^--?force/.test(best(arg)))
        ? destroys('qmrestore overwrites a guest')
        : changes('qmrestore makes a guest'),
    ],
  },
  'proxmox-backup-client': verbs({
    read: {
      'list snapshots status version': OUT,
      snapshot: verbs({
        read: { 'list files': OUT },
        danger: [[/(^| )forget( |$)/, 'deletes a backup']],
      }),
    },
    danger: [[/(^| )(prune|forget)( |$)(?!.*--dry-run)/, 'deletes backups']],
  }),
  'proxmox-backup-manager': verbs({
    read: {
      versions: OUT,
      datastore: many('list show'),
      task: many('list log'),
      disk: many('list'),
      remote: many('list'),
      'garbage-collection': many('status list'),
    },
    danger: [[/datastore (remove|destroy)/, 'removes a datastore']],
  }),
  // What lists an archive takes its lock and keeps a cache: other jobs notice both.
  ...each('borg borgmatic', {
    check: (call) =>
      /^(-V|--version)$/.test(sure(call))
        ? []
        : [
            ...(/(^| )(delete|prune|compact)( |$)/.test(call.args.map(best).join(' ')) &&
            !call.args.some((arg) => /^(-n|--dry-run)$/.test(best(arg)))
              ? [destroys('borg deletes backups')]
              : []),
            changes('borg works on backups'),
          ],
  }),
  restic: {
    check: (call) => [
      ...(/(^| )(forget|prune)( |$)/.test(call.args.map(best).join(' ')) &&
      !call.args.some((arg) => /^(-n|--dry-run)$/.test(best(arg)))
        ? [destroys('restic deletes backups')]
        : []),
      ...(RESTIC_ASKS.test(sure(call))
        ? []
        : [changes('restic works on backups, or locks and caches while it reads')]),
    ],
  },
};
