/** Kubernetes and what belongs to it. */
import { changes, endless, HOLE, shown } from '../model.ts';
import type { Call, Check, Finding, HoleKind } from '../model.ts';

import { sure } from './lenient.ts';
import { has, readOptions, valuesOf } from './options.ts';
import type { Options } from './options.ts';
import { execIn } from './containers.ts';
import { dangerFindings, each, problems, reads, verbs } from './rules.ts';
import type { Rule } from '../model.ts';
import type { Table } from './rules.ts';

const GLOBALS =
  '-n: --namespace: --context: --cluster: --request-timeout: -v: --v: --warnings-as-errors';

const GET = `${GLOBALS} -A -w -o: -l: -f: -L: -R -k: --all-namespaces --output: --watch --watch-only --selector: --filename: --field-selector: --show-labels --show-kind --sort-by: --no-headers --ignore-not-found --label-columns: --chunk-size: --raw: --show-managed-fields --template: --server-print --subresource: --types: --for: --allow-missing-template-keys --containers --sum --use-protocol-buffers --recursive --kustomize:`;

const SECRETS = /(^|,)(secrets?|all-secrets|sealedsecrets?)([./,]|$)/i;

/** Names with their kind, as `get -o name` prints them, of another kind than secrets. */
const namesNoSecret = (hole: HoleKind): boolean =>
  hole.kind === 'paths' && hole.patterns.every((pattern) => !SECRETS.test(pattern));

/** `get -o name` prints `KIND/NAME`; other formats of names print the name alone. */
function nameOutput(call: Call): HoleKind {
  const read = readOptions(call.args, GET);
  const [kind] = read.operands;
  // Of several formats the last one counts, and a template prints what somebody wrote into an object.
  const formats = valuesOf(read, '-o', '--output').length;
  if (formats !== 1 || has(read, '--template') || !NAMES.test(sure(call))) return { kind: 'any' };
  if (!/(^| )(-o ?|--output[= ])=?name( |$)/.test(sure(call))) return { kind: 'id' };
  return kind && /^[a-z][a-z0-9.-]*$/.test(kind.value) && kind.value !== 'all'
    ? { kind: 'paths', patterns: [`${kind.value}/*`] }
    : { kind: 'any' };
}

/** Fields of secrets are shown by every format but names and columns. */
function secretOutput(read: Options, call: Call): Finding[] {
  const raw = valuesOf(read, '--raw').filter(
    (path) =>
      !/^\/(healthz|livez|readyz|metrics|version|apis?)(\/[a-z0-9.-]+)?(\?verbose)?\/?$/.test(
        path.value,
      ),
  );
  const templates = valuesOf(read, '-o', '--output').filter((value) => /-file\b/.test(value.value));
  const found = [...raw, ...templates].map((path) => changes(`kubectl reads ${shown(path)}`));
  const [first] = read.operands;
  // `TYPE NAME…`, or `TYPE/NAME…`.
  const kinds = first && /^[\w.,-]+$/.test(first.value) ? [first] : read.operands;
  // With something around what is put in, the word may name any kind, for there may be nothing to put in.
  const secret = kinds.some((kind) =>
    kind.value.includes(HOLE)
      ? kind.value !== HOLE || !kind.holes.every(namesNoSecret)
      : SECRETS.test(kind.value),
  );
  const format = valuesOf(read, '-o', '--output').map((arg) => arg.value);
  const plain = format.every((value) => /^(name|wide)$/.test(value)) && !has(read, '--template');
  const files = !call.name.endsWith('logs') && has(read, '-f', '--filename', '-k', '--kustomize');
  if ((secret && (!plain || call.name.endsWith('describe'))) || (files && !plain))
    found.push(changes('kubectl shows the contents of secrets'));
  return found;
}

/** A configuration names programs that log in: only the usual ones are trusted. */
function kubeconfig(read: Options): Finding[] {
  return valuesOf(read, '--kubeconfig')
    .filter(
      (file) =>
        !/^(\/etc\/rancher\/k3s\/k3s\.yaml|\/etc\/kubernetes\/admin\.conf|~\/\.kube\/config|\/root\/\.kube\/config)$/.test(
          file.value,
        ),
    )
    .map((file) => changes(`kubectl reads ${shown(file)}, which may name programs to run`));
}

/** `-w` watches, and `-f` follows where it does not name a file. */
const following = (read: Options, call: Call): Finding[] =>
  has(read, '-w', '--watch', '--watch-only', '--follow') ||
  (call.name.endsWith('logs') && has(read, '-f'))
    ? [endless(`${call.name} waits for more`)]
    : [];

/** Formats that print names only; any other may print what somebody wrote into an object. */
const NAMES = /(^| )(-o ?|--output[= ])(=?name|=?jsonpath=\{[.\w[\]*]*metadata\.name\})( |$)/;

const kubeReads = (spec: string = GET): Rule =>
  reads(spec, {
    also: (read, call) => [...secretOutput(read, call), ...following(read, call)],
    output: (call) => (/ get$/.test(call.name) ? nameOutput(call) : { kind: 'any' }),
  });

/** The tables of `kubectl get` begin with the name, or with namespace and name. */
const GETS: Rule = {
  ...kubeReads(),
  leadingIds: (call) => {
    const text = sure(call);
    if (/(^| )(-o|--output|--template|-L)(?! ?=?wide( |$))/.test(text)) return 0;
    return /(^| )(-A|--all-namespaces)( |$)/.test(text) ? 2 : 1;
  },
};

const LOGS = kubeReads(
  `${GLOBALS} -f -p -c: -l: --follow --previous --container: --selector: --since: --since-time: --tail: --timestamps --all-containers --prefix --limit-bytes: --max-log-requests: --all-pods --ignore-errors`,
);

/** Changes that only pretend. */
const dryRun = (spec: string): Rule => ({
  check: (call) => {
    const read = readOptions(call.args, spec);
    const mints = read.operands.some((arg) => /^(token|secrets?)$/.test(arg.value));
    const dry =
      !mints && valuesOf(read, '--dry-run').some((value) => /^(client|server)$/.test(value.value));
    return dry
      ? problems(call.name, read)
      : [changes(`${call.name} ${call.args.map(shown).join(' ')} changes the cluster`)];
  },
});
const DRY = dryRun(
  `${GLOBALS} -f: -k: -o: -R --filename: --kustomize: --dry-run: --output: --validate? --server-side --recursive --image: --port: --replicas: --from-literal: --type: --tcp:`,
);

const DANGERS: readonly (readonly [RegExp, string])[] = [
  [
    /(^| )delete (?!.*--dry-run=(client|server))(.*[ ,/])?(namespaces?|ns|projects?|persistentvolumes?|pv|persistentvolumeclaims?|pvc|volumesnapshots?|volumesnapshotcontents?|crds?|customresourcedefinitions?|volumes?)([ ,/.]|$)/,
    'deletes namespaces or volumes',
  ],
  [
    /(^| )delete (?!.*--dry-run=(client|server))(.* )?(--all|-A|--all-namespaces)( |$)/,
    'deletes everything of a kind',
  ],
  [
    /(^| )delete (?!.*--dry-run=(client|server))(.* )?(-f|-k|--filename|--kustomize)\b/,
    'deletes all that a file names',
  ],
  [/(^| )delete (?!.*--dry-run=(client|server))(.*[ ,/])?(nodes?|no)([ ,/]|$)/, 'deletes a node'],
  [/(^| )drain .*--delete-(emptydir|local)-data/, 'deletes the data of pods'],
  [/(^| )replace .*--force/, 'deletes what it replaces'],
];

const kubectl = verbs({
  globals: `${GLOBALS} --kubeconfig:`,
  also: kubeconfig,
  read: {
    get: GETS,
    'describe top api-versions events': kubeReads(),
    'api-resources': reads(
      `${GLOBALS} -o: --output: --namespaced? --verbs: --api-group: --sort-by: --no-headers --categories:`,
      { operands: 'none' },
    ),
    logs: LOGS,
    exec: {
      check: (call, shell) =>
        execIn(
          `-i -t -q -c: -n: -f: --stdin --tty --quiet --container: --namespace: --context: --pod-running-timeout:`,
        ).check(call, shell),
    },
    'version explain cluster-info': reads(
      `${GLOBALS} -o: --client --output: --short --recursive --api-version:`,
      {
        also: (read, call) =>
          call.name.endsWith('cluster-info') && read.operands.length > 0
            ? [changes('kubectl cluster-info dump shows everything')]
            : [],
      },
    ),
    config: verbs({
      globals: GLOBALS,
      read: {
        'get-contexts current-context get-clusters get-users': kubeReads(),
        view: reads(`${GLOBALS} -o: --minify --output:`),
      },
    }),
    auth: verbs({
      read: {
        'can-i whoami': reads(
          `${GLOBALS} --list --as: --all-namespaces -A -q --quiet --subresource: -o:`,
        ),
      },
    }),
    rollout: verbs({
      globals: GLOBALS,
      read: {
        'status history': reads(`${GLOBALS} --watch? --timeout: --revision: -l: -f: -o:`, {
          also: (read, call) =>
            call.name.endsWith('status') &&
            !has(read, '--timeout') &&
            !valuesOf(read, '--watch').some((value) => value.value === 'false')
              ? [endless('kubectl rollout status waits')]
              : [],
        }),
      },
    }),
    diff: reads(`${GLOBALS} -f: -k: -R --filename: --recursive --server-side`, {
      operands: 'none',
    }),
    wait: reads(`${GLOBALS} --for: --timeout: -l: --all -A -f:`, {
      // Below zero it waits for a week.
      also: (read) =>
        valuesOf(read, '--timeout').every((limit) => /^\d{1,4}[sm]?$/.test(limit.value))
          ? []
          : [endless('kubectl wait waits for long')],
    }),
    'apply create delete': DRY,
    '': reads('--help'),
  },
  danger: DANGERS,
});

/** Distributions that bring kubectl along, and the tools that undo a node. */
const withKubectl = (call: Call): Call => ({ ...call, name: 'kubectl', args: call.args.slice(1) });
const k3s: Check = (call, shell) => {
  const first = call.args[0]?.value ?? '';
  if (first === 'kubectl') return kubectl.check(withKubectl(call), shell);
  if (first === 'crictl' || first === 'ctr') return shell.argv(call.args, call.input);
  if (/^(--version|-v|check-config|version|status)$/.test(first) && call.args.length === 1)
    return [];
  const danger = dangerFindings(call, [
    [/(^| )(reset|uninstall)( |$)/, 'takes the node apart'],
    [/^(-\S+ )*delete( -\S+)*$/, 'deletes the cluster'],
    [/etcd-snapshot (delete|prune)/, 'deletes snapshots'],
  ]);
  return [...danger, changes(`${call.name} ${shown(first)} changes the cluster`)];
};

export const kubernetes: Table = {
  ...each('kubectl oc kubecolor', kubectl),
  ...each('k3s rke2 k0s microk8s minikube', { check: k3s }),
  ...each('kubectx kubens', reads('-c --current', { operands: 'none' })),
  stern: reads(
    `${GLOBALS} -l: -s: -c: -t --since: --tail: --no-follow --all-namespaces -A --timestamps --output: -o:`,
    { also: (read) => (has(read, '--no-follow') ? [] : [endless('stern follows logs')]) },
  ),
};
