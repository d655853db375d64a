/** Virtual machines and system containers outside Proxmox, and what builds them. */
import { execIn } from './containers.ts';
import { changes, shown } from '../model.ts';
import type { Check } from '../model.ts';
import { sure } from './lenient.ts';
import { readOptions, valuesOf } from './options.ts';
import { dangerFindings, each, problems, reads, verbs } from './rules.ts';
import type { Table } from './rules.ts';

const lxc = verbs({
  globals: '--project: -q --quiet',
  read: {
    'list ls info version': reads(
      '-c: -f: --columns: --format: --fast --show-log --resources --all-projects',
    ),
    config: verbs({ read: { 'show get': reads('-e --expanded') } }),
    exec: execIn('-t -n --cwd: --mode: -T --force-interactive --user: --group:'),
    'image network storage profile project cluster snapshot operation warning': verbs({
      read: { 'list ls show info get list-leases': reads('-f: -c: --format: --columns:') },
    }),
  },
  danger: [
    [/(^| )(delete|rm)( |$)/, 'deletes instances or storage'],
    [/(^| )restore( |$)/, 'throws away what came after the snapshot'],
  ],
});

const virsh = verbs({
  also: (read) =>
    valuesOf(read, '-c', '--connect')
      .filter((uri) => !/^(qemu|lxc|xen|test):\/\/\/(system|session|default)?$/.test(uri.value))
      .map((uri) => changes(`virsh connects through ${shown(uri)}, which may run a program`)),
  globals: '-qr -c: --connect: --quiet --readonly',
  read: {
    domstats: reads(
      '--state --cpu-total --balloon --vcpu --interface --block --perf --raw --nowait --list-active --list-inactive --list-running',
    ),
    'list dominfo domstate domblklist domblkinfo domblkstat domiflist domifaddr domifstat dommemstat vcpuinfo vcpucount nodeinfo nodememstats nodecpustats net-list net-info net-dhcp-leases pool-list pool-info vol-list vol-info vol-path version uri hostname capabilities snapshot-list snapshot-info iface-list nwfilter-list domuuid domid domname dominterfaces dumpxml net-dumpxml pool-dumpxml vol-dumpxml sysinfo freecell':
      reads(
        '--all --inactive --name --title --uuid --details --type: --domain: --pool: --source: --full --live --config --table --state-running',
      ),
  },
  danger: [
    [
      /(^| )(destroy|undefine|vol-delete|vol-wipe|pool-delete|pool-destroy|snapshot-delete|snapshot-revert|net-destroy|net-undefine|pool-undefine)( |$)/,
      'destroys a machine or its disks',
    ],
  ],
});

const lxcTool = (read: string): { check: Check } => reads(read);

const TERRAFORM_ASKS =
  /^(version|-version|-v|--version|state list( [\w.[\]"-]+)*|workspace (list|show)|output( -no-color)?|fmt (-check|-diff -check|-check -diff)( -recursive)?( [\w./][\w./-]*)?)$/;

export const machines: Table = {
  ...each('lxc incus', lxc),
  virsh,
  'lxc-ls': lxcTool('-f1 -F: --fancy --fancy-format: --active --running --stopped --frozen --line'),
  'lxc-info': lxcTool('-n: -siHpS -c: --name: --state --ips --pid --stats --config:'),
  'lxc-attach': {
    check: (call, shell) => {
      const read = readOptions(call.args, '-n: --name:', { stopAtOperand: true });
      const command = read.operands[0]?.value === '--' ? read.operands.slice(1) : read.operands;
      return command.length === 0
        ? [changes('lxc-attach opens a shell')]
        : [...problems('lxc-attach', read), ...shell.elsewhere().argv(command, call.input)];
    },
  },
  'lxc-destroy': {
    check: (call) =>
      dangerFindings(
        { ...call, args: [...call.args, { value: '.', splits: false, glob: false, holes: [] }] },
        [[/./, 'deletes the container']],
      ),
  },
  machinectl: verbs({
    globals: '-alq --no-pager --no-legend',
    read: {
      'list status show image-status list-images show-image': reads(
        '-alq -p: --all --full --no-pager --no-legend --value -n:',
      ),
      '': reads(''),
    },
    danger: [
      [/(^| )(remove|clean)( |$)/, 'deletes a machine'],
      [/(^| )(poweroff|reboot|terminate) \.host( |$)/, 'stops or restarts the machine'],
    ],
  }),
  vagrant: verbs({
    read: { 'status global-status version': reads('--machine-readable') },
    danger: [[/(^| )destroy( |$)/, 'deletes machines']],
  }),
  // A plan and a check of the configuration run the programs of providers; these calls do not.
  ...each('terraform tofu pulumi', {
    check: (call) =>
      TERRAFORM_ASKS.test(sure(call)) && call.name !== 'pulumi'
        ? []
        : [
            ...dangerFindings(call, [
              [
                /(^| )(destroy|apply .*-destroy|state rm|workspace delete)( |$)/,
                'destroys what it manages',
              ],
            ]),
            changes(`${call.name} writes its own state`),
          ],
  }),
};
