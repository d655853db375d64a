/** Programs that tell about the machine: processes, memory, users, kernel, clock. */
import { changes, destroys, endless, isKnown, shown } from '../model.ts';
import type { Call, Check, Finding } from '../model.ts';
import { best, given, operandsOf } from './lenient.ts';
import { has, readOptions, valuesOf } from './options.ts';
import type { Options } from './options.ts';
import { each, ids, mutates, problems, reads, wrecks, readsFile } from './rules.ts';
import type { Table } from './rules.ts';

/** ps takes options of three styles; all only look, but `e` shows environments, which hold secrets. */
const ps: Check = (call) => {
  const found: Finding[] = [];
  for (let at = 0; at < call.args.length; at++) {
    const arg = call.args[at];
    if (arg === undefined) continue;
    const word = arg.value;
    const before = call.args[at - 1]?.value ?? '';
    const format = /(^|[^-])-?[a-zA-Z]*o$|^--?(format|o)$/.test(before) && !/^--sort/.test(before);
    if (/environ/i.test(word) && (format || /^(-o|--format|o)/.test(word)))
      found.push(changes('ps shows environments, which may hold secrets'));
    const value =
      /^-[a-zA-Z]*[CGOopqstUugkN]$|^--(ppid|pid|sort|user|User|group|Group|tty|format|cols|width|rows|deselect|headers)$|^[opOUkt]$/.test(
        before,
      );
    if (!value && /^[a-zA-Z]*e[a-zA-Z]*$/.test(word))
      found.push(changes('ps e shows environments, which may hold secrets'));
    if (!isKnown(arg) && arg.holes.some((hole) => hole.kind === 'any')) {
      if (!value || arg.splits) found.push(changes(`ps: ${shown(arg)} is only known at run time`));
    }
  }
  return found;
};

const date: Check = (call, shell) => {
  const read = readOptions(
    call.args,
    '-uR -I? -d: -r: -f:@ --utc --universal --iso-8601? --rfc-email --rfc-3339: --date: --reference: --file:@ --debug --resolution --version --help',
  );
  const sets = read.operands.filter(
    (arg) =>
      !arg.value.startsWith('+') || (arg.splits && arg.holes.some((hole) => hole.kind === 'any')),
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

const getent: Check = (call) => {
  const read = readOptions(call.args, '-i -s: --no-idn --service: --version --help');
  const database = read.operands[0]?.value ?? '';
  if (/^g?shadow$/.test(database)) return [destroys('getent shadow reads password hashes')];
  return [
    ...problems('getent', read),
    ...(/\0/.test(database) ? [changes('getent: the database is only known at run time')] : []),
  ];
};

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

const top: Check = (call) => {
  const read = readOptions(
    call.args,
    '-bcHiSs1 -n: -d: -o: -p: -u: -U: -w? -E: -e: --help --version',
  );
  const ends = has(read, '-n', '--help', '--version') ? [] : [endless('top repeats')];
  return [
    ...ends,
    ...problems('top', read),
    ...read.operands.map((arg) => changes(`top: ${shown(arg)} is not understood`)),
  ];
};

/** An interval without a count repeats for ever. */
export const counted = (read: Options, call: Call): Finding[] => {
  const numbers = read.operands.filter(
    (arg) => /^[\d.]+$/.test(arg.value) || arg.value.includes('\0'),
  );
  return numbers.length === 1 ? [endless(`${call.name} repeats`)] : [];
};

const fuser: Check = (call) =>
  problems(
    'fuser',
    readOptions(call.args, '-acmMuvV46 -n: --all --mount --namespace: --user --verbose'),
  );

/** An administrator's account that is locked or loses its shell keeps everyone out. */
const rootLocked = (call: Call): Finding[] => {
  const text = call.args.map(best).join(' ');
  const locks =
    /(^| )(-L|--lock|-l|-e ?(1|0)|-d|--delete|(-s|--shell)[= ]?\S*(nologin|false))( |$)/.test(text);
  return locks && /(^| )root$/.test(text)
    ? [destroys(`${call.name} locks the administrator out: ${shown(text)}`)]
    : [];
};

const chage = reads('-li --list --iso8601 --help', {
  also: (read) => (has(read, '-l', '--list') ? [] : [changes('chage changes an account')]),
});
const passwd = reads('-Sa --status --all', {
  also: (read, call) =>
    has(read, '-S', '--status') ? [] : [...rootLocked(call), changes('passwd changes an account')],
});
const onlyWith = (spec: string, ...needed: string[]): { check: Check } =>
  reads(spec, {
    also: (read, call) =>
      has(read, ...needed)
        ? []
        : [changes(`${call.name} without ${needed.join(' or ')} is not known to only read`)],
  });

const gone = (what: string): { check: Check } => ({
  check: (call) => [changes(`${call.name} ${what}: ${call.args.map(shown).join(' ')}`)],
});

export const system: Table = {
  ps: { check: ps },
  pgrep: reads(
    '-acfiLlnovwx -d: -g: -G: -P: -s: -t: -u: -U: -r: -F:@ -A --ns: --nslist: --full --list-name --list-full --exact --newest --oldest --count --ignore-case --inverse --parent: --user: --euid: --uid: --group: --delimiter: --runstates: --older: --help --version',
    { output: ids },
  ),
  pidof: reads('-sxnqc -o: -S:', { output: ids }),
  pstree: reads(
    '-aAcGghlnNpsStTuUZV -H: -C: --arguments --ascii --show-pids --show-parents --uid-changes --long --numeric-sort',
  ),
  ...each('pmap', reads('-xXqdp -A:')),
  pwdx: reads('-V'),
  lsof: reads('-abhlnNoPRtUvVXCMw -i? -p: -u: -c: -d: -g? -s? -T? -F? -S? -L? -f? -x? -K? -E -O', {
    also: (read) =>
      read.operands
        .filter((arg) => /^\+(?![LDdcf])/.test(arg.value))
        .map((arg) => endless(`lsof ${shown(arg)} repeats`)),
  }),
  fuser: { check: fuser },
  top: { check: top },
  ...each('uptime', reads('-psrV --pretty --since --help --version', { operands: 'none' })),
  free: reads(
    '-bkmghlLtwvV -s: -c: --bytes --kilo --mega --giga --kibi --mebi --gibi --tebi --human --si --lohi --line --total --wide --seconds: --count: --committed --help --version',
    {
      operands: 'none',
      also: (read) =>
        has(read, '-s', '--seconds') && !has(read, '-c', '--count')
          ? [endless('free repeats')]
          : [],
    },
  ),
  vmstat: reads(
    '-afmnstwdDyV -S: -p: --active --forks --slabs --stats --disk --timestamp --wide --unit: --one-header',
    { also: counted },
  ),
  ...each(
    'iostat mpstat pidstat',
    reads('-abcdDhHiklmNnrRstTuUvVwxyzA -p: -P: -G: -C: -o: -I: --human --pretty --dec?', {
      also: counted,
    }),
  ),
  sar: reads(
    '-AbBdDhHqrRSuvwWyz -n: -P: -I: -m: -i: -s: -e: -f:@ -F -p --human --pretty --iface: --dev:',
    { also: counted },
  ),
  iotop: reads('-baoqPtk -n: -d: -p: -u: --batch --only --iter: --delay: --quiet --accumulated', {
    operands: 'none',
    also: (read) => (has(read, '-n', '--iter') ? [] : [endless('iotop repeats')]),
  }),
  ...each(
    'who',
    reads(
      '-abdHlmpqrstTuw --all --boot --dead --heading --login --lookup --count --runlevel --short --time --users --message --mesg --writable --help --version',
    ),
  ),
  w: reads('-hsfiou -p --no-header --short --from --old-style --ip-addr --pids', {
    operands: 'names',
  }),
  ...each(
    'last lastb',
    reads(
      '-adFiRwxT -n: -f:@ -s: -t: -p: -# --hostlast --dns --fulltimes --ip --nohostname --fullnames --system --limit: --since: --until: --present: --time-format: --help --version',
    ),
  ),
  lastlog: reads('-b: -t: -u: --before: --time: --user:', { operands: 'none' }),
  ...each(
    'id',
    reads('-aGgnruzZ --context --group --groups --name --real --user --zero --help --version', {
      output: ids,
    }),
  ),
  ...each('groups users finger', reads('-lsmp --help --version')),
  ...each(
    'whoami logname tty nproc arch',
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
    output: (call) =>
      call.args.every((arg) => !/[/ ]|%[DF]?[Dxn]/.test(arg.value))
        ? { kind: 'id' }
        : { kind: 'any' },
  },
  ...each('cal ncal', reads('-1371yjmswhe -A: -B:  -n: --three --year --monday')),
  sysctl: { check: sysctl },
  dmesg,
  getent: { check: getent },
  getconf: reads('-a -v:'),
  lscpu: reads(
    '-abceJpxyBCV -s: --all --online --offline --bytes --caches? --extended? --json --parse? --output-all --help --version',
    { operands: 'none' },
  ),
  ...each('lspci', reads('-vknmDPtxbq -s: -d: -i:@', { operands: 'none' })),
  lsusb: reads('-vt -s: -d: -D:', { operands: 'none' }),
  lsmod: reads('', { operands: 'none' }),
  modinfo: reads(
    '-0adlpnV -F: -k: --field: --author --description --license --parameters --filename',
  ),
  ...each(
    'lsirq lsmem lsipc lslocks lsns lsfd lslogins',
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
  ...each('lsattr', reads('-RVadlpv')),
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
  prlimit: reads('-cdefilmnqrstuvxy -p: --pid: --noheadings --output: --raw --verbose', {
    operands: 'none',
  }),
  taskset: {
    check: (call, shell) => {
      const pid = readOptions(call.args, '-pca --pid --cpu-list --all-tasks');
      if (has(pid, '-p', '--pid'))
        return pid.operands.length > 1
          ? [changes('taskset moves a process')]
          : problems('taskset', pid);
      const run = readOptions(call.args, '-c --cpu-list', { stopAtOperand: true });
      return [...problems('taskset', run), ...shell.argv(run.operands.slice(1), call.input)];
    },
  },
  chage,
  passwd,
  faillog: reads('-a -u:', { operands: 'none' }),
  crontab: { check: crontab },
  atq: reads('-q: -V'),
  mount: { check: mount },
  ...each('mountpoint', reads('-qdx --quiet --fs-devno --devno')),
  uuidgen: reads('-rt', { operands: 'none', output: ids }),
  mcookie: reads('', { operands: 'none' }),
  ...each('printenv', reads('-0 --null')),
  ...each('locale', reads('-amck --all-locales --charmaps --keyword-name --category-name')),
  ...each('apropos whatis', reads('-aewrlL -s: --all --exact --long')),
  ...each('mailq', reads('', { operands: 'none' })),
  upsc: reads('-lLc'),
  slabtop: onlyWith('-o -s: -d: --once --sort:', '-o', '--once'),
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
  ...each('userdel deluser', {
    check: (call) => [
      given(call, 'r', 'remove', 'remove-home', 'remove-all-files')
        ? destroys(`${call.name} deletes a user with home and mail`)
        : changes(`${call.name} deletes a user`),
    ],
  }),
  ...each('killall pkill skill snice renice', {
    check: (call) => {
      const text = call.args.map(best).join(' ');
      const all =
        call.name !== 'renice' &&
        (/(^| )['"]?(\.|\.\*|\^|\.\+|.\*)['"]?$/.test(text) ||
          /(^| )(-[uU] ?|--e?uid[= ])(root|0)( |$)/.test(text) ||
          /(^| )-v /.test(text));
      return [
        all
          ? destroys(`${call.name} ends every process: ${shown(text)}`)
          : changes(`${call.name} signals processes: ${shown(text)}`),
      ];
    },
  }),
  killall5: wrecks('ends every process'),
  ...each('usermod chsh', {
    check: (call) => [...rootLocked(call), changes(`${call.name} changes an account`)],
  }),
  ...each(
    'useradd adduser groupadd groupmod groupdel gpasswd chpasswd chfn vipw visudo-edit newusers pwconv',
    mutates('changes accounts'),
  ),
  ...each(
    'modprobe insmod rmmod depmod kmod-load sysctl-apply update-initramfs update-grub grub-install grub-mkconfig dracut mkinitcpio ldconfig',
    gone('changes the kernel or its boot'),
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
      return /^(sdr|sensor|sel (list|elist|info)|fru( print)?|lan print( \d+)?|chassis (status|power status)|power status|mc info|user list( \d+)?)( list| elist)?$/.test(
        text,
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
  gpasswd: mutates('changes accounts'),
};
