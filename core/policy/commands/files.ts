/** Programs that handle files and directories: listing them reads, the rest changes. */
import { changes, destroys, isKnown, shown } from '../model.ts';
import type { Call, Check, HoleKind } from '../model.ts';
import { isDisk, isSystemRoot, isVital, overwriting } from '../paths.ts';

import { best, given, operandsOf, sure, targets } from './lenient.ts';

import { each, numbers, reads, readsFile } from './rules.ts';
import type { Table } from './rules.ts';

const rm: Check = (call) => {
  if (given(call, 'rR', 'recursive'))
    return [destroys(`rm -r deletes recursively: ${targets(call)}`)];
  const operands = operandsOf(call);
  const device = operands.find((arg) => isDisk(best(arg)) || isVital(best(arg)));
  if (device) return [destroys(`${call.name} deletes ${shown(device)}, which the machine needs`)];
  const found = operands.find((arg) =>
    arg.holes.some(
      (hole) => hole.kind === 'paths' && hole.patterns.some((pattern) => pattern.includes('/**/')),
    ),
  );
  return found
    ? [destroys(`${call.name} deletes everything that find finds`)]
    : [changes(`${call.name} deletes ${targets(call)}`)];
};

const dd: Check = (call, shell) => {
  const to = call.args.find((arg) => /^(of|ofs|hof|hofs|wipe|hwipe)=/.test(best(arg)));
  const from = call.args.find((arg) => best(arg).startsWith('if='));
  const path = to ? best(to).replace(/^\w+=/, '') : '';
  const secret = from ? readsFile({ ...from, value: from.value.slice(3) }, shell) : [];
  if (to) shell.write(path, call.input.texts);
  const device =
    to &&
    (isDisk(path) ||
      to.value.includes('\0') ||
      /^\/dev\/(?!null$|zero$|stdout$|stderr$|fd\/)/.test(path));
  return [
    device
      ? destroys(`dd overwrites the device ${shown(path)}`)
      : to
        ? overwriting('dd', { ...to, value: to.value.replace(/^\w+=/, '') }, false)
        : changes('dd copies raw data'),
    ...secret.filter((finding) => finding.risk === 'destructive'),
  ];
};

/** True for what `find /etc` puts in: every path below a system directory, whatever its name. */
const everythingBelowARoot = (hole: HoleKind): boolean =>
  hole.kind === 'paths' &&
  hole.patterns.some(
    (pattern) => pattern.endsWith('/**/*') && isSystemRoot(pattern.slice(0, -5) || '/'),
  );

/** Changes of mode and owner: on whole system directories there is no way back. */
const owner: Check = (call, shell) => {
  const what = `${call.name} changes who may use ${targets(call)}`;
  const swept = call.args.find((arg) => arg.holes.some(everythingBelowARoot));
  if (swept) return [destroys(`${call.name} changes everything in a system directory`)];
  const closes = call.args.some((arg) =>
    /^0*[0-6]00$|^0+$|^[augo]*-[rw]*x[rw]*$|^[augo]*=$/.test(best(arg)),
  );
  const shut =
    closes && call.name === 'chmod'
      ? operandsOf(call).find((arg) => isSystemRoot(best(arg)))
      : undefined;
  if (shut) return [destroys(`chmod takes ${shown(shut)} away from everybody`)];
  if (!given(call, 'R', 'recursive')) return [changes(what)];
  const first =
    call.name === 'setfacl' || given(call, '', 'reference')
      ? 0
      : call.name === 'chattr'
        ? operandsOf(call).filter((arg) => /^[+=]/.test(best(arg))).length
        : 1;
  const here = [...shell.directories].some(isSystemRoot);
  const root = operandsOf(call).find(
    (arg, at) =>
      at >= first &&
      (isSystemRoot(best(arg)) || (here && /^(\.|\*|\.\/\*?|\$PWD|\.\/\.)$/.test(best(arg)))),
  );
  return [
    root
      ? destroys(`${call.name} -R changes a whole system directory: ${shown(root)}`)
      : changes(what),
  ];
};

const truncate: Check = (call) => {
  const operands = operandsOf(call);
  const empties = /(^| )(-s ?|--size[= ])0( |$)/.test(call.args.map(best).join(' '));
  if (empties && call.name === 'truncate') return [destroys(`truncate empties ${targets(call)}`)];
  const vital = operands.find((arg) => isDisk(best(arg)) || isVital(best(arg)));
  return [
    vital
      ? destroys(`${call.name} changes ${shown(vital)}, which the machine needs`)
      : changes(`${call.name} changes ${targets(call)}`),
  ];
};

const LS =
  '-aAbBcCdDfFgGhHiIklLmnNopqQrRsStTuUvwxXZ1 --all --almost-all --author --escape --block-size: --color? --directory --classify? --file-type --format: --full-time --group-directories-first --no-group --human-readable --si --dereference --hide: --hyperlink? --indicator-style: --inode --ignore: --kibibytes --literal --numeric-uid-gid --quote-name --quoting-style: --reverse --recursive --size --sort: --time: --time-style: --tabsize: --width: --context --zero --help --version';

/** What `ls` prints is file names only when it was given patterns for files, and no long format. */
function listed(call: Call): HoleKind {
  const operands = operandsOf(call);
  const plain =
    operands.length > 0 &&
    operands.every(
      (arg) => arg.glob && /^[/~].*[\w*]\.\w+[*\d.]*$/.test(arg.value) && arg.holes.length === 0,
    );
  if (given(call, 'lgnoRaAsi', 'recursive', 'format', 'all', 'almost-all', 'size', 'inode'))
    return { kind: 'any' };
  const kernel = operands.every((arg) => /^\/sys\/(class\/\w+|block)\/?$/.test(arg.value));
  if (kernel && operands.length === 1) return { kind: 'id' };
  if (plain) return { kind: 'paths', patterns: operands.map((arg) => arg.value) };
  return operands.length < 2 && operands.every(isKnown) && !given(call, 'd', 'directory')
    ? { kind: 'name' }
    : { kind: 'any' };
}

export const files: Table = {
  rm: { check: rm },
  unlink: { check: rm },
  dd: { check: dd },
  ...each('dcfldd dc3dd', { check: dd }),
  ...each('shred wipe srm scrub nwipe', {
    check: (call) => [destroys(`${call.name} overwrites ${targets(call)}`)],
  }),
  ...each('chmod chown chgrp setfacl chattr', { check: owner }),
  ...each('truncate fallocate', { check: truncate }),
  ...each('ls dir vdir', reads(LS, { anyOption: true, output: listed })),
  ...each(
    'stat',
    reads(
      '-Lft -c: --dereference --file-system --format: --printf: --terse --cached: --help --version',
      {
        anyOption: true,
        // Times, sizes and ids are whole numbers.
        output: (call) =>
          /^(-c ?|--format=)%[XYZsugahibBo]( [^\s\0-][^\s\0]*)*$/.test(sure(call))
            ? numbers()
            : { kind: 'any' },
      },
    ),
  ),
  ...each(
    'readlink realpath',
    reads(
      '-femnqsvzLP --canonicalize --canonicalize-existing --canonicalize-missing --no-newline --quiet --silent --verbose --zero --relative-to: --relative-base: --logical --physical --strip --no-symlinks --help --version',
      { anyOption: true },
    ),
  ),
  file: reads(
    '-bcdEhikLlNnprsSvzZ0 -e: -F: -m: -P: --brief --mime --mime-type --mime-encoding --dereference --no-dereference --keep-going --uncompress --version --help',
    { operands: 'names' },
  ),
  tree: reads(
    '-adflxqNQpsughDFvctUrSnCAiJX -L: -P: -I: --noreport --dirsfirst --du --si --prune --filelimit: --charset: --gitignore --metafirst --sort: --inodes --device --version --help',
    { anyOption: false },
  ),
  du: reads(
    '-0abcDhHklLmPsSx -B: -d: -t: -X: --null --all --apparent-size --block-size: --bytes --total --dereference-args --max-depth: --human-readable --inodes --dereference --count-links --no-dereference --separate-dirs --si --summarize --threshold: --time? --time-style: --exclude-from: --exclude: --one-file-system --files0-from:@ --help --version',
    { anyOption: true },
  ),
  ncdu: { check: () => [changes('ncdu is an interactive browser that can delete')] },
  df: reads(
    '-ahHiklmPTv -B: -t: -x: --all --block-size: --human-readable --si --inodes --local --no-sync --output? --portability --print-type --total --type: --exclude-type: --help --version',
    { anyOption: true },
  ),
  ...each('lsattr', reads('-RVadlpv')),
  getfacl: reads(
    '-aceEsRLPtpndn --access --default --omit-header --all-effective --no-effective --skip-base --recursive --logical --physical --tabular --numeric --absolute-names',
  ),
  getfattr: reads('-dhLPR -n: -m: -e: --dump --name: --match: --absolute-names --only-values'),
  namei: reads('-lmnovx --long --modes --owners --vertical --mountpoints --nosymlinks'),
  ...each('which', reads('-as', { output: () => ({ kind: 'paths', patterns: ['/usr/bin/*'] }) })),
  ...each('whereis', reads('-bmsul')),
  ...each(
    'locate plocate mlocate',
    reads(
      '-AbceiPprSw0 -d: -l: -n: --all --basename --count --existing --ignore-case --limit: --regexp --regex --statistics --wholename',
    ),
  ),
  zipinfo: reads('-12lsmvhtTzCM'),
  ...each('rmdir mkdir touch mktemp mknod mkfifo split csplit patch unrar unar uuencode', {
    check: (call) => [changes(`${call.name} writes ${targets(call)}`)],
  }),
};
