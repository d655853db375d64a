import { fail } from '../machine/command.ts';
import type { CommandIo, CommandTable, Said } from '../machine/command.ts';
import type { Machine } from '../machine/machine.ts';
import type { PackageSpec } from '../machine/packages.ts';
import { columns, options } from './text.ts';

/** Debian's package tools. */
export const aptCommands: CommandTable = {
  'apt-get': (args, io) => apt(args, io, 'apt-get'),
  apt: (args, io) => apt(args, io, 'apt'),
  aptitude: (args, io) => apt(args, io, 'aptitude'),
  'apt-cache': ([verb, name = ''], { machine }) =>
    verb === 'policy' ? policy(machine, name) : fail(100, `E: Invalid operation ${verb}`),
  'apt-mark': (args) =>
    args[0]?.startsWith('show') === true
      ? ''
      : args
          .slice(1)
          .map((name) => `${name} set.\n`)
          .join(''),
  dpkg: (args, { machine }) => dpkg(args, machine),
  'dpkg-query': (args, { machine }) =>
    dpkg(args.includes('-W') ? ['-W', ...args.filter((word) => word !== '-W')] : args, machine),
  needrestart: () => 'No services need to be restarted.\n',
  'unattended-upgrade': () => '',
};

const UPDATE_MS = 1_200;
const DOWNLOAD_MS = 300;
const UNPACK_MS = 250;
const SET_UP_MS = 350;

async function apt(args: readonly string[], io: CommandIo, program: string): Promise<Said> {
  const { machine } = io;
  const { has, rest } = options(args, ['-o', '--option', '-t', '--target-release', '-c']);
  const [verb, ...names] = rest;
  const warning =
    program === 'apt'
      ? '\nWARNING: apt does not have a stable CLI interface. Use with caution in scripts.\n\n'
      : '';
  switch (verb) {
    case 'update':
      return update(io, has('-q', '-qq', '--quiet'));
    case 'list': {
      const all = has('--upgradable')
        ? machine.packages
            .upgradable()
            .map(
              ({ name, from, to, spec }) =>
                `${name}/${suite(spec)} ${to} amd64 [upgradable from: ${from}]\n`,
            )
        : machine.packages
            .list()
            .map(({ name, version }) => `${name}/stable,now ${version} amd64 [installed]\n`);
      return { stdout: `Listing...\n${all.join('')}`, stderr: warning };
    }
    case 'upgrade':
    case 'dist-upgrade':
    case 'full-upgrade':
      return transact(
        io,
        machine.packages.upgradable(),
        has('-s', '--simulate', '--dry-run', '--just-print'),
        has('-y', '--yes', '--assume-yes'),
        [],
      );
    case 'install': {
      const chosen: Change[] = [];
      const fresh: PackageSpec[] = [];
      for (const given of names) {
        const name = given.replace(/=.*/, '');
        const spec = machine.packages.find(name);
        if (!spec) return fail(100, `E: Unable to locate package ${name}`);
        const change = machine.packages.upgradable().find((candidate) => candidate.name === name);
        if (change) chosen.push(change);
        else if (machine.packages.version(name) === undefined) fresh.push(spec);
      }
      return transact(
        io,
        chosen,
        has('-s', '--simulate', '--dry-run'),
        has('-y', '--yes', '--assume-yes'),
        has('--only-upgrade') ? [] : fresh,
      );
    }
    case 'remove':
    case 'purge': {
      const installed = names.filter((name) => machine.packages.version(name) !== undefined);
      const plan = `The following packages will be REMOVED:\n  ${installed.join(' ')}\n0 upgraded, 0 newly installed, ${installed.length} to remove.\n`;
      if (has('-s', '--simulate')) return plan + installed.map((name) => `Remv ${name}\n`).join('');
      if (!has('-y', '--yes', '--assume-yes'))
        return { stdout: `${PRELUDE}${plan}Do you want to continue? [Y/n] Abort.\n`, exitCode: 1 };
      io.show(PRELUDE + plan);
      for (const name of installed) {
        await io.pause(SET_UP_MS);
        io.show(`Removing ${name} (${machine.packages.version(name)}) ...\n`);
        machine.packages.remove(name);
      }
      return '';
    }
    case 'policy':
      return policy(machine, names[0] ?? '');
    case 'autoremove':
    case 'autoclean':
    case 'clean':
    case 'check':
      return verb === 'autoremove'
        ? `${PRELUDE}0 upgraded, 0 newly installed, 0 to remove and ${machine.packages.upgradable().length} not upgraded.\n`
        : '';
    case 'show': {
      const spec = machine.packages.find(names[0] ?? '');
      return spec
        ? `Package: ${spec.name}\nVersion: ${spec.candidate ?? spec.version}\nDescription: ${spec.description ?? spec.name}\n`
        : fail(100, 'N: Unable to locate package');
    }
    default:
      return fail(100, `E: Invalid operation ${verb ?? ''}`);
  }
}

type Change = ReturnType<Machine['packages']['upgradable']>[number];

const PRELUDE =
  'Reading package lists...\nBuilding dependency tree...\nReading state information...\n';

async function update(io: CommandIo, quiet: boolean): Promise<Said> {
  const { machine } = io;
  const release = machine.spec.os.includes('12') ? 'bookworm' : 'bullseye';
  const parts = [
    `${release} InRelease [151 kB]`,
    `${release}-updates InRelease [55.4 kB]`,
    `${release}-security InRelease [48.0 kB]`,
    `${release}-security/main amd64 Packages [212 kB]`,
  ];
  for (const [index, part] of parts.entries()) {
    await io.pause(UPDATE_MS / parts.length);
    if (io.signal.aborted) return { exitCode: 100 };
    if (!quiet) io.show(`Get:${index + 1} http://deb.example/debian ${part}\n`);
  }
  machine.packages.listsAtMs = Date.now();
  const count = machine.packages.upgradable().length;
  const found =
    count === 0
      ? 'All packages are up to date.'
      : `${count} package${count === 1 ? '' : 's'} can be upgraded. Run 'apt list --upgradable' to see them.`;
  return quiet ? '' : `Fetched 466 kB in 1s (388 kB/s)\n${PRELUDE}${found}\n`;
}

async function transact(
  io: CommandIo,
  changes: readonly Change[],
  simulate: boolean,
  yes: boolean,
  fresh: readonly PackageSpec[],
): Promise<Said> {
  const { machine } = io;
  const left = machine.packages.upgradable().length - changes.length;
  const counts = `${changes.length} upgraded, ${fresh.length} newly installed, 0 to remove and ${left} not upgraded.\n`;
  const lists =
    (fresh.length > 0
      ? `The following NEW packages will be installed:\n  ${fresh.map(({ name }) => name).join(' ')}\n`
      : '') +
    (changes.length > 0
      ? `The following packages will be upgraded:\n  ${changes.map(({ name }) => name).join(' ')}\n`
      : '');
  const steps = [
    ...changes.map(({ name, from, to, spec }) => ({ name, from, to, spec })),
    ...fresh.map((spec) => ({
      name: spec.name,
      from: undefined,
      to: spec.candidate ?? spec.version,
      spec,
    })),
  ];
  if (simulate) {
    const note = 'NOTE: This is only a simulation!\n';
    const lines = steps.flatMap(({ name, from, to, spec }) => [
      `Inst ${name} ${from === undefined ? '' : `[${from}] `}(${to} Debian:12/${suite(spec)} [amd64])\n`,
      `Conf ${name} (${to} Debian:12/${suite(spec)} [amd64])\n`,
    ]);
    return note + PRELUDE + lists + counts + lines.join('');
  }
  if (steps.length === 0) return PRELUDE + counts;
  const kib = steps.reduce((sum, { spec }) => sum + (spec.sizeKib ?? 300), 0);
  const need = `Need to get ${kib} kB of archives.\nAfter this operation, 12.3 kB of additional disk space will be used.\n`;
  if (!yes)
    return {
      stdout: `${PRELUDE}${lists}${counts}${need}Do you want to continue? [Y/n] Abort.\n`,
      exitCode: 1,
    };
  io.show(PRELUDE + lists + counts + need);
  for (const [index, { name, to, spec }] of steps.entries()) {
    await io.pause(DOWNLOAD_MS);
    if (io.signal.aborted) return { exitCode: 100 };
    io.show(
      `Get:${index + 1} http://deb.example/debian ${suite(spec)}/main amd64 ${name} amd64 ${to} [${spec.sizeKib ?? 300} kB]\n`,
    );
  }
  io.show(
    `Fetched ${kib} kB in 1s\n(Reading database ... 41260 files and directories currently installed.)\n`,
  );
  for (const { name, from, to } of steps) {
    await io.pause(UNPACK_MS);
    if (io.signal.aborted) return { exitCode: 100 };
    io.show(
      `Preparing to unpack .../${name}_${to}_amd64.deb ...\nUnpacking ${name} (${to})${from === undefined ? '' : ` over (${from})`} ...\n`,
    );
  }
  for (const { name, from, to, spec } of steps) {
    await io.pause(SET_UP_MS);
    if (io.signal.aborted) return { exitCode: 100 };
    if (from === undefined) machine.packages.install(spec);
    else machine.packages.upgrade(name);
    io.show(`Setting up ${name} (${to}) ...\n`);
    for (const unitName of spec.restarts ?? []) {
      const unit = machine.units.get(unitName);
      if (unit?.active === 'active') machine.setUnit(unit, 'active');
    }
  }
  return 'Processing triggers for man-db (2.11.2-2) ...\nProcessing triggers for libc-bin (2.36-9+deb12u9) ...\n';
}

function suite(spec: PackageSpec): string {
  return spec.security === true ? 'stable-security' : 'stable';
}

function policy(machine: Machine, name: string): Said {
  const spec = machine.packages.find(name);
  if (!spec) return '';
  const installed = machine.packages.version(name) ?? '(none)';
  return `${name}:\n  Installed: ${installed}\n  Candidate: ${spec.candidate ?? spec.version}\n`;
}

function dpkg(args: readonly string[], machine: Machine): Said {
  const { rest } = options(args, ['-f', '--showformat']);
  const all = machine.packages.list();
  const chosen =
    rest.length === 0
      ? all
      : all.filter(({ name }) =>
          rest.some((word) =>
            new RegExp(
              `^${word
                .replaceAll(/[^\w*.+-]/g, '')
                .replaceAll(/[.+]/g, '\\$&')
                .replaceAll('*', '.*')}$`,
            ).test(name),
          ),
        );
  if (args.includes('-l') || args.includes('--list')) {
    if (chosen.length === 0) return fail(1, `dpkg-query: no packages found matching ${rest[0]}`);
    return `Desired=Unknown/Install/Remove/Purge/Hold\n||/ Name Version Architecture Description\n${columns(chosen.map(({ name, version, spec }) => ['ii', name, version, 'amd64', spec.description ?? name]))}`;
  }
  if (args.includes('-s') || args.includes('--status')) {
    const [found] = chosen;
    return found && rest.length > 0
      ? `Package: ${found.name}\nStatus: install ok installed\nVersion: ${found.version}\n`
      : fail(
          1,
          `dpkg-query: package '${rest[0] ?? ''}' is not installed and no information is available`,
        );
  }
  if (args.includes('-W'))
    return chosen.map(({ name, version }) => `${name}\t${version}\n`).join('');
  if (args.includes('--configure') || args.includes('--audit') || args.includes('-C')) return '';
  if (args.includes('--print-architecture')) return 'amd64\n';
  return fail(
    2,
    'dpkg: error: this action is not part of the demo fleet; -l, -s, -W and --configure are',
  );
}
