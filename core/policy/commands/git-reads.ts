/** The verbs of git that read, and the options that leave them so. */
import { changes, isKnown, shown } from '../model.ts';
import type { Arg, Check, Finding, Rule, Shell } from '../model.ts';
import { sure } from './lenient.ts';
import { has, readOptions, valuesOf } from './options.ts';
import type { Options } from './options.ts';
import { problems, reads, readsFile } from './rules.ts';

const COMMIT =
  '-W -n: -L: -S: -G: -M? -C? -B? -U: -# -p -u -s -z -r -R -a -b -w -m -c -g -q -i -E -F -P -t --oneline --graph --all --branches? --tags? --remotes? --decorate? --no-decorate --stat? --shortstat --numstat --dirstat? --summary --name-only --name-status --patch --no-patch --raw --pretty? --format? --abbrev? --abbrev-commit --no-abbrev-commit --date? --since? --after? --until? --before? --author? --committer? --grep? --all-match --invert-grep --regexp-ignore-case --max-count? --skip? --merges --no-merges --first-parent --reverse --follow --diff-filter? --find-renames? --find-copies? --unified? --color? --no-color --word-diff? --color-words? --color-moved? --no-renames --full-index --binary --minimal --patience --histogram --diff-algorithm? --ignore-space-change --ignore-all-space --ignore-blank-lines --ignore-cr-at-eol --ignore-submodules? --submodule? --no-ext-diff --no-textconv --cached --staged --check --exit-code --quiet --relative? --no-prefix --src-prefix? --dst-prefix? --left-right --cherry-pick --cherry-mark --topo-order --date-order --author-date-order --simplify-by-decoration --ancestry-path --full-history --no-walk --source --notes? --no-notes --show-notes --encoding? --merge-base --no-index --text --function-context --compact-summary --patch-with-stat --cc --combined-all-paths --diff-merges? --remerge-diff --parents --children --boundary --walk-reflogs --not --glob? --exclude? --count --objects --no-color-moved --stat-width? --indent-heuristic --line-prefix? --inter-hunk-context? --pickaxe-regex --pickaxe-all --show-pulls --no-commit-id --root --always --log-size --clear-decorations --decorate-refs? --no-pager --max-parents? --min-parents? --expand-tabs? --no-expand-tabs --z';

/** Secrets that were committed: `git show HEAD:.env`, `git log -p -- server.key`. */
function storedSecrets(operands: readonly Arg[], shell: Shell): Finding[] {
  return operands
    .map((arg) => ({ ...arg, value: arg.value.replace(/^[^:]*:(?!\()/, '') }))
    .filter((arg) => isKnown({ ...arg, glob: false }) && /[./]/.test(arg.value))
    .flatMap((arg) => readsFile(arg, shell));
}

/** Formats that make git check signatures. */
const signatures = (read: Options): Finding[] =>
  valuesOf(read, '--format', '--sort')
    .filter((format) => /signature/.test(format.value))
    .map((format) => changes(`git runs gpg for ${shown(format)}`));

/** Placeholders that check signatures, for which git runs gpg. */
const history = (extra: (read: Options, shell: Shell) => Finding[] = () => []): Rule =>
  reads(COMMIT, {
    also: (read, _call, shell) => [
      ...valuesOf(read, '--format', '--pretty')
        .filter((format) => /%G/.test(format.value))
        .map((format) => changes(`git runs gpg for ${shown(format)}`)),
      ...storedSecrets(read.operands, shell),
      ...extra(read, shell),
    ],
  });

/** Only words of a listing: what would make, move or delete something is an operand or an option that is not in the list. */
const only = (spec: string, most: number): Rule => reads(spec, { most, operands: 'names' });

const BRANCH =
  '-a -r -v -l --all --remotes --verbose --list --show-current --merged? --no-merged? --contains? --no-contains? --sort: --format: --points-at: --column? --no-column --color? --no-color --abbrev? --no-abbrev -i --ignore-case';

/** `git branch` and `git tag` make something when they get a name and no listing option. */
const listing = (spec: string, ...needed: string[]): Rule =>
  reads(spec, {
    also: (read) => [
      ...signatures(read),
      ...(read.operands.length > 0 && !has(read, ...needed)
        ? [changes(`git makes or moves ${shown(read.operands[0] ?? '')}`)]
        : []),
    ],
  });

const verbTable = (table: Readonly<Record<string, Rule>>): Rule => ({
  check: (call, shell) => {
    const [verb, ...rest] = call.args;
    const rule = table[verb === undefined ? '' : verb.value];
    return rule
      ? rule.check({ ...call, name: `${call.name} ${verb?.value ?? ''}`, args: rest }, shell)
      : [changes(`${call.name} ${shown(verb ?? '')} is not known to only read`)];
  },
});

const config: Rule = {
  check: (call) => {
    const words =
      call.args[0]?.value === 'get' || call.args[0]?.value === 'list'
        ? call.args.slice(1)
        : call.args;
    const read = readOptions(
      words,
      '-lz -f:@ --list --get --get-all --get-regexp --get-urlmatch --global --system --local --worktree --file:@ --type: --bool --int --path --show-origin --show-scope --name-only --null --includes --no-includes --default: --all --regexp --url:',
    );
    const asks =
      words !== call.args ||
      has(read, '-l', '--list', '--get', '--get-all', '--get-regexp', '--get-urlmatch') ||
      read.operands.length === 1;
    const lists =
      has(read, '--get-urlmatch') ||
      read.operands.some((name) => /pass|token|secret|extraheader|^[.^*$+]*$/i.test(name.value));
    const secret =
      lists && !has(read, '--name-only')
        ? [changes('git config may show passwords and tokens')]
        : [];
    return [
      ...problems(call.name, read),
      ...secret,
      ...(asks &&
      read.operands.length < 3 &&
      !/^(edit|set|unset|(rename|remove)-section)$/.test(read.operands[0]?.value ?? '')
        ? []
        : [changes('git config sets a value')]),
    ];
  },
};

const remoteName = (call: Parameters<Check>[0]): Finding[] =>
  call.args
    .filter((arg) => /::|^-u|upload-pack|^--exec|\0/.test(arg.value))
    .map((arg) => changes(`git: ${shown(arg)} may run a program`));

/** git's verbs that read, with their options. */
export const RO: Readonly<Record<string, Rule>> = {
  status: reads(
    '-s -b -u? -v -z --short --branch --porcelain? --long --verbose --untracked-files? --ignored? --ignore-submodules? --column? --no-column --show-stash --ahead-behind --no-ahead-behind --renames --no-renames --find-renames?',
  ),
  log: history(),
  show: history(),
  whatchanged: history(),
  diff: history((read, shell) =>
    has(read, '--no-index') ? read.operands.flatMap((file) => readsFile(file, shell)) : [],
  ),
  'diff-tree': history(),
  'diff-index': history(),
  'diff-files': history(),
  'range-diff': history(),
  'rev-list': history(),
  reflog: {
    check: (call, shell) =>
      /^(expire|delete|drop)$/.test(call.args[0]?.value ?? '')
        ? [changes('git reflog deletes entries')]
        : history().check(call, shell),
  },
  shortlog: reads(
    '-s -n -e -c -w? --summary --numbered --email --group: --all --no-merges --since? --until? --author? --format?',
  ),
  branch: listing(
    BRANCH,
    '-l',
    '--list',
    '--contains',
    '--no-contains',
    '--merged',
    '--no-merged',
    '-a',
    '-r',
    '--all',
    '--remotes',
    '--points-at',
  ),
  tag: listing(
    '-l -n? --list --sort: --contains? --no-contains? --merged? --no-merged? --points-at: --format: --column? -i --ignore-case --color?',
    '-l',
    '--list',
    '-n',
    '--contains',
    '--merged',
    '--no-merged',
    '--points-at',
  ),
  remote: {
    check: (call) => {
      const text = sure(call);
      return /^(-v|--verbose)?$/.test(text) ||
        /^(-v )?(show( -n)?|get-url( --all| --push)?)( [\w./-]+)?$/.test(text)
        ? []
        : [changes(`git remote ${shown(text)} changes the remotes`)];
    },
  },
  'rev-parse': reads(
    '-q --short? --abbrev-ref? --verify --show-toplevel --git-dir --absolute-git-dir --is-inside-work-tree --is-bare-repository --show-prefix --show-cdup --symbolic --symbolic-full-name --all --branches? --tags? --quiet --git-common-dir --show-superproject-working-tree --is-shallow-repository --is-inside-git-dir',
  ),
  'ls-files': reads(
    '-c -d -m -o -i -s -u -k -z -t -v -f -x: --cached --deleted --modified --others --ignored --stage --unmerged --killed --exclude-standard --exclude: --error-unmatch --full-name --abbrev? --eol --directory --format: --recurse-submodules',
  ),
  'ls-tree': reads(
    '-d -r -t -l -z --long --name-only --name-status --full-name --full-tree --abbrev? --format: --object-only',
  ),
  'ls-remote': reads(
    '-h -t -q --heads --tags --refs --quiet --exit-code --get-url --sort: --symref --branches',
    { also: (_read, call) => remoteName(call) },
  ),
  describe: reads(
    '--all --tags --contains --abbrev? --candidates: --exact-match --debug --long --match: --exclude: --always --first-parent --dirty? --broken?',
  ),
  blame: reads(
    '-b -l -t -f -n -s -e -w -p -c -L: -M? -C? --root --show-stats --porcelain --line-porcelain --incremental --date: --since: --abbrev: --show-name --show-number --show-email --ignore-rev: --color-lines --color-by-age',
  ),
  annotate: reads('-l -s -L:'),
  grep: reads(
    '-n -i -I -v -w -E -F -G -P -h -H -l -L -c -q -r -p -W -a -e: -A: -B: -C: -f:@ -# --cached --untracked --no-index --line-number --column --ignore-case --count --files-with-matches --name-only --heading --break --show-function --function-context --context: --and --or --not --all-match --max-depth: --recurse-submodules --color? --threads: --only-matching -o --quiet',
    {
      also: (read, _call, shell) => [
        ...(has(read, '--no-index') ? read.operands.flatMap((file) => readsFile(file, shell)) : []),
        ...storedSecrets(read.operands.slice(1), shell),
      ],
    },
  ),
  'cat-file': reads('-p -t -s -e --batch-check? --batch-all-objects', {
    also: (read, _call, shell) => storedSecrets(read.operands, shell),
  }),
  clean: reads('-n -d -x -X -q -e: --dry-run --quiet --exclude:', {
    also: (read) => (has(read, '-n', '--dry-run') ? [] : [changes('git clean deletes files')]),
  }),
  fsck: reads(
    '-v --full --strict --connectivity-only --unreachable --dangling --no-dangling --root --tags --no-progress --progress --name-objects',
  ),
  'count-objects': reads('-v -H --verbose --human-readable'),
  'for-each-ref': reads(
    '--count: --sort: --format: --points-at: --merged? --no-merged? --contains? --no-contains? --ignore-case --omit-empty',
    { also: signatures },
  ),
  'show-ref': reads(
    '-q -s -d --head --heads --tags --branches --dereference --hash? --verify --abbrev? --quiet',
  ),
  'symbolic-ref': only('-q --short --quiet', 1),
  'name-rev': reads('--tags --refs: --all --name-only --always'),
  'merge-base': reads('-a --all --octopus --independent --is-ancestor --fork-point'),
  cherry: reads('-v --abbrev?'),
  'check-ignore': reads('-q -v -n --quiet --verbose --no-index --non-matching'),
  'check-attr': reads('-a --all --cached'),
  'verify-pack': reads('-v -s --verbose --stat-only'),
  stash: verbTable({ list: history(), show: history() }),
  worktree: verbTable({ list: reads('-v -z --verbose --porcelain --expire:') }),
  submodule: verbTable({
    status: reads('--cached --recursive --quiet'),
    summary: reads('--cached --files'),
    '': reads(''),
  }),
  notes: verbTable({ list: reads(''), show: reads(''), '': reads('') }),
  bisect: verbTable({ log: reads('') }),
  config,
  version: reads('--build-options'),
  help: reads('-a -g --all --guides', { operands: 'none' }),
  '': reads(''),
};
