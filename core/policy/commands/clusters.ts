/** What is installed into clusters, and the tools that make and undo their nodes. */
import { changes } from '../model.ts';
import type { Check } from '../model.ts';
import { sendsNames } from './hosts.ts';
import { sure } from './lenient.ts';
import { has, valuesOf } from './options.ts';
import { dangerFindings, each, reads, verbs } from './rules.ts';
import type { Table } from './rules.ts';

const helm = verbs({
  globals: '-n: --namespace: --kube-context: --debug',
  read: {
    'list ls status history version search show env': reads(
      '-A -a -q -d -r -o: -n: -l -f: -m: --all --all-namespaces --output: --namespace: --kube-context: --filter: --max: --pending --failed --deployed --uninstalled --short --client --versions --devel --version: --regexp --revision: --show-resources --show-desc',
      {
        also: (read, call) => [
          ...sendsNames(call.name, / (show|search)$/.test(call.name) ? read.operands : []),
          // Formats for programs hold the values that a release was given, passwords among them.
          ...(call.name.endsWith(' status') &&
          valuesOf(read, '-o', '--output').some((format) => format.value !== 'table')
            ? [changes('helm status shows the values of a release')]
            : []),
        ],
      },
    ),
    repo: verbs({ read: { 'list ls': reads('-o: --output:') } }),
    get: verbs({ read: { 'notes metadata': reads('-n: -o: --revision: --namespace:') } }),
    plugin: verbs({ read: { list: reads('') } }),
  },
  danger: [[/(^| )(uninstall|delete|del|un)( |$)(?!.*--dry-run)/, 'deletes a release']],
});

const etcdctl = verbs({
  also: (read) => sendsNames('etcdctl', valuesOf(read, '--endpoints')),
  globals:
    '-w: --endpoints: --cacert: --cert: --key: --write-out: --dial-timeout: --command-timeout: --cluster',
  read: {
    member: verbs({ read: { list: reads('-w: --write-out:') } }),
    endpoint: verbs({ read: { 'health status hashkv': reads('-w: --cluster --write-out:') } }),
    alarm: verbs({ read: { list: reads('') } }),
    // Values may be secrets: a cluster keeps its own there. Names are none.
    get: reads('-w: --prefix --keys-only --count-only --from-key --limit: --write-out:', {
      also: (read) =>
        has(read, '--keys-only', '--count-only') ? [] : [changes('etcdctl shows values')],
    }),
    version: reads(''),
  },
  danger: [
    [/(^| )del( .*)? --(prefix|from-key)/, 'deletes many keys'],
    [/(^| )snapshot restore( |$)/, 'replaces the data'],
  ],
});

const wrecked = (what: string): { check: Check } => ({
  check: (call) =>
    dangerFindings(
      {
        ...call,
        args: [{ value: call.name, splits: false, glob: false, holes: [] }, ...call.args],
      },
      [[/./, what]],
    ),
});

export const clusters: Table = {
  helm,
  etcdctl,
  kubeadm: {
    check: (call) => [
      ...dangerFindings(call, [[/(^| )reset( |$)/, 'takes the node apart']]),
      ...(/^(version|token list|certs check-expiration|config view|config images list)( -o \w+)?$/.test(
        sure(call),
      )
        ? []
        : [changes('kubeadm changes the cluster')]),
    ],
  },
  ...each(
    'k3s-uninstall.sh k3s-agent-uninstall.sh rke2-uninstall.sh',
    wrecked('takes the node apart'),
  ),
  talosctl: {
    check: (call) => [
      ...dangerFindings(call, [
        [/(^| )(reset|reboot|shutdown|wipe)( |$)/, 'resets or stops nodes'],
      ]),
      changes('talosctl acts on nodes'),
    ],
  },
  flux: verbs({
    globals: '-n: --namespace:',
    read: {
      'get stats version check tree logs events': reads('-A -n: --all-namespaces --namespace:'),
    },
    danger: [[/(^| )uninstall( |$)/, 'removes what it manages']],
  }),
};
