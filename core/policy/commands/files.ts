/** Programs that handle files and directories: listing them reads, the rest changes. */
import { changes, destroys, isKnown, shown } from '../model.ts';
import type { Call, Check, HoleKind } from '../model.ts';
import { isDisk, isKernelSwitch, isSystemRoot, isVital, overwriting, secrecyOf } from '../paths.ts';
import { sendsNames } from './hosts.ts';
import { best, given, operandsOf, targets } from './lenient.ts';
import { has, readOptions, valuesOf } from './options.ts';
import { each, problems, reads, readsFile } from './rules.ts';
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

/** Directories that hold private keys and little else. */
const KEY_STORES = /(^|\/)\.(ssh|gnupg)\/?$|^\/etc\/(ssl\/private|pve\/priv|wireguard)\/?$/;

/** Programs that write where their last operand says: onto a disk that destroys; reading a key to copy it gives it away. */
const copies: Check = (call, shell) => {
  const operands = operandsOf(call);
  const to = operands.at(-1);
  if (to)
    for (const from of operands.slice(0, -1)) shell.write(best(to), shell.written(best(from)));
  const targets = [
    ...(call.name === 'ddrescue' ? operands.slice(1) : operands.length > 1 && to ? [to] : []),
    ...(call.name === 'pv'
      ? call.args.filter((_, at) => /^-o$|^--output$/.test(call.args[at - 1]?.value ?? ''))
      : []),
  ];
  const emptied = operands.slice(0, -1).some((arg) => /^\/dev\/(null|zero)$/.test(best(arg)));
  const device = targets
    .filter(
      (arg) => isDisk(best(arg)) || isKernelSwitch(best(arg)) || (emptied && isVital(best(arg))),
    )
    .map((arg) => destroys(`${call.name} overwrites ${shown(arg)}`));
  const secrets = operands
    .slice(0, call.name === 'zip' ? operands.length : Math.max(1, operands.length - 1))
    .map((arg) => best(arg).replace(/^[\w-]*=?@|^[\w.-]+@?[\w.-]*:(?=[/~])/, ''))
    .filter(
      (path) =>
        secrecyOf(path) === 'key' ||
        KEY_STORES.test(path) ||
        (/^(scp|sftp|rclone|curl|socat|ftp|lftp|tftp|telnet|ncat)$/.test(call.name) &&
          secrecyOf(path) === 'secret'),
    );
  const vital =
    call.name === 'mv'
      ? operands.slice(0, -1).filter((arg) => isVital(best(arg)) || isSystemRoot(best(arg)))
      : [];
  return [
    ...device,
    changes(`${call.name} writes ${shown(to ?? 'files')}`),
    ...(call.name === 'mv' && to && best(to) === '/dev/null'
      ? [destroys('mv puts a file in the place of /dev/null')]
      : []),
    ...vital.map((arg) => destroys(`mv takes away ${shown(arg)}, which the machine needs`)),
    ...(call.name === 'mv'
      ? []
      : secrets.map((path) =>
          destroys(`${call.name} copies a private key or password file: ${shown(path)}`),
        )),
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

const rsync: Check = (call, shell) => {
  if (
    call.args.some((arg) => /^--(del(ete)?(-\w+)*|remove-source-files)$/.test(best(arg))) &&
    !given(call, 'n', 'dry-run')
  ) {
    return [destroys(`rsync deletes at its target: ${targets(call)}`), ...copies(call, shell)];
  }
  const read = readOptions(
    call.args,
    '-navzrlptgoDhicuxHAXSqPRIWb8 --dry-run --archive --verbose --compress --recursive --human-readable --itemize-changes --checksum --delete --delete-after --delete-excluded --exclude: --exclude-from:@ --include: --stats --progress --size-only --one-file-system --list-only --version --help',
  );
  const dry = has(read, '-n', '--dry-run', '--list-only', '--version', '--help');
  const remote = read.operands.some((arg) => /:/.test(arg.value));
  // A dry run against another machine asks it what it has, as ssh would.
  if (dry && read.problems.length === 0) return remote ? sendsNames('rsync', read.operands) : [];
  return dry && !remote
    ? problems('rsync', read)
    : [
        ...copies(call, shell),
        ...shell.suspect(call.args.map((arg) => best(arg).replace(/^--rsh=|^-e/, ''))),
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

const TEST_ARCHIVE =
  '-txOvzjJZap -f:@ -C: --extract --get --to-stdout --list --verbose --file:@ --gzip --bzip2 --xz --zstd --auto-compress --exclude: --wildcards --full-time --numeric-owner --strip-components: --version --help';

/** tar: only listing reads, and unpacking to the standard output. */
const tar: Check = (call, shell) => {
  const [first, ...rest] = call.args;
  const bundled =
    first && /^[a-zA-Z]+$/.test(first.value)
      ? [{ ...first, value: `-${first.value}` }, ...rest]
      : call.args;
  const read = readOptions(bundled, TEST_ARCHIVE);
  const unpacks = has(read, '-x', '--extract', '--get');
  const shows = unpacks
    ? has(read, '-O', '--to-stdout')
    : has(read, '-t', '--list', '--version', '--help');
  if (shows) {
    const remote = valuesOf(read, '-f', '--file').filter((file) => file.value.includes(':'));
    return [
      ...remote.map((file) => changes(`tar reads ${shown(file)} through another program`)),
      ...problems('tar', read),
      ...(unpacks ? read.operands.flatMap((member) => readsFile(member, shell)) : []),
      ...read.options.flatMap((option) =>
        option.reads && option.value ? readsFile(option.value, shell) : [],
      ),
    ];
  }
  const secrets = call.args
    .flatMap((arg) =>
      isKnown(arg) && !arg.value.startsWith('-') ? [...readsFile(arg, shell)] : [],
    )
    .filter((finding) => finding.risk === 'destructive');
  const stores = call.args.filter((arg) => KEY_STORES.test(best(arg)));
  const onto = call.args.find(
    (arg, at) => isDisk(best(arg)) && /^-?\w*f$|^--file$/.test(call.args[at - 1]?.value ?? ''),
  );
  return [
    ...(onto ? [destroys(`tar overwrites the device ${shown(onto)}`)] : []),
    changes('tar packs or unpacks files'),
    ...secrets,
    ...stores.map((arg) => destroys(`tar copies private keys: ${shown(arg)}`)),
    ...shell.suspect(call.args.map((arg) => best(arg).replace(/^[\w-]+=(exec=)?/, ''))),
  ];
};

export const files: Table = {
  rm: { check: rm },
  unlink: { check: rm },
  dd: { check: dd },
  ...each('dcfldd dc3dd', { check: dd }),
  ...each('shred wipe srm scrub nwipe', {
    check: (call) => [destroys(`${call.name} overwrites ${targets(call)}`)],
  }),
  ...each('chmod chown chgrp setfacl chattr', { check: owner }),
  ...each('cp mv install ln scp sftp pv ddrescue zip cpio openssl-enc socat telnet ftp lftp tftp', {
    check: copies,
  }),
  ...each('truncate fallocate', { check: truncate }),
  rsync: { check: rsync },
  tar: { check: tar },
  ...each('ls dir vdir', reads(LS, { anyOption: true, output: listed })),
  ...each(
    'stat',
    reads(
      '-Lft -c: --dereference --file-system --format: --printf: --terse --cached: --help --version',
      { anyOption: true, output: () => ({ kind: 'any' }) },
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
