/** Programs that run a command as somebody else or somewhere else. */
import { joinedWords, withoutAssignments } from './wrappers.ts';
import { changes, isKnown, shown } from '../model.ts';
import type { Check } from '../model.ts';
import { sendsInput, sendsNames } from './hosts.ts';
import { has, readOptions, valuesOf } from './options.ts';
import { each, problems } from './rules.ts';
import type { Table } from './rules.ts';

const sudo: Check = (call, shell) => {
  const read = readOptions(
    call.args,
    '-EHnPkKvVl -U: -g: -p: -u: -C: -T: -r: -t: -h: -i --user: --group: --non-interactive --preserve-env --set-home --stdin --login --list --version --help --chdir: -D:',
    { stopAtOperand: true },
  );
  const found = problems(call.name, read);
  if (has(read, '-l', '--list', '-V', '--version', '--help'))
    return [
      ...found,
      ...(read.operands.length > 0 && !has(read, '-l', '--list')
        ? [changes('sudo: too many words')]
        : []),
    ];
  if (has(read, '-i', '--login', '--chdir', '-D')) shell.enter('', false);
  const { rest, found: set } = withoutAssignments(read.operands, call.name);
  if (rest.length === 0) {
    if (has(read, '-i', '--login'))
      return [...found, changes('sudo starts a shell'), ...shell.suspect(call.input.texts)];
    return [
      ...found,
      ...set,
      ...(has(read, '-v') && !has(read, '-k', '-K')
        ? [changes('sudo -v renews a ticket')]
        : [changes('sudo without a command')]),
    ];
  }
  return [...found, ...set, ...shell.argv(rest, call.input)];
};

const su: Check = (call, shell) => {
  const words = call.args.filter((arg) => arg.value !== '-');
  const read = readOptions(
    words,
    '-lmp -c: -s: -g: -G: -u: --login --command: --shell: --group: --preserve-environment --user:',
    {},
  );
  const found = problems(call.name, read);
  const scripts = valuesOf(read, '-c', '--command');
  if (words.length < call.args.length || has(read, '-l', '--login')) shell.enter('', false);
  for (const value of valuesOf(read, '-s', '--shell')) {
    if (!/^(\/usr)?\/bin\/(ba|da)?sh$/.test(value.value))
      found.push(changes(`${call.name} starts ${shown(value)}`));
  }
  if (scripts.length > 0) {
    const rest = read.operands.slice(1);
    return [...found, ...scripts.flatMap((script) => shell.script(script, rest, call.input))];
  }
  if (call.name === 'runuser' && has(read, '-u', '--user') && read.operands.length > 0)
    return [...found, ...shell.argv(read.operands, call.input)];
  return [
    ...found,
    changes(`${call.name} starts a shell`),
    ...shell.suspect([...call.args.map((arg) => arg.value), ...call.input.texts]),
  ];
};

/** Options of ssh that neither open tunnels, nor write, nor run anything here. */
const SSH_SETTINGS =
  /^(ConnectTimeout|ConnectionAttempts|BatchMode|ServerAlive(Interval|CountMax)|LogLevel|Port|User|AddressFamily|Compression|NumberOfPasswordPrompts|PasswordAuthentication|PreferredAuthentications|PubkeyAuthentication|IdentitiesOnly|IdentityFile|RequestTTY|HostKeyAlgorithms|ConnectTimeout|TCPKeepAlive|ForwardX11|ForwardAgent=no|ClearAllForwardings|UserKnownHostsFile=\/dev\/null|StrictHostKeyChecking=(yes|ask))\b/i;

const SSH_OPTIONS = '-46aCGknqTtvx -p: -l: -i: -o: -F: -J: -c: -m: -b: -B: -e: -V';

/** ssh takes options in front of the host and behind it. */
const ssh: Check = (call, shell) => {
  const front = readOptions(call.args, SSH_OPTIONS, { stopAtOperand: true });
  const behind = readOptions(front.operands.slice(1), SSH_OPTIONS, { stopAtOperand: true });
  const read = {
    options: [...front.options, ...behind.options],
    operands: [...front.operands.slice(0, 1), ...behind.operands],
    problems: [...front.problems, ...behind.problems],
  };
  const found = problems('ssh', read);
  if (has(read, '-V')) return found;
  const forgets = valuesOf(read, '-o').some((value) =>
    /^UserKnownHostsFile[= ]\/dev\/null$/i.test(value.value),
  );
  for (const value of valuesOf(read, '-o')) {
    if (forgets && /^StrictHostKeyChecking[= ](no|off|accept-new)$/i.test(value.value)) continue;
    if (!SSH_SETTINGS.test(value.value.replace(/\s+/, '=')) || !isKnown(value)) {
      found.push(
        changes(`ssh: setting ${shown(value)} is not known to be harmless`),
        ...shell.suspect([value.value.replace(/^\w+[= ]/, '')]),
      );
    }
  }
  if (has(read, '-F'))
    found.push(changes('ssh reads another configuration, which may run commands'));
  const [host, ...words] = read.operands;
  for (const name of [...(host ? [host] : []), ...valuesOf(read, '-J')]) {
    if (!/^[\w.@:,%[\]/\0-]+$/.test(name.value))
      found.push(changes(`ssh: ${shown(name)} is no plain name of a host`));
  }
  found.push(...sendsNames('ssh', [...(host ? [host] : []), ...valuesOf(read, '-J')]));
  if (words.length > 0) found.push(...sendsInput('ssh', call.input));
  if (!host || host.value.startsWith('-')) return [...found, changes('ssh without a host')];
  if (has(read, '-G') && words.length === 0) return found;
  if (words.length === 0)
    return [
      ...found,
      changes('ssh opens a shell on another machine'),
      ...shell.suspect(call.input.texts),
    ];
  return [...found, ...shell.elsewhere().script(joinedWords(words), [], call.input)];
};

export const users: Table = {
  ...each('sudo doas', { check: sudo }),
  ...each('su runuser', { check: su }),
  ssh: { check: ssh },
};
