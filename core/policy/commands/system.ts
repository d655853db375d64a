/** Programs that tell about the machine: processes, memory, users, kernel, clock. */
import { changes, destroys, isKnown, isOpen, shown } from '../model.ts';
import type { Check } from '../model.ts';
import { best, given, operandsOf, sure } from './lenient.ts';
import { has, readOptions, valuesOf } from './options.ts';
import { each, ids, numbers, onlyWith, problems, reads, readsFile, wrecks } from './rules.ts';
import type { Table } from './rules.ts';

const date: Check = (call, shell) => {
  const read = readOptions(
    call.args,
    '-uR -I? -d: -r: -f:@ --utc --universal --iso-8601? --rfc-email --rfc-3339: --date: --reference: --file:@ --debug --resolution --version --help',
    // `date -d '-7 days'` takes that for its value everywhere.
    { anyValue: true },
  );
  const sets = read.operands.filter(
    (arg) => !arg.value.startsWith('+') || (arg.splits && arg.holes.some(isOpen)),
  );
  return [
    ...problems('date', read),
    ...valuesOf(read, '-f', '--file').flatMap((file) => readsFile(file, shell)),
    ...sets.map((arg) => changes(`date sets the clock: ${shown(arg)}`)),
  ];
};

const hostname: Check = (call) => {
  const read = readOptions(
    call.args,
    '-aAdfiIsyv --alias --all-fqdns --domain --fqdn --long --ip-address --all-ip-addresses --short --yp --version --help',
  );
  return [
    ...problems('hostname', read),
    ...read.operands.map((arg) => changes(`hostname sets the name ${shown(arg)}`)),
  ];
};

const sysctl: Check = (call) => {
  const read = readOptions(
    call.args,
    '-aAXneNqbd -r: --all --ignore --names --values --quiet --binary --deprecated --pattern: --version --help',
  );
  const sets = read.operands.filter((arg) => arg.value.includes('=') || !isKnown(arg));
  return [...problems('sysctl', read), ...sets.map((arg) => changes(`sysctl sets ${shown(arg)}`))];
};

const dmesg = reads(
  '-HTxkueLtPprSdJ -l: -f: -s: -F:@ --level: --facility: --human --ctime --decode --kernel --userspace --color? --notime --nopager --raw --reltime --show-delta --since: --until: --time-format: --buffer-size: --json --syslog --version --help',
  { operands: 'none' },
);

/** Programs that restart or stop the machine; asking and calling off are harmless to the data. */
const stops: Check = (call) => {
  const words = call.args.map(best);
  if (call.name === 'shutdown' && words.some((word) => /^(-c|--cancel|--show)$/.test(word)))
    return [changes('shutdown -c calls a shutdown off')];
  if (words.some((word) => /^(--help|--version)$/.test(word))) return [];
  if (words.some((word) => /^(-w|--wtmp-only)$/.test(word)))
    return [changes(`${call.name} writes a record`)];
  return [destroys(`${call.name} stops or restarts the machine`)];
};

const init: Check = (call) => {
  const level = operandsOf(call).map(best)[0] ?? '';
  if (/^[016sS]$|^single$/.test(level))
    return [destroys(`${call.name} ${level} stops or restarts the machine`)];
  return [changes(`${call.name} changes the run level`)];
};

const crontab: Check = (call, shell) => {
  const read = readOptions(call.args, '-l -u:');
  if (has(read, '-l') && read.operands.length === 0) return problems('crontab', read);
  if (given(call, 'r')) return [destroys('crontab -r deletes the whole table')];
  return [
    changes('crontab sets commands to run later'),
    ...shell.suspect(
      call.input.texts.flatMap((text) =>
        text.split('\n').map((line) => line.replace(/^\s*(@\w+|(\S+\s+){5})/, '')),
      ),
    ),
  ];
};

const mount: Check = (call) => {
  const read = readOptions(call.args, '-lvVh -t: -O: --show-labels --types: --version --help');
  return read.operands.length > 0 || read.problems.length > 0
    ? [changes('mount attaches file systems')]
    : [];
};

const gone = (what: string): { check: Check } => ({
  check: (call) => [changes(`${call.name} ${what}: ${call.args.map(shown).join(' ')}`)],
});

export const system: Table = {
  nproc: reads('--all --ignore: --help --version', { operands: 'none', output: numbers }),
  ...each(
    'whoami logname tty arch',
    reads('-s --silent --quiet --all --ignore: --help --version', {
      operands: 'none',
      output: ids,
    }),
  ),
  hostname: { check: hostname, output: ids },
  dnsdomainname: reads('', { operands: 'none' }),
  hostid: reads('', { operands: 'none' }),
  uname: reads(
    '-asnrvmpio --all --kernel-name --nodename --kernel-release --kernel-version --machine --processor --hardware-platform --operating-system --help --version',
    { operands: 'none', output: ids },
  ),
  date: {
    check: date,
    output: (call) => {
      const formats = call.args.filter((arg) => arg.value.startsWith('+'));
      if (
        formats.length === 1 &&
        formats[0]?.value === '+%s' &&
        call.args.every((arg) => !arg.splits)
      )
        return numbers();
      return call.args.every(
        (arg) => !/[/ ]|^\+-|\0|%[-_0^#]*[0-9]*[DxntzhNE:+]|%%/.test(arg.value),
      )
        ? { kind: 'id' }
        : { kind: 'any' };
    },
  },
  ...each('cal ncal', reads('-1371yjmswhe -A: -B:  -n: --three --year --monday')),
  sysctl: { check: sysctl },
  dmesg,
  getconf: reads('-a -v:'),
  lscpu: reads(
    '-abceJpxyBCV -s: --all --online --offline --bytes --caches? --extended? --json --parse? --output-all --help --version',
    { operands: 'none' },
  ),
  ...each('lspci', reads('-vknmDPtxbq -s: -d: -i:@', { operands: 'none' })),
  lsusb: reads('-vt -s: -d:', { operands: 'none' }),
  lsmod: reads('', { operands: 'none' }),
  modinfo: reads(
    '-0adlpnV -F: -k: --field: --author --description --license --parameters --filename',
  ),
  ...each(
    'lsirq lsmem lsipc lslocks lsns lsfd',
    reads(
      '-abcefgJlnNOPrsTuUyz -o: -p: -t: -S: -i: --json --noheadings --output: --all --bytes --notruncate --raw --pid: --type: --list --task: --user-accs --system-accs --summary? --sort: --output-all',
    ),
  ),
  ipcs: reads('-mqsactplubh --human --shmems --queues --semaphores --all --limits --summary'),
  dmidecode: reads('-qu -t: -s: --type: --string: --quiet --no-sysfs --handle: --version', {
    operands: 'none',
  }),
  lshw: reads(
    '=short =json =html =xml =businfo =numeric =sanitize =quiet =class: =C: -C: -c: =disable: =enable:',
    { operands: 'none' },
  ),
  ...each(
    'hwinfo inxi',
    reads('-FbmxzCDGMNPSAIdiprsu --short --cpu --disk --memory --network --all', {
      operands: 'none',
    }),
  ),
  ...each('sensors', reads('-ufAjv -c:@ --json --no-adapter --version', { operands: 'names' })),
  getenforce: reads('', { operands: 'none' }),
  sestatus: reads('-vb', { operands: 'none' }),
  ...each(
    'aa-status apparmor_status',
    reads('--enabled --profiled --enforced --complaining --verbose --json --pretty-json', {
      operands: 'none',
    }),
  ),
  runlevel: reads('', { operands: 'none' }),
  swapon: onlyWith(
    '-svh --show? --summary --noheadings --raw --bytes --output-all',
    '-s',
    '--show',
    '--summary',
  ),
  crontab: { check: crontab },
  atq: reads('-q: -V'),
  mount: { check: mount },
  ...each('mountpoint', reads('-qdx --quiet --fs-devno --devno')),
  uuidgen: reads('-rt', { operands: 'none', output: ids }),
  mcookie: reads('', { operands: 'none' }),
  ...each(
    'printenv',
    reads('-0 --null', {
      also: (read) =>
        read.operands
          .filter((name) => /pass|secret|token|key|cred|auth|pwd|\0/i.test(name.value))
          .map((name) => changes(`printenv shows ${shown(name)}, which may be secret`)),
    }),
  ),
  ...each('locale', reads('-amck --all-locales --charmaps --keyword-name --category-name')),
  ...each('apropos whatis', reads('-aewrlL -s: --all --exact --long')),
  ...each('mailq', reads('', { operands: 'none' })),
  upsc: reads('-lLc'),
  ...each('shutdown reboot halt poweroff pm-suspend pm-hibernate systemctl-reboot', {
    check: stops,
  }),
  ...each('init telinit', { check: init }),
  kexec: {
    check: (call) => [
      given(call, 'e', 'exec')
        ? destroys('kexec starts another kernel at once')
        : changes('kexec loads a kernel'),
    ],
  },
  ...each(
    'modprobe insmod rmmod depmod kmod-load sysctl-apply update-initramfs update-grub grub-install grub-mkconfig dracut mkinitcpio',
    gone('changes the kernel or its boot'),
  ),
  ldconfig: onlyWith('-pN -v', '-p'),
  grubby: onlyWith(
    '--info: --default-kernel --default-index --default-title',
    '--info',
    '--default-kernel',
    '--default-index',
    '--default-title',
  ),
  ...each('umount swapoff losetup-d mkinitrd', gone('detaches file systems')),
  ...each(
    'logger wall write mesg sendmail mail mailx msmtp mutt',
    gone('sends or records a message'),
  ),
  ipmitool: {
    check: (call) => {
      const text = call.args.map(best).join(' ');
      if (/\b(power|chassis power)\s+(off|cycle|reset|soft)\b/.test(text))
        return [destroys(`ipmitool stops the machine: ${shown(text)}`)];
      return /^(sdr( type [\w ]+| entity [\d.]+| (list|elist)( (all|full|compact|event|mcloc|fru|generic))?)?|sensor( list)?|sel( (list|elist|info))?( (first|last) \d+)?|fru( print)?|lan print( \d+)?|chassis (status|power status)|power status|mc info|user list( \d+)?)( list| elist)?$/.test(
        sure(call),
      )
        ? []
        : [changes('ipmitool changes the hardware')];
    },
  },
  fwupdmgr: reads('--json --version', {
    also: (read) =>
      /^(get-devices|get-updates|get-history|get-remotes)$/.test(read.operands[0]?.value ?? '') ||
      has(read, '--version')
        ? []
        : [changes('fwupdmgr changes firmware')],
  }),
  debugfs: wrecks('edits a file system directly'),
};
