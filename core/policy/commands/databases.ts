/** Clients of databases: what they are asked is looked at. */
import { changes, destroys, HOLE, shown } from '../model.ts';
import type { Arg, Call, Check, Finding } from '../model.ts';
import { sendsNames } from './hosts.ts';
import { best, given, sure } from './lenient.ts';
import { has, readOptions, valuesOf } from './options.ts';
import type { Options } from './options.ts';
import { each, problems, reads, readsFile } from './rules.ts';
import { sqlFindings } from './sqltext.ts';
import type { Table } from './rules.ts';

function judged(text: Arg): Finding[] {
  if (text.value.includes(HOLE)) {
    const narrow = text.holes.every((hole) => hole.kind === 'id');
    const filled = sqlFindings(text.value.replaceAll(HOLE, '1'));
    return narrow
      ? filled
      : [changes(`SQL that is only known at run time: ${shown(text)}`), ...filled];
  }
  return sqlFindings(text.value);
}

/** Standard input as SQL: from a here-document it is known, from a pipe only guessed. */
function fromInput(call: Call, meta: (text: string) => Finding[] | undefined): Finding[] {
  const { input } = call;
  if (input.from === 'none') return [changes(`${call.name} opens a prompt`)];
  const found = input.texts.flatMap((text) => [...(meta(text.trim()) ?? []), ...sqlFindings(text)]);
  if (input.from === 'text') return found;
  return [
    changes(`${call.name} runs what comes in on standard input`),
    ...found.filter((finding) => finding.risk === 'destructive'),
  ];
}

/** Backslash commands of psql that only show. */
function psqlMeta(text: string): Finding[] | undefined {
  if (!text.startsWith('\\'))
    return text.includes('\\')
      ? [changes(`psql: ${shown(text)} holds a backslash command`)]
      : undefined;
  return /^\\(d[a-zA-Z]*\+?S?\+?|l\+?|list|conninfo|z|sf\+?|encoding|timing|x|echo|dn\+?|du\+?|dt\+?)( [\w.*"]+)*$/.test(
    text,
  )
    ? []
    : [changes(`psql: ${shown(text)} is not known to only read`)];
}

const psql: Check = (call, shell) => {
  const read = readOptions(
    call.args,
    '-lAtqxXzEnHwSeb0 -c: -d: -h: -p: -U: -v: -F: -P: -R: -V --command: --dbname: --host: --port: --username: --list --no-align --tuples-only --quiet --expanded --no-psqlrc --field-separator: --pset: --csv --html --no-password --set: --variable: --version --help --echo-errors --no-readline',
  );
  const found = [
    ...problems('psql', read),
    ...sendsNames('psql', [...valuesOf(read, '-h', '--host', '-d', '--dbname'), ...read.operands]),
  ];
  for (const value of valuesOf(read, '-v', '--set', '--variable', '-P', '--pset')) {
    if (
      !/^(ON_ERROR_STOP|VERBOSITY|QUIET|format|border|pager|null|tuples_only|footer|expanded|x|linestyle)=?\w*$/.test(
        value.value,
      )
    )
      found.push(changes(`psql sets ${shown(value)}`));
  }
  const commands = valuesOf(read, '-c', '--command');
  if (has(read, '-l', '--list', '-V', '--version', '--help')) return found;
  if (commands.length === 0) return [...found, ...files(call, shell), ...fromInput(call, psqlMeta)];
  return [
    ...found,
    ...commands.flatMap((text) => psqlMeta(text.value.trim()) ?? judged(text)),
    ...backticks(commands, shell),
  ];
};

/** Options that read a script, with danger looked for in what comes in. */
function files(call: Call, shell: Parameters<Check>[1]): Finding[] {
  return shell.suspect(call.input.texts);
}

function backticks(commands: readonly Arg[], shell: Parameters<Check>[1]): Finding[] {
  return commands.flatMap((text) =>
    /\\!|\\g\s*\||\\o\s*\||program\s*'/i.test(text.value)
      ? shell.suspect([
          text.value.replace(/^[^]*?(\\!|\||program\s*')/i, '').replace(/'\s*;?\s*$/, ''),
        ])
      : [],
  );
}

const mysql: Check = (call, shell) => {
  const read = readOptions(
    call.args,
    '-BNstEtvwrCb -e: -h: -P: -u: -p? -D: -S: --execute: --host: --port: --user: --password? --database: --socket: --batch --skip-column-names --silent --table --vertical --raw --protocol: --connect-timeout: --default-character-set: --version --help --ssl-mode: --column-names --no-auto-rehash --html --xml -V',
  );
  const found = [
    ...problems(call.name, read),
    ...sendsNames(call.name, valuesOf(read, '-h', '--host')),
  ];
  if (has(read, '--version', '--help', '-V')) return found;
  const commands = valuesOf(read, '-e', '--execute');
  if (commands.length === 0)
    return [...found, ...files(call, shell), ...fromInput(call, () => undefined)];
  const escapes = commands.filter((text) =>
    /\\[^Gg%_]|^\s*(system|source|tee|pager|edit)\b|;\s*(system|source|tee|pager|edit)\b/i.test(
      text.value,
    ),
  );
  return [
    ...found,
    ...commands.flatMap((text) => judged({ ...text, value: text.value.replace(/\\[Gg]\s*$/, '') })),
    ...escapes.flatMap((text) => [
      changes(`${call.name} runs a client command: ${shown(text)}`),
      ...shell.suspect([text.value.replace(/^\s*(\\!|system)\s*/i, '')]),
    ]),
  ];
};

const sqlite: Check = (call, shell) => {
  const words = call.args.map((arg) =>
    /^-[a-z]/.test(arg.value) && !arg.value.startsWith('--')
      ? { ...arg, value: `-${arg.value}` }
      : arg,
  );
  const read = readOptions(
    words,
    '--readonly --header --noheader --column --csv --json --line --list --box --table --markdown --separator: --batch --bail --version --nullvalue: --html --quote --safe --ascii --tabs',
  );
  const found = problems('sqlite3', read);
  if (has(read, '--version')) return found;
  const [database, ...commands] = read.operands;
  // A database that is not there is made, and a journal that was left is played back, unless it is opened for reading only.
  const reads =
    has(read, '--readonly') || /[?&](mode=ro|immutable=1)\b/.test(database?.value ?? '');
  if (!reads) found.push(changes('sqlite3 without -readonly may make or repair the database'));
  if (!database || commands.length === 0)
    return [...found, ...files(call, shell), ...fromInput(call, dot)];
  return [
    ...found,
    ...commands.flatMap((text) => dot(text.value.trim()) ?? judged(text)),
    ...shell.suspect(
      commands
        .filter((text) => /^\s*\.(shell|system)/.test(text.value))
        .map((text) => text.value.replace(/^\s*\.\w+/, '')),
    ),
  ];
};

function dot(text: string): Finding[] | undefined {
  if (!text.startsWith('.')) return undefined;
  return /^\.(tables|schema|databases|indexes|indices|dbinfo|headers (on|off)|mode \w+|version|show|fullschema|stats)( [\w%.]+)?$/.test(
    text,
  )
    ? []
    : [changes(`sqlite3: ${shown(text)} is not known to only read`)];
}

const admin = (danger: RegExp | undefined, what: string): { check: Check } => ({
  check: (call) => [
    danger?.test(call.args.map(best).join(' ')) || (danger === undefined && call.args.length > 0)
      ? destroys(`${call.name} ${what}: ${call.args.map(shown).join(' ')}`)
      : changes(`${call.name} changes a database`),
  ],
});

const mysqladmin: Check = (call) => {
  const read = readOptions(
    call.args,
    '-h: -P: -u: -p? -S: --host: --port: --user: --password? --socket: -r -v --verbose --version',
  );
  const words: Options['operands'] = read.operands;
  if (words.some((arg) => /^(drop|shutdown|kill)/.test(best(arg))))
    return [destroys(`${call.name} ${words.map(shown).join(' ')}`)];
  return words.every((arg) =>
    /^(status|extended-status|ping|processlist|proc|stat|variables|version|ver|var|ext)$/.test(
      arg.value,
    ),
  )
    ? [...problems(call.name, read), ...sendsNames(call.name, valuesOf(read, '-h', '--host'))]
    : [changes(`${call.name} changes the server`)];
};

export const databases: Table = {
  psql: { check: psql },
  ...each('mysql mariadb mycli', { check: mysql }),
  ...each('sqlite3 sqlite', { check: sqlite }),
  ...each('mysqladmin mariadb-admin', { check: mysqladmin }),
  ...each('dropdb dropuser', admin(undefined, 'deletes a database or user')),
  pg_ctl: {
    check: (call) =>
      /^(-D \S+ )?status( -D \S+)?$/.test(sure(call))
        ? []
        : [changes('pg_ctl controls the server')],
  },
  ...each('pg_ctlcluster pg_dropcluster', admin(/^(?=.*drop)|^/, 'acts on a database cluster')),
  pg_lsclusters: {
    check: (call) =>
      call.args.every((arg) => /^(-h|--no-header|-j|--json)$/.test(arg.value))
        ? []
        : [changes('pg_lsclusters: options not known')],
  },
  pg_isready: reads(
    '-q -h: -p: -d: -U: -t: --host: --port: --dbname: --username: --timeout: --quiet --version',
    {
      also: (read, call) => sendsNames(call.name, valuesOf(read, '-h', '--host', '-d', '--dbname')),
    },
  ),
  pg_controldata: { check: (call) => problems('pg_controldata', readOptions(call.args, '-D: -V')) },
  pg_restore: {
    check: (call, shell) => {
      const read = readOptions(call.args, '-lv -F: -n: -t: --list --format: --schema: --table:');
      if (read.problems.length === 0 && has(read, '-l', '--list'))
        return read.operands.flatMap((file) => readsFile(file, shell));
      return [
        given(call, 'c', 'clean') && given(call, 'd', 'dbname')
          ? destroys('pg_restore --clean drops what is there')
          : changes('pg_restore fills a database'),
      ];
    },
  },
  pg_resetwal: admin(undefined, 'throws away the write-ahead log'),
};
