/** Programs that print, filter and compare text. */
import { changes, endless, shown } from '../model.ts';
import type { Check } from '../model.ts';
import { overwriting, readingTree } from '../paths.ts';
import { operandsOf, sure } from './lenient.ts';
import { has, readOptions } from './options.ts';
import { each, numbers, problems, reads, readsFile } from './rules.ts';
import type { Table } from './rules.ts';

const tee: Check = (call, shell) => {
  const read = readOptions(call.args, '-aip --append --ignore-interrupts --output-error?');
  const files = read.operands.filter((file) => !/^\/dev\/(null|stderr|stdout)$/.test(file.value));
  const append = has(read, '-a', '--append');
  for (const file of files) shell.write(file.guess ?? file.value, call.input.texts);
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

/** Files that the kernel makes and in which nothing but one number stands. */
const KERNEL_NUMBER =
  /^\/sys\/class\/(thermal\/thermal_zone\d+\/temp|hwmon\/hwmon\d+\/(temp|fan|in|power)\d+_(input|average|max|crit)|net\/\w+\/(statistics\/\w+|mtu|speed)|power_supply\/\w+\/(capacity|energy_now|energy_full|charge_now|charge_full))$|^\/sys\/block\/\w+\/size$|^\/proc\/sys\/(kernel\/(pid_max|threads-max)|fs\/file-max|net\/netfilter\/nf_conntrack_(count|max))$/;

export const text: Table = {
  ...each(
    'cat tac',
    reads(`${CAT} -r --before --regex --separator:`, {
      operands: 'files',
      anyOption: true,
      output: (call) => (KERNEL_NUMBER.test(sure(call)) ? numbers() : { kind: 'any' }),
    }),
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
  wc: reads(
    '-clmwL --bytes --chars --lines --max-line-length --words --total: --files0-from:@ --help --version',
    {
      operands: 'files',
      anyOption: true,
      output: (call) =>
        operandsOf(call).length > 0 || call.args.some((arg) => arg.value.startsWith('--f'))
          ? { kind: 'any' }
          : /^(-[lwcmL]|--(lines|words|chars|bytes))$/.test(call.args[0]?.value ?? '') &&
              call.args.length === 1
            ? { kind: 'id', number: true }
            : { kind: 'id' },
    },
  ),
  cut: reads(
    '-b: -c: -d: -f: -nsz --bytes: --characters: --delimiter: --fields: --complement --only-delimited --output-delimiter: --zero-terminated --help --version',
    { operands: 'files', anyOption: true },
  ),
  tr: reads('-cCdst --complement --delete --squeeze-repeats --truncate-set1 --help --version', {
    anyOption: true,
    output: (call) =>
      /^-(dc|cd) (0-9|\[:digit:\]|\[0-9\])$/.test(call.args.map((arg) => arg.value).join(' '))
        ? { kind: 'id', number: true }
        : { kind: 'any' },
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
    'expand unexpand',
    reads('-ai -t: -# --initial --all --first-only --tabs: --help --version', {
      operands: 'files',
    }),
  ),
  ...each(
    'fold fmt pr',
    reads(
      '-bcdsutifmJnlTae -# -w: -h: -g: -p: --bytes --spaces --width: --tabs: --initial --all --first-only --help --version',
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
    'less zless more most pg',
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
  echo: { check: () => [] },
  printf: { check: printf },
  tee: { check: tee },
  basename: reads('-az -s: --multiple --suffix: --zero --help --version', {
    anyOption: true,
    output: () => ({ kind: 'name' }),
  }),
  dirname: reads('-z --zero --help --version', { anyOption: true }),
  seq: reads('-w -s: -f: --separator: --format: --equal-width --help --version', {
    output: (call) =>
      call.args.every((arg) => /^\d[\d.]*$/.test(arg.value))
        ? call.args.every((arg) => /^\d+$/.test(arg.value))
          ? { kind: 'id', number: true }
          : { kind: 'id' }
        : { kind: 'any' },
    also: (read) =>
      read.operands.every((arg) => /^[-+]?[\d.\0]+$/.test(arg.value))
        ? []
        : [endless('seq counts')],
  }),
  expr: { check: () => [] },
  factor: reads('-h --exponents --help --version'),
  bc: reads('-hilqsw --mathlib --quiet --standard --warn --version --help', { operands: 'files' }),
};
