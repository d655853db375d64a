/** Programs that pack and unpack: what they list, test or print reads. */
import { changes, destroys, shown } from '../model.ts';
import type { Check } from '../model.ts';
import { isDisk } from '../paths.ts';
import { operandsOf, targets } from './lenient.ts';
import { has, readOptions } from './options.ts';
import { each, problems, readsFile } from './rules.ts';
import type { Table } from './rules.ts';

const PACKER =
  '-cdkltfvnq -# -T: --stdout --to-stdout --decompress --uncompress --list --test --keep --force --verbose --quiet --no-name --best --fast --threads: --version --help';

/** gzip and its kin replace files, unless they print, list or test; without a file they are filters. */
const packer: Check = (call, shell) => {
  const read = readOptions(call.args, PACKER);
  const prints = has(
    read,
    '-c',
    '-l',
    '-t',
    '--stdout',
    '--to-stdout',
    '--list',
    '--test',
    '--version',
    '--help',
  );
  const found = [
    ...problems(call.name, read),
    ...read.operands.flatMap((file) => readsFile(file, shell)),
  ];
  return prints || read.operands.length === 0
    ? found
    : [
        ...found,
        changes(`${call.name} writes ${targets(call)}`),
        ...operandsOf(call)
          .filter((file) => isDisk(file.value))
          .map((file) => destroys(`${call.name} overwrites the device ${shown(file)}`)),
      ];
};

const unzip: Check = (call, shell) => {
  const read = readOptions(call.args, '-lvtZqCpc12hm');
  return has(read, '-l', '-v', '-t', '-Z', '-p', '-c')
    ? [...problems('unzip', read), ...read.operands.flatMap((member) => readsFile(member, shell))]
    : [changes('unzip unpacks files')];
};

/** 7z: `l` lists and `t` tests; all other verbs and switches write or may. */
const sevenZip: Check = (call, shell) => {
  const [verb, ...rest] = call.args;
  if (verb === undefined || !/^[lt]$/.test(verb.value))
    return [changes(`${call.name} ${shown(verb ?? '')} writes ${targets(call)}`)];
  const read = readOptions(rest, '=slt =ba =bd');
  return [
    ...problems(call.name, read),
    ...read.operands.flatMap((file) =>
      file.value.startsWith('@')
        ? [changes(`${call.name} reads its file names from ${shown(file)}`)]
        : readsFile(file, shell),
    ),
  ];
};

export const archives: Table = {
  ...each('gzip gunzip bzip2 bunzip2 xz unxz lzma unlzma zstd unzstd lz4', { check: packer }),
  unzip: { check: unzip },
  ...each('7z 7za 7zr', { check: sevenZip }),
};
