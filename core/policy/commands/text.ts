/** Programs that print, filter and compare text. */
import { changes, endless, shown } from '../model.ts';
import type { Arg, Check, Finding, Shell } from '../model.ts';
import { overwriting, readingTree } from '../paths.ts';
import { has, readOptions, valuesOf } from './options.ts';
import type { Options } from './options.ts';
import { each, ids, problems, reads, readsFile } from './rules.ts';
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
  if (namesOnly(read)) return [...problems(call.name, read), ...patterns];
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
  return [...problems('jq', read), ...files.flatMap((file) => readsFile(file, shell))];
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

const tee: Check = (call) => {
  const read = readOptions(call.args, '-aip --append --ignore-interrupts --output-error?');
  const files = read.operands.filter((file) => !/^\/dev\/(null|stderr|stdout)$/.test(file.value));
  const append = has(read, '-a', '--append');
  return [...problems('tee', read), ...files.map((file) => overwriting('tee', file, append))];
};

/** `tail -f` follows for ever, however it is spelled (`-5f`, `-fn 10`, `-F`). */
const tail: Check = (call, shell) => {
  const read = readOptions(
    call.args,
    '-n: -c: -qvzfF -s: -# --lines: --bytes: --quiet --silent --verbose --zero-terminated --follow? --retry --pid: --sleep-interval: --help --version',
  );
  const old = call.args.some((arg) => /^[-+]\d+[a-zA-Z]*[fF]/.test(arg.value));
  const follows =
    old || has(read, '-f', '-F', '--follow', '--retry') ? [endless('tail follows a file')] : [];
  return [
    ...follows,
    ...problems('tail', read),
    ...read.operands.flatMap((file) => readsFile(file, shell)),
  ];
};

const printf: Check = (call) => {
  const [format] = call.args;
  const option =
    format &&
    ((format.value.startsWith('-') && format.value !== '--') ||
      format.value.startsWith('\0') ||
      format.splits);
  return option ? [changes(`printf: ${shown(format)} may set a variable`)] : [];
};

const SUM =
  '-bctwz --binary --check --tag --text --zero --ignore-missing --quiet --status --strict --warn --help --version';
const PAGER = '-nNSRrFXKMmiIeEgsqQ -# --version --help';
const CAT =
  '-AbeEnstuTvf --show-all --number-nonblank --show-ends --number --squeeze-blank --show-tabs --show-nonprinting --help --version';

export const text: Table = {
  ...each(
    'cat tac',
    reads(`${CAT} -r --before --regex --separator:`, { operands: 'files', anyOption: true }),
  ),
  ...each(
    'zcat bzcat xzcat zstdcat lz4cat lzcat gzcat',
    reads('-fqv --force --quiet', { operands: 'files' }),
  ),
  head: reads(
    '-n: -c: -qvz -# --lines: --bytes: --quiet --silent --verbose --zero-terminated --help --version',
    { operands: 'files', anyOption: true },
  ),
  tail: { check: tail },
  ...each('grep egrep fgrep zgrep zegrep zfgrep bzgrep xzgrep rgrep', { check: grep }),
  ...each('rg', { check: ripgrep }),
  wc: reads(
    '-clmwL --bytes --chars --lines --max-line-length --words --total: --files0-from:@ --help --version',
    { operands: 'files', anyOption: true, output: ids },
  ),
  cut: reads(
    '-b: -c: -d: -f: -nsz --bytes: --characters: --delimiter: --fields: --complement --only-delimited --output-delimiter: --zero-terminated --help --version',
    { operands: 'files', anyOption: true },
  ),
  tr: reads('-cCdst --complement --delete --squeeze-repeats --truncate-set1 --help --version', {
    anyOption: true,
  }),
  sort: reads(
    '-bdfghiMnRrVcCmsuz -k: -t: -S: --ignore-leading-blanks --dictionary-order --ignore-case --general-numeric-sort --ignore-nonprinting --month-sort --human-numeric-sort --numeric-sort --random-sort --reverse --sort: --version-sort --check? --merge --key: --stable --buffer-size: --field-separator: --parallel: --unique --zero-terminated --debug --help --version',
    { operands: 'files' },
  ),
  uniq: reads(
    '-cdDiuz -f: -s: -w: --count --repeated --all-repeated? --skip-fields: --group? --ignore-case --skip-chars: --unique --zero-terminated --check-chars: --help --version',
    { operands: 'files', most: 1 },
  ),
  nl: reads(
    '-b: -d: -f: -h: -i: -l: -n: -p -s: -v: -w: --body-numbering: --number-format: --number-width: --number-separator: --help --version',
    { operands: 'files', anyOption: true },
  ),
  rev: reads('-hV --help --version', { operands: 'files', anyOption: true }),
  ...each(
    'fold fmt expand unexpand pr',
    reads(
      '-bcdsutifmJnlTae -w: -h: -g: -p: --bytes --spaces --width: --tabs: --initial --all --first-only --help --version',
      { operands: 'files' },
    ),
  ),
  paste: reads('-sz -d: --delimiters: --serial --zero-terminated --help --version', {
    operands: 'files',
  }),
  join: reads(
    '-iz -a: -e: -j: -o: -t: -v: -1: -2: --check-order --nocheck-order --header --ignore-case',
    { operands: 'files' },
  ),
  comm: reads(
    '-123z --check-order --nocheck-order --output-delimiter: --total --zero-terminated --help --version',
    { operands: 'files' },
  ),
  cmp: reads(
    '-bls -n: -i: --print-bytes --verbose --quiet --silent --bytes: --ignore-initial: --help --version',
    { operands: 'files' },
  ),
  ...each(
    'diff colordiff',
    reads(
      '-uUcCeyqsrNiEZbwBatTlpdnv -U: -C: -W: -I: -x: -X:@ -F: -L: -# --unified? --context? --side-by-side --brief --report-identical-files --recursive --new-file --ignore-case --ignore-all-space --ignore-space-change --ignore-blank-lines --ignore-trailing-space --ignore-matching-lines: --strip-trailing-cr --text --color? --suppress-common-lines --width: --exclude: --no-dereference --minimal --label: --help --version',
      {
        operands: 'files',
        also: (read, _call, shell) =>
          has(read, '-r', '--recursive')
            ? read.operands.flatMap((root) => readingTree(root.value, shell.directories))
            : [],
      },
    ),
  ),
  column: reads(
    '-tenxJLd -R: -s: -o: -c: -N: -H: -T: -W: -O: -r: -i: -l: --table --separator: --output-separator: --output-width: --json --table-columns: --table-right: --table-noheadings --help --version',
    { operands: 'files' },
  ),
  ...each(
    'od hexdump hd',
    reads(
      '-abcdfhilosxvCz -A: -j: -N: -S? -t: -w? -e: -n: -L --canonical --length: --skip: --address-radix: --format: --read-bytes: --skip-bytes: --help --version',
      { operands: 'files' },
    ),
  ),
  xxd: reads('-abEeipurhv -c: -g: -l: -o: -s: -n: =ps =plain =revert =len: =seek: =cols:', {
    operands: 'files',
    most: 1,
  }),
  strings: reads('-afowtd -n: -t: -e: -# --all --bytes: --radix: --encoding: --help --version', {
    operands: 'files',
  }),
  ...each(
    'base64 base32 basenc',
    reads(
      '-di -w: --decode --ignore-garbage --wrap: --base64 --base64url --base32 --base16 --help --version',
      { operands: 'files' },
    ),
  ),
  ...each(
    'md5sum sha1sum sha224sum sha256sum sha384sum sha512sum b2sum cksum sum shasum',
    reads(`${SUM} -a: -l: -rs --algorithm: --length: --untagged --raw --base64 --sysv`, {
      operands: 'files',
    }),
  ),
  iconv: reads('-cls -f: -t: --from-code: --to-code: --list --silent', { operands: 'files' }),
  numfmt: reads(
    '-z -d: --from: --to: --from-unit: --to-unit: --suffix: --padding: --field: --format: --header? --grouping --invalid: --round: --delimiter: --debug',
  ),
  shuf: reads('-erz -i: -n: --echo --input-range: --head-count: --repeat --zero-terminated', {
    operands: 'files',
  }),
  tsort: reads('', { operands: 'files', most: 1 }),
  look: reads('-abdf -t:', { operands: 'files', leading: 1 }),
  ...each(
    'less more most pg',
    reads(PAGER, {
      operands: 'files',
      also: (read) =>
        read.operands
          .filter((arg) => arg.value.startsWith('+'))
          .map((arg) => changes(`a pager command: ${shown(arg)}`)),
    }),
  ),
  ...each(
    'bat batcat',
    reads(
      '-pnAu -l: -r: -H: --plain --paging: --style: --language: --line-range: --color: --theme: --number --show-all --version --help',
      { operands: 'files' },
    ),
  ),
  ...each('jq gojq jaq', { check: jq }),
  yq: { check: yq },
  xmllint: reads('--xpath: --format --noout --nonet --noblanks --valid --version', {
    operands: 'files',
  }),
  echo: { check: () => [] },
  printf: { check: printf },
  tee: { check: tee },
  ...each(
    'basename dirname',
    reads('-az -s: --multiple --suffix: --zero --help --version', { output: ids }),
  ),
  seq: reads('-w -s: -f: --separator: --format: --equal-width --help --version', {
    output: ids,
    also: (read) =>
      read.operands.every((arg) => /^[-+]?[\d.\0]+$/.test(arg.value))
        ? []
        : [endless('seq counts')],
  }),
  expr: { check: () => [], output: ids },
  factor: reads('-h --exponents --help --version'),
  bc: reads('-hilqsw --mathlib --quiet --standard --warn --version --help', { operands: 'files' }),
};
