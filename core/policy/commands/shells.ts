/** Shells and programs that run code given as text. */
import { changes, destroys, HOLE, isKnown, literal, shown } from '../model.ts';
import type { Arg, Call, Check, Finding, Shell } from '../model.ts';
import { secrecyOf } from '../secrets.ts';
import { sure } from './lenient.ts';
import { readOptions, valuesOf } from './options.ts';
import { dangerFindings, each, readsFile } from './rules.ts';
import type { Table } from './rules.ts';

/** Flags of a shell that change nothing about what its script may do. */
const SHELL_FLAGS = /^[euxvfnlhm]*$/;

/** `sh -c SCRIPT [NAME [ARG…]]`, a script on standard input, or a script file. */
const posixShell: Check = (call, shell) => {
  const found: Finding[] = [];
  let at = 0;
  let inline = false;
  let checkOnly = false;
  for (; at < call.args.length; at++) {
    const word = (call.args[at] as Arg).value;
    if (word === '--') {
      at++;
      break;
    }
    if (/^--(version|help)$/.test(word)) return [];
    if (/^--(norc|noprofile|posix)$/.test(word)) continue;
    if (
      /^[-+]o$|^-[a-z]*o$/.test(word) &&
      /^(pipefail|errexit|nounset|noglob|posix)$/.test(call.args[at + 1]?.value ?? '')
    ) {
      if (word.slice(1, -1).includes('c')) inline = true;
      at++;
      continue;
    }
    if (!/^[-+][a-z]+$/i.test(word)) break;
    const letters = word.slice(1).replace(/[cs]/g, '');
    if (word.includes('c') && word.startsWith('-')) inline = true;
    if (letters.includes('n')) checkOnly = true;
    if (letters.includes('l'))
      found.push(
        changes(`${call.name} ${word} runs the login files of the user first, whatever they do`),
      );
    else if (!SHELL_FLAGS.test(letters))
      found.push(changes(`${call.name}: option ${word} is not known to be harmless`));
  }
  const [first, ...rest] = call.args.slice(at);
  if (inline) {
    if (!first) return [...found, changes(`${call.name} -c has no script`)];
    return [...found, ...shell.script(first, rest.slice(1), call.input, rest[0])];
  }
  if (first && !checkOnly && !/^(-|\/dev\/(stdin|fd\/\d+))$/.test(first.value))
    shell.runs(first, 'sh');
  if (checkOnly && first && rest.length === 0) return [...found, ...readsFile(first, shell)];
  if (first && first.value !== '-' && !/^\/dev\/(stdin|fd\/0)$/.test(first.value)) {
    return [
      ...found,
      changes(`${call.name} runs the script ${shown(first)}`),
      ...readsFile(first, shell),
      ...shell.suspect([...call.input.texts, ...shell.written(first.value)]),
    ];
  }
  return [...found, ...fromInput(call, shell)];
};

/** A shell that reads its script from standard input. */
function fromInput(call: Call, shell: Shell): Finding[] {
  const { input } = call;
  if (input.from === 'file' && input.file) shell.runs(input.file, 'sh');
  if (input.from === 'none') return [changes(`${call.name} starts a shell`)];
  if (
    input.from === 'text' &&
    input.texts.length === 1 &&
    !(input.texts[0] as string).includes(HOLE)
  ) {
    return shell.script(literal(input.texts[0] as string), [], { ...input, texts: [] });
  }
  return [
    changes(`${call.name} runs what comes in on standard input`),
    ...shell.suspect(input.texts),
  ];
}

/** A shell of another grammar: never read-only, but searched for danger. */
const otherShell: Check = (call, shell) => {
  if (call.args.length === 1 && call.args[0]?.value === '--version') return [];
  return [
    changes(`${call.name} runs a script in another shell language`),
    ...shell.suspect([...call.args.map((arg) => arg.value), ...call.input.texts]),
  ];
};

/** Interpreters: only their version is read-only; their code is searched for danger. */
const interpreter: Check = (call, shell) => {
  const words = call.args.map((arg) => arg.value);
  if (
    words.length === 1 &&
    /^(--version|-version|-V|-v|-VV|--help|-h|version)$/.test(words[0] as string)
  ) {
    return /^-v$/.test(words[0] as string) &&
      /^(python|perl)/.test(call.name) &&
      !/^perl/.test(call.name)
      ? [changes(`${call.name} -v starts an interpreter`)]
      : [];
  }
  const asked = questions(call, shell);
  if (asked) return asked;
  const program = programFile(call.args);
  if (program) shell.runs(program, call.name);
  const code = words.map((word) => word.replaceAll(HOLE, ' '));
  const secret = call.args.flatMap((arg) =>
    isKnown(arg) && !arg.value.startsWith('-') && !/\s/.test(arg.value)
      ? readsFile(arg, shell)
      : [],
  );
  return [
    changes(`${call.name} runs a program`),
    ...shell.suspect([...code, ...call.input.texts]),
    ...secret.filter((finding) => finding.risk === 'destructive'),
    ...[...code, ...call.input.texts].flatMap(languageDanger),
  ];
};

/** The file of an interpreter's call; none where its code stands in the call, or comes from a module or a list of files. */
function programFile(args: readonly Arg[]): Arg | undefined {
  for (let at = 0; at < args.length; at++) {
    const word = (args[at] as Arg).value;
    if (/^-[A-Za-z]*[ceEmpr]$|^--?(eval|print|jar|cp|classpath|version|help)$|^-$/.test(word))
      return undefined;
    if (/^-[WXI]$/.test(word)) at++;
    else if (!word.startsWith('-')) return args[at];
  }
  return undefined;
}

/** What an interpreter only tells or checks: PHP's settings and syntax, and Python's reader of JSON. */
function questions(call: Call, shell: Shell): Finding[] | undefined {
  if (call.name === 'php') {
    const read = readOptions(
      call.args,
      '-vmi -l:@ --version --modules --info --ini --ri: --syntax-check:@',
    );
    if (read.problems.length > 0 || read.operands.length > 0 || read.options.length !== 1)
      return undefined;
    return valuesOf(read, '-l', '--syntax-check').flatMap((file) => readsFile(file, shell));
  }
  const [first, module, ...rest] = call.args;
  if (!/^python3?$/.test(call.name) || first?.value !== '-m' || module?.value !== 'json.tool')
    return undefined;
  // Python looks for the module where it stands first: at home, not where a command goes.
  const home = [...shell.directories].every((directory) => directory === '~');
  const read = readOptions(
    rest,
    '--sort-keys --no-ensure-ascii --json-lines --indent: --tab --no-indent --compact',
  );
  const one =
    read.operands.length <= 1 && read.operands.every((file) => !file.splits && !file.glob);
  return home && one && read.problems.length === 0
    ? read.operands.flatMap((file) => readsFile(file, shell))
    : undefined;
}

/** A process is started in a loop that nothing ends. */
const FORKS =
  /\b(while|until|loop|for|iter|forever)\b[^]{0,80}\b(fork|pcntl_fork|Process\.spawn|spawn|Popen)\b|\b(fork|pcntl_fork)\b[^]{0,20}\b(while|until|for)\b|\bwhile\s*\(?\s*(true|1)[^]{0,60}(execute|system|popen)\W[^]*&/;

/** Lists of words in code, as in `subprocess.run(['rm', '-rf', '/'])`, and calls that end the machine. */
function languageDanger(code: string): Finding[] {
  if (/\bos\.(reboot|kill\(-1)|\bRB_(AUTOBOOT|POWER_OFF)|syscall\W+(SYS_)?reboot/.test(code))
    return [destroys('code that restarts the machine')];
  if (FORKS.test(code)) return [destroys('fork bomb: code that starts processes without end')];
  // Strings that are the path of a key: no program names one without a reason.
  for (const [, , text = ''] of code.matchAll(/(['"])((?:(?!\1)[^\\\n]|\\.){4,200})\1/g)) {
    if (!/\s/.test(text) && secrecyOf(text) === 'key')
      return [destroys(`code that names a private key or password file: ${shown(text)}`)];
  }
  return [];
}

/** A text of its own for `eval`: words joined by blanks. */
const evaluate: Check = (call, shell) => {
  const joined: Arg = {
    value: call.args.map((arg) => arg.value).join(' '),
    splits: false,
    glob: false,
    holes: call.args.flatMap((arg) => arg.holes),
    guess: call.args.map((arg) => arg.guess ?? arg.value).join(' '),
  };
  return [changes('eval runs text as a command'), ...shell.script(joined, [], call.input)];
};

const later =
  (why: string): Check =>
  (call, shell) =>
    /^(alias|trap|complete|bind|enable)$/.test(call.name) && /^(-p)?$/.test(sure(call))
      ? []
      : call.name === 'at' && /^-l( -q \w)?$/.test(sure(call))
        ? []
        : [
            changes(`${call.name} ${why}`),
            ...shell.suspect([
              ...call.args.map((arg) => arg.value.replace(/^[\w-]+=/, '')),
              ...call.input.texts,
            ]),
          ];

/** Files of the system that hold nothing but names and versions as assignments. */
const FACTS = /^\/(etc\/(os|lsb)-release|usr\/lib\/os-release)$/;

const source: Check = (call, shell) =>
  call.args.length === 1 && isKnown(call.args[0] as Arg) && FACTS.test(call.args[0]?.value ?? '')
    ? []
    : sourced(call, shell);

const sourced: Check = (call, shell) => {
  const [file] = call.args;
  if (file) shell.runs(file, 'sh');
  return runsFile(call, shell);
};

const runsFile: Check = (call, shell) => [
  changes(`${call.name} runs the file ${shown(call.args[0] ?? '')}`),
  ...shell.suspect([...call.input.texts, ...shell.written(call.args[0]?.value ?? '')]),
];

/** BusyBox and Toybox: the applet decides. */
const multicall: Check = (call, shell) => {
  const read = readOptions(call.args, '--list --list-full --help', { stopAtOperand: true });
  if (read.problems.length > 0)
    return read.problems.map((problem) => changes(`${call.name}: ${problem}`));
  return read.operands.length === 0 ? [] : shell.argv(read.operands, call.input);
};

export const shells: Table = {
  ...each('sh bash dash ash rbash', { check: posixShell }),
  ...each('zsh ksh ksh93 mksh fish csh tcsh pwsh xonsh nu elvish rc', { check: otherShell }),
  ...each(
    'python python2 python3 perl ruby node nodejs deno bun php lua luajit tclsh wish expect guile gdb java groovy osascript R Rscript julia ghci scala kotlin irb ipython ipython3 pypy pypy3 gawk-script bpftrace stap',
    { check: interpreter },
  ),
  ...each('busybox toybox', { check: multicall }),
  eval: { check: evaluate },
  ...each('source .', { check: source }),
  ...each('trap alias complete bind enable', { check: later('keeps a command for later') }),
  ...each('at batch', { check: later('runs commands later') }),
  ...each('make cmake ninja just task rake', { check: later('runs a build') }),
  ...each('vi vim nvim view ex ed emacs nano pico micro helix hx', {
    check: later('is an editor that can write and run commands'),
  }),
  ansible: {
    check: (call, shell) => [
      ...dangerFindings(call, [
        [
          /(-m|--module-name)[ =]?\S*\b(file|lvol|lvg|zfs|zpool|docker_volume|postgresql_db|mysql_db|k8s|proxmox|virt|filesystem|parted)\b.*\bstate=(absent|undefined)\b/,
          'deletes on other machines',
        ],
      ]),
      ...later('runs commands on other machines')(call, shell),
    ],
  },
  ...each(
    'ansible-playbook salt salt-call puppet chef-client pyinfra fab parallel pssh pdsh clush dsh',
    { check: later('runs commands on other machines') },
  ),
};
