/** Programs that copy, send and pack files: what they write over, and whose secrets they take along. */
import { changes, destroys, isKnown, shown } from '../model.ts';
import type { Check } from '../model.ts';
import { isDisk, isKernelSwitch, isSystemRoot, isVital } from '../paths.ts';
import { secrecyOf } from '../secrets.ts';
import { sendsNames } from './hosts.ts';
import { asksHaproxy } from './network.ts';
import { best, given, operandsOf, targets } from './lenient.ts';
import { has, readOptions, valuesOf } from './options.ts';
import { each, problems, readsFile } from './rules.ts';
import type { Table } from './rules.ts';

/** Directories that hold private keys and little else. */
const KEY_STORES = /(^|\/)\.(ssh|gnupg)\/?$|^\/etc\/(ssl\/private|pve\/priv|wireguard)\/?$/;

/** Programs that write where their last operand says: onto a disk that destroys; reading a key to copy it gives it away. */
/** Programs that copy: what they overwrite and what they give away. */
export const copies: Check = (call, shell) => {
  if (call.name === 'socat' && asksHaproxy(call)) return [];
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

export const copying: Table = {
  ...each('cp mv install ln scp sftp pv ddrescue zip openssl-enc socat telnet ftp lftp tftp', {
    check: copies,
  }),
  rsync: { check: rsync },
  tar: { check: tar },
};
