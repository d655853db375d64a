/** Programs that search text and structured data. */
import { changes, isKnown, shown } from '../model.ts';
import type { Arg, Check, Finding, Shell } from '../model.ts';
import { readingTree } from '../paths.ts';
import { has, readOptions, valuesOf } from './options.ts';
import type { Options } from './options.ts';
import { each, problems, reads, readsFile } from './rules.ts';
import type { Table } from './rules.ts';

const GREP =
  '-EFGPivwxcloqshHnraIzLyTUZbRV -e: -f:@ -m: -A: -B: -C: -d: -D: -# --extended-regexp --fixed-strings --basic-regexp --perl-regexp --regexp: --file:@ --ignore-case --no-ignore-case --invert-match --word-regexp --line-regexp --count --color? --colour? --files-without-match --files-with-matches --max-count: --only-matching --quiet --silent --no-messages --byte-offset --with-filename --no-filename --label: --line-number --initial-tab --unix-byte-offsets --null --after-context: --before-context: --context: --text --binary-files: --devices: --directories: --exclude: --exclude-from:@ --exclude-dir: --include: --recursive --dereference-recursive --line-buffered --binary --null-data --version --help';

const givenPattern = (read: Options): boolean => has(read, '-e', '-f', '--regexp', '--file');
const namesOnly = (read: Options): boolean =>
  has(
    read,
    '-l',
    '-L',
    '-c',
    '-q',
    '--files-with-matches',
    '--files-without-match',
    '--count',
    '--quiet',
    '--silent',
  );

/** `grep`: names, counts and answers give nothing away; lines of whole trees may. */
const grep: Check = (call, shell) => {
  const read = readOptions(call.args, GREP, { anyOptionHarmless: true });
  const files = read.operands.slice(givenPattern(read) ? 0 : 1);
  const recursive =
    has(read, '-r', '-R', '--recursive', '--dereference-recursive') || call.name === 'rgrep';
  const patterns = valuesOf(read, '-f', '--file').flatMap((file) => readsFile(file, shell));
  if (namesOnly(read)) {
    // Counts and answers give a key away line by line; names of files do not.
    const known = files.filter((file) => isKnown(file) && !recursive);
    const keys = known
      .flatMap((file) => readsFile(file, shell))
      .filter((finding) => finding.risk === 'destructive');
    return [...problems(call.name, read), ...patterns, ...keys];
  }
  const include = valuesOf(read, '--include').map((arg) => arg.value);
  return [
    ...problems(call.name, read),
    ...patterns,
    ...files.flatMap((file) => readsFile(file, shell)),
    ...(recursive ? files.flatMap((root) => treeFindings(root.value, include, shell)) : []),
  ];
};

function treeFindings(root: string, include: readonly string[], shell: Shell): Finding[] {
  return include.length === 0
    ? readingTree(root, shell.directories)
    : include.flatMap((name) => readingTree(root, shell.directories, name));
}

const ripgrep: Check = (call, shell) => {
  const read = readOptions(
    call.args,
    '-nNiSswxFvclopHIhLuUPaq0. -e: -f:@ -g: -t: -T: -m: -A: -B: -C: -d: -M: -r: -j: -E: --line-number --no-line-number --ignore-case --smart-case --case-sensitive --word-regexp --fixed-strings --invert-match --count --count-matches --files-with-matches --files-without-match --only-matching --hidden --no-ignore --no-heading --heading --color: --glob: --iglob: --type: --type-not: --max-count: --after-context: --before-context: --context: --max-depth: --files --stats --json --sort: --multiline --pcre2 --text --trim --no-messages --no-config --version --help',
  );
  const files = read.operands.slice(has(read, '-e', '-f', '--files') ? 0 : 1);
  const silent = has(
    read,
    '-l',
    '-c',
    '-q',
    '--files-with-matches',
    '--files-without-match',
    '--count',
    '--count-matches',
    '--files',
  );
  const roots = silent
    ? []
    : files.flatMap((root) => [
        ...readsFile(root, shell),
        ...readingTree(root.value, shell.directories),
      ]);
  return [...problems(call.name, read), ...roots];
};

/** `jq`: no program of it can write or run; options that take two values are joined first. */
const jq: Check = (call, shell) => {
  const words: Arg[] = [];
  const given: Arg[] = [];
  for (let at = 0; at < call.args.length; at++) {
    const word = call.args[at];
    if (word === undefined) continue;
    if (/^--(arg|argjson)$/.test(word.value)) at += 2;
    else if (/^--(slurpfile|rawfile)$/.test(word.value)) {
      const file = call.args[at + 2];
      if (file) given.push(file);
      at += 2;
    } else words.push(word);
  }
  const read = readOptions(
    words,
    '-rcMCSsnejaRV -f:@ -L: --raw-output --compact-output --monochrome-output --color-output --sort-keys --slurp --null-input --exit-status --join-output --ascii-output --raw-input --from-file:@ --tab --indent: --unbuffered --stream --stream-errors --seq --args --jsonargs --raw-output0 --version --help',
  );
  const files = [
    ...given,
    ...valuesOf(read, '-f', '--from-file'),
    ...read.operands.slice(has(read, '-f', '--from-file') ? 0 : 1),
  ];
  const shows = words.some((word) => /(^|[^.\w])(env|\$ENV)\b/.test(word.value));
  return [
    ...(shows ? [changes('jq shows the environment, which may hold secrets')] : []),
    ...problems('jq', read),
    ...files.flatMap((file) => readsFile(file, shell)),
  ];
};

const yq: Check = (call, shell) => {
  const words = /^(e|eval|ea|eval-all)$/.test(call.args[0]?.value ?? '')
    ? call.args.slice(1)
    : call.args;
  const read = readOptions(
    words,
    '-rPMCNnejyS -o: -p: -I: --prettyPrint --no-colors --colors --output-format: --input-format: --indent: --null-input --no-doc --exit-status --unwrapScalar? --raw-output --version --help',
  );
  const [program, ...files] = read.operands;
  const acts = program && /\b(load|env|strenv|envsubst|system|exec|eval)\b|\0/.test(program.value);
  return [
    ...problems('yq', read),
    ...(acts ? [changes(`yq: ${shown(program)} reads more than its input`)] : []),
    ...files.flatMap((file) => readsFile(file, shell)),
    ...(program && files.length === 0 && /^[/~.]*\/|\.ya?ml$/.test(program.value)
      ? readsFile(program, shell)
      : []),
  ];
};

export const search: Table = {
  ...each('grep egrep fgrep zgrep zegrep zfgrep bzgrep xzgrep rgrep', { check: grep }),
  ...each('rg', { check: ripgrep }),
  ...each('jq gojq jaq', { check: jq }),
  yq: { check: yq },
  xmllint: reads('--xpath: --format --noout --nonet --noblanks --valid --version', {
    operands: 'files',
  }),
};
