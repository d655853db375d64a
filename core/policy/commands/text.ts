/** Programs that print, filter and compare text. */
import { changes, shown } from '../model.ts';
import { readingTree } from '../paths.ts';
import { each, ids, reads } from './rules.ts';
import type { Table } from './rules.ts';
import { has } from './options.ts';

const GREP =
  '-EFGPivwxcloqshHnraIzLyTUZbR -e: -f:@ -m: -A: -B: -C: -d: -D: -# --extended-regexp --fixed-strings --basic-regexp --perl-regexp --regexp: --file:@ --ignore-case --no-ignore-case --invert-match --word-regexp --line-regexp --count --color? --colour? --files-without-match --files-with-matches --max-count: --only-matching --quiet --silent --no-messages --byte-offset --with-filename --no-filename --label: --line-number --initial-tab --unix-byte-offsets --null --after-context: --before-context: --context: --text --binary-files: --devices: --directories: --exclude: --exclude-from:@ --exclude-dir: --include: --recursive --dereference-recursive --line-buffered --binary --null-data --version --help';

/** Filters of text and files whose options are all harmless, so that words only known at run time may stand anywhere. */
export const text: Table = {
  cat: reads('-AbeEnstuTv --show-all --number-nonblank --show-ends --number --squeeze-blank --show-tabs --show-nonprinting --help --version', {
    operands: 'files',
    anyOption: true,
  }),
  ...each('head tail', reads('-n: -c: -qvzfFs: -# --lines: --bytes: --quiet --silent --verbose --zero-terminated --follow? --retry --pid: --sleep-interval: --max-unchanged-stats: --help --version', { operands: 'files', anyOption: true })),
  ...each('grep egrep fgrep zgrep', reads(GREP, {
    operands: 'files',
    anyOption: true,
    leading: (read) => (has(read, '-e', '-f', '--regexp', '--file') ? 0 : 1),
    also: (read, _call, shell) => {
      if (!has(read, '-r', '-R', '--recursive', '--dereference-recursive') || has(read, '-l', '-L', '-c', '-q', '--files-with-matches', '--files-without-match', '--count', '--quiet')) return [];
      const roots = read.operands.slice(has(read, '-e', '-f', '--regexp', '--file') ? 0 : 1);
      return roots.flatMap((root) => readingTree(root.value, shell.directories));
    },
  })),
  wc: reads('-clmwL --bytes --chars --lines --max-line-length --words --total: --files0-from:@ --help --version', { operands: 'files', anyOption: true, output: ids }),
  cut: reads('-b: -c: -d: -f: -ns -z --bytes: --characters: --delimiter: --fields: --complement --only-delimited --output-delimiter: --zero-terminated --help --version', { operands: 'files' }),
  tr: reads('-cCdst --complement --delete --squeeze-repeats --truncate-set1 --help --version'),
  sort: reads('-bdfghiMhnRrVcCmsuz -k: -t: -S: --ignore-leading-blanks --dictionary-order --ignore-case --general-numeric-sort --ignore-nonprinting --month-sort --human-numeric-sort --numeric-sort --random-sort --reverse --sort: --version-sort --check? --merge --key: --stable --buffer-size: --field-separator: --parallel: --unique --zero-terminated --debug --help --version', { operands: 'files' }),
  uniq: reads('-cdDiuz -f: -s: -w: --count --repeated --all-repeated? --skip-fields: --group? --ignore-case --skip-chars: --unique --zero-terminated --check-chars: --help --version', { operands: 'files', most: 1 }),
  nl: reads('-b: -d: -f: -h: -i: -l: -n: -p -s: -v: -w: --body-numbering: --number-format: --number-width: --number-separator: --help --version', { operands: 'files' }),
  tac: reads('-br -s: --before --regex --separator: --help --version', { operands: 'files', anyOption: true }),
  rev: reads('-hV --help --version', { operands: 'files', anyOption: true }),
  echo: reads('-neE', { anyOption: true }),
  printf: {
    check: (call) =>
      call.args[0] && (call.args[0].value.startsWith('-') && call.args[0].value !== '--' || call.args[0].value.startsWith('\0') || call.args[0].splits)
        ? [changes(`printf: ${shown(call.args[0])} may set a variable`)]
        : [],
  },
};
