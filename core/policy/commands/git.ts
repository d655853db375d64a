/** git: its reading verbs, without the options that run programs, write files or change settings. */
import { changes, shown } from '../model.ts';
import type { Call, Check, Finding, Shell } from '../model.ts';
import { best } from './lenient.ts';
import { RO } from './git-reads.ts';
import { has, readOptions, valuesOf } from './options.ts';
import type { Options } from './options.ts';
import { dangerFindings, problems } from './rules.ts';
import type { Table } from './rules.ts';

/** Settings that may be given with `-c`: they only change how output looks. */
const SETTINGS =
  /^(core\.(quotepath|pager=(cat|)$|abbrev|fsmonitor=false$)|color\.\w+|log\.(date|decorate|abbrevcommit)|diff\.(renames|renamelimit|context|external=$)|advice\.\w+|status\.\w+|column\.\w+|pager\.\w+=(false|cat)$)/i;

/** Changes of git that throw work away for good. */
const DANGERS: readonly (readonly [RegExp, string])[] = [
  [
    /(^| )push .*(--mirror|--force|-f\b|--delete|(?<= )-d |(?<= )\+\w|(?<= ):\w|--prune)/,
    'overwrites or deletes what others have',
  ],
  [/(^| )checkout (.* )?(-\w*f\w*|--force|--|\.)( |$)/, 'discards changes'],
  [
    /(^| )(restore (?!.*--staged)|reset .*--hard|stash (drop|clear)|reflog (expire|delete)|update-ref .*-d|switch .*(-f|--discard-changes))/,
    'discards changes or commits',
  ],
  [/(^| )clean (?!.*(-\w*n|--dry-run)).*-\w*f/, 'deletes files that are not tracked'],
  [/(^| )(filter-branch|filter-repo|gc .*--prune=now)( |$)/, 'rewrites history'],
];

/** Verbs of git that run a command they are given. */
const RUNS = /^(bisect|rebase|submodule|filter-branch|difftool|mergetool|for-each-repo)$/;

const git: Check = (call, shell) => {
  const read = readOptions(
    call.args,
    '-C: -c: -P -v -h --no-pager --version --help --no-optional-locks --bare --literal-pathspecs --no-replace-objects --html-path --man-path --exec-path',
    { stopAtOperand: true },
  );
  const found = [...problems('git', read), ...settings(read, shell)];
  const [verb, ...rest] = read.operands;
  const name = verb?.value ?? '';
  const danger = dangerFindings(call, DANGERS);
  if (name !== '' && has(read, '--help', '-h'))
    found.push(changes('git --help shows a manual page'));
  const rule = Object.hasOwn(RO, name) ? RO[name] : undefined;
  const own = rule
    ? rule.check({ ...call, name: `git ${name}`.trim(), args: rest }, shell)
    : [changes(`git ${shown(name)} is not known to only read`)];
  return [...danger, ...found, ...own, ...(own.length > 0 ? runBy(name, call, shell) : [])];
};

/** Danger in the commands that some verbs and options of git are given to run. */
function runBy(name: string, call: Call, shell: Shell): Finding[] {
  const words = call.args.map(best);
  const texts = RUNS.test(name) ? [...words, words.slice(words.indexOf(name) + 2).join(' ')] : [];
  const options = call.args
    .map(best)
    .filter((word) =>
      /^--(upload-pack|receive-pack|exec|ext-diff|extcmd|cmd)|^-[xu]|^ext::/.test(word),
    )
    .map((word) => word.replace(/^[^= ]*[= ]|^ext::/, ''));
  return shell.suspect([...texts, ...options]);
}

function settings(read: Options, shell: Shell): Finding[] {
  return valuesOf(read, '-c')
    .filter((value) => !SETTINGS.test(value.value) || value.value.includes('\0'))
    .flatMap((value) => [
      changes(`git runs with the setting ${shown(value)}`),
      ...shell.suspect([value.value.replace(/^[^=]*=!?/, '')]),
    ]);
}

export const gitTable: Table = { git: { check: git, inert: true } };
