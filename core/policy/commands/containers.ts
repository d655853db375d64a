/** Containers and virtual machines: Docker and its kin, LXC, libvirt. */
import { changes, destroys, endless, shown } from '../model.ts';
import type { Arg, Check, Rule } from '../model.ts';
import { secrecyOf } from '../secrets.ts';
import { sendsNames } from './hosts.ts';
import { best } from './lenient.ts';
import { ps } from './processes.ts';
import { has, readOptions, valuesOf } from './options.ts';
import { each, problems, reads, verbs } from './rules.ts';
import type { Table } from './rules.ts';

const LISTING = reads(
  '-aqlsgv -f: -n: --all --quiet --filter: --format: --last: --latest --no-trunc --size --digests --tree --resolve --no-resolve --orphans? --services --status: --pod --ns --sort: --external --human? --verbose',
  {
    output: (call) =>
      call.args.some((arg) =>
        /^(-[a-z]*q[a-z]*|--quiet|--services|(--format=)?['"]?\{\{\s*\.(Names|ID|Name)\s*\}\}(( |\\t)\{\{\s*\.(Names|ID|Name)\s*\}\})*['"]?)$/.test(
          arg.value,
        ),
      )
        ? { kind: 'id' }
        : { kind: 'any' },
  },
);
/** The table of `docker ps` begins with the container's id; with other formats anything may stand there. */
const LIST: Rule = {
  ...LISTING,
  leadingIds: (call) =>
    / ps$/.test(call.name) && !call.args.some((arg) => /^--format|^-\w*[^aqnl-]/.test(arg.value))
      ? 1
      : 0,
};
const INSPECT = reads('-s -f: --format: --type: --size --pretty --verbose', {
  also: (read) =>
    valuesOf(read, '-f', '--format')
      .filter((format) =>
        /Env\b|\0|\.Config(\.Secrets)?\s*\}\}|(json|\{\{)\s*\.\s*\}\}/.test(format.value),
      )
      .map(() => changes('shows the environment of a container, which may hold passwords')),
});
/** Options of `docker logs`. */
export const LOGS = reads(
  '-ftl -n: --follow --timestamps --details --since: --until: --tail: --latest --names --color --no-color --no-log-prefix --index: --raw --no-trunc --no-task-ids --no-resolve',
  {
    also: (read, call) =>
      has(read, '-f', '--follow') ? [endless(`${call.name} -f follows the log`)] : [],
  },
);
const ONE = reads(
  '--format: --no-stream --no-trunc --all -a --since: --until: --filter: -f: --json -v --verbose --human? -H -q --quiet --limit: --no-reset -i: --interval: --stream?',
  {
    also: (read, call) => {
      if (/ stats$/.test(call.name) && !has(read, '--no-stream'))
        return [endless(`${call.name} repeats`)];
      const bounded =
        has(read, '--until') || valuesOf(read, '--stream').some((value) => value.value === 'false');
      return / events$/.test(call.name) && !bounded
        ? [endless(`${call.name} waits for events`)]
        : [];
    },
  },
);

/** `docker top CONTAINER [ps options]`, and Compose's without options. */
const TOP: Rule = {
  check: (call, shell) => {
    const options = call.args.filter((arg) => arg.value.startsWith('-'));
    const rest = call.args.slice(call.args.findIndex((arg) => !arg.value.startsWith('-')) + 1);
    return call.args.length === options.length
      ? []
      : ps({ ...call, name: 'ps', args: [...options, ...rest] }, shell);
  },
};

/** Options of `docker exec` in front of the container. */
const EXEC =
  '-ditT -u: -w: -e: -n: --detach --interactive --tty --no-TTY --user: --workdir: --env: --privileged --latest --index: --container: --cwd: --mode: --force-interactive --disable-stdin';

/** `docker exec [options] CONTAINER command …` */
export const execIn = (spec: string = EXEC): Rule => ({
  check: (call, shell) => {
    const end = spec.includes('--pod-running-timeout:')
      ? call.args.findIndex((arg) => arg.value === '--')
      : -1;
    const front = end < 0 ? undefined : readOptions(call.args.slice(0, end), spec);
    const read = front
      ? { ...front, operands: [...front.operands.slice(0, 1), ...call.args.slice(end)] }
      : readOptions(call.args, spec, { stopAtOperand: true });
    const found = problems(call.name, read);
    if (front && front.operands.length > 1)
      found.push(changes(`${call.name}: ${shown(front.operands[1] as Arg)} is not understood`));
    if (has(read, '-d', '--detach')) found.push(changes(`${call.name} leaves a command running`));
    if (has(read, '--privileged'))
      found.push(changes(`${call.name} --privileged gives the command all rights`));
    for (const value of [...valuesOf(read, '-e', '--env')]) {
      if (!/^(TERM|LANG|LC_\w+|TZ|COLUMNS|LINES)=[\w.-]*$/.test(value.value))
        found.push(changes(`${call.name} sets ${shown(value)}`));
    }
    const [, ...words] = read.operands;
    const command = words[0]?.value === '--' ? words.slice(1) : words;
    if (command.length === 0) return [...found, changes(`${call.name} without a command`)];
    const joined = [...(front?.operands.slice(1) ?? []), ...command]
      .filter((arg) => arg.value !== '--')
      .map(best)
      .join(' ');
    return [
      ...found,
      ...shell.inside().argv(command, call.input),
      ...(call.args.some((arg) => arg.value === '--') ? shell.suspect([joined]) : []),
    ];
  },
});

/** A new container runs whatever it is given, with whatever is mounted. */
const run: Rule = {
  check: (call, shell) => [
    ...call.args
      .map(
        (arg) =>
          best(arg)
            .replace(/^.*?(src|source)=([^,]*).*$|^--?[a-z]+=/, '$2')
            .split(':')[0] as string,
      )
      .filter((path) => path.startsWith('/') && secrecyOf(path) === 'key')
      .map((path) =>
        destroys(`${call.name} hands a private key or password file in: ${shown(path)}`),
      ),
    changes(`${call.name} starts a container`),
    ...shell.suspect(call.args.map(best)),
    ...shell.suspect([call.input.texts.join('\n')]),
  ],
};

const composeConfig: Check = (call) => {
  const read = readOptions(
    call.args,
    '-q --quiet --services --images --volumes --profiles --hash:',
  );
  const names = has(
    read,
    '-q',
    '--quiet',
    '--services',
    '--images',
    '--volumes',
    '--profiles',
    '--hash',
  );
  return [
    ...problems(call.name, read),
    ...(names ? [] : [changes('compose config prints passwords from the environment')]),
  ];
};

const compose = verbs({
  globals:
    '-f: -p: --file: --project-name: --profile: --project-directory: --ansi: --progress: --no-ansi --compatibility --all-resources --version -v',
  read: {
    'ps ls images version port volumes': LIST,
    top: { check: () => [] },
    logs: LOGS,
    'events stats': ONE,
    exec: execIn(),
    config: { check: composeConfig },
    run,
    '': reads(''),
  },
  danger: [[/(^| )(down|rm)( .*)? (-v\b|-[a-z]*v[a-z]*( |$)|--volumes)/, 'deletes volumes']],
});

/** What throws data away, by the words of a call. */
export const DANGER: readonly (readonly [RegExp, string])[] = [
  [/(^| )volume( -\S+)* (rm|remove|prune)( |$)/, 'deletes volumes'],
  [/(^| )(system|builder)( -\S+)* prune .*--volumes/, 'deletes volumes'],
  [/(^| )system( -\S+)* reset( |$)/, 'deletes everything'],
  [/(^| )(container )?(rm|remove)( \S+)* (-[a-z]*v[a-z]*|--volumes)( |$)/, 'deletes volumes'],
  [/(^| )compose( .*)? (down|rm)( .*)? (-[a-z]*v[a-z]*|--volumes)( |$)/, 'deletes volumes'],
  [/(^| )swarm( -\S+)* leave .*(-f|--force)/, 'takes the swarm apart'],
  [/(^| )(namespace|ns)( -\S+)* (rm|remove|prune)( |$)/, 'deletes a namespace'],
  [/(^| )(container )?(rm|remove)( -\S+)* (-\w*a\w*|--all|\0.*)( |$)/, 'deletes all containers'],
  [/(^| )(container|system|pod)( -\S+)* prune .*--volumes/, 'deletes volumes'],
  [/(^| )pod( -\S+)* (rm|remove)( \S+)* (-\w*a\w*|--all)( |$)/, 'deletes all pods'],
  [/(^| )(stack|machine|app)( -\S+)* (rm|remove|down)( |$)/, 'takes down what it runs'],
];

const docker = verbs({
  globals: '-D -l: -c: --debug --log-level: --context: --namespace: --version -v',
  read: {
    'ps images search': LIST,
    'inspect port top diff history': {
      ...INSPECT,
      check: (call, shell) =>
        (call.name.endsWith('history') ? ONE : call.name.endsWith('top') ? TOP : INSPECT).check(
          call,
          shell,
        ),
    },
    logs: LOGS,
    'stats events version info': ONE,
    exec: execIn(),
    run,
    create: run,
    container: verbs({
      read: {
        'ls list ps': LIST,
        'inspect port diff': INSPECT,
        top: TOP,
        logs: LOGS,
        stats: ONE,
        exec: execIn(),
        run,
      },
    }),
    image: verbs({ read: { 'ls list': LIST, inspect: INSPECT, history: ONE } }),
    network: verbs({ read: { 'ls list': LIST, inspect: INSPECT } }),
    volume: verbs({ read: { 'ls list': LIST, inspect: INSPECT } }),
    system: verbs({ read: { 'df info events': ONE } }),
    node: verbs({ read: { 'ls ps': LIST, inspect: INSPECT } }),
    service: verbs({ read: { 'ls ps': LIST, inspect: INSPECT, logs: LOGS } }),
    stack: verbs({ read: { 'ls ps services': LIST } }),
    'secret config': verbs({ read: { ls: LIST } }),
    context: verbs({ read: { 'ls show': LIST, inspect: INSPECT } }),
    plugin: verbs({ read: { ls: LIST, inspect: INSPECT } }),
    pod: verbs({
      read: { 'ls ps list': LIST, inspect: INSPECT, logs: LOGS, stats: ONE, top: TOP },
    }),
    healthcheck: verbs({ read: {} }),
    buildx: verbs({ read: { 'ls du version inspect': ONE } }),
    manifest: verbs({
      read: {
        inspect: reads('-v --verbose --insecure', {
          also: (read, call) => sendsNames(call.name, read.operands),
        }),
      },
    }),
    compose,
    '': reads('--version -v'),
  },
  danger: DANGER,
});

export const containers: Table = {
  ...each('docker podman', docker),
  nerdctl: {
    ...docker,
    check: (call, shell) => {
      const named = /^(-n|--namespace)$/.test(call.args[0]?.value ?? '');
      const own = named && /^[\w.-]+$/.test(call.args[1]?.value ?? '');
      return docker.check(own ? { ...call, args: call.args.slice(2) } : call, shell);
    },
  },
  ...each('docker-compose podman-compose', compose),
};
