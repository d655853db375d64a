/** Package managers. Their changes are not searched for danger: package names are data. */
import { changes, shown } from '../model.ts';
import type { Check, Rule } from '../model.ts';
import { best, sure } from './lenient.ts';
import { has, readOptions } from './options.ts';
import { watched } from './essential.ts';
import { each, problems, reads, readsFile, verbs } from './rules.ts';
import type { Table } from './rules.ts';

const APT =
  '-qyVuafni --quiet? --all-versions --all --installed --upgradable --upgradeable --manual-installed --names-only --full --no-all-versions --recurse --important --verbose --no-pager --version --help';
const SIMULATED =
  '-s -q -u -V -y -f -t: --simulate --just-print --dry-run --recon --no-act --quiet? --show-upgraded --verbose-versions --assume-yes --yes --no-install-recommends --install-recommends --with-new-pkgs --only-upgrade --purge --autoremove --auto-remove --target-release: --allow-downgrades --no-remove --fix-broken';

const simulated =
  (how: string): Check =>
  (call) => {
    const read = readOptions(call.args, SIMULATED);
    const dry = has(read, '-s', '--simulate', '--just-print', '--dry-run', '--recon', '--no-act');
    return dry
      ? problems(call.name, read)
      : [changes(`${call.name} ${how}: ${call.args.map(shown).join(' ')}`)];
  };

const aptReads: Rule = reads(APT);

/** apt's options may stand in front of the verb or behind it. */
const apt: Check = (call, shell) => {
  const verb = call.args.find((arg) => !best(arg).startsWith('-'));
  const rest = call.args.filter((arg) => arg !== verb);
  switch (verb?.value) {
    case undefined:
    case 'list':
    case 'search':
    case 'show':
    case 'showsrc':
    case 'policy':
    case 'depends':
    case 'rdepends':
    case 'madison':
    case 'showpkg':
    case 'stats':
    case 'pkgnames':
    case 'unmet':
    case 'dump':
    case 'help':
      return aptReads.check({ ...call, args: rest }, shell);
    case 'install':
    case 'remove':
    case 'purge':
    case 'upgrade':
    case 'dist-upgrade':
    case 'full-upgrade':
    case 'autoremove':
    case 'autopurge':
    case 'build-dep':
    case 'reinstall':
      return simulated(`${verb.value} changes packages`)({ ...call, args: rest }, shell);
    default:
      return [changes(`${call.name} ${shown(verb ?? '')} changes packages`)];
  }
};

const onlyVerb = (verb: RegExp, spec: string, what: string): Rule => ({
  check: (call) => {
    const read = readOptions(call.args, spec);
    const text = read.operands.map((arg) => arg.value).join(' ');
    return [
      ...problems(call.name, read),
      ...(verb.test(text) ? [] : [changes(`${call.name} ${shown(text)} ${what}`)]),
    ];
  },
  inert: true,
});

const dpkg: Check = (call, shell) => {
  const [first, file, more] = call.args;
  if (/^(-c|-I|--contents|--info)$/.test(first?.value ?? '') && file && more === undefined)
    return file.value.startsWith('-') ? [changes('dpkg without a file')] : readsFile(file, shell);
  const read = readOptions(
    call.args,
    '-lsLSpCV --list? --status --listfiles --search --print-avail --audit? --verify? --get-selections --print-architecture --print-foreign-architectures --assert-support-predepends --compare-versions --no-pager --version --help --yet-to-unpack',
  );
  return read.options.length > 0
    ? problems('dpkg', read)
    : [changes('dpkg changes packages'), ...problems('dpkg', read)];
};

const rpm: Check = (call) => {
  const read = readOptions(
    call.args,
    '-qaifplcdRsvV --query --all --info --file --package --list --configfiles --docfiles --requires --provides --whatprovides --whatrequires --conflicts --obsoletes --changelog --scripts --triggers --last --verify --state --qf: --queryformat: --nosignature --nodigest --version --help',
  );
  return has(read, '-q', '-V', '--query', '--verify', '--version', '--help')
    ? problems('rpm', read)
    : [changes('rpm changes packages')];
};

const pacman: Check = (call) => {
  const read = readOptions(
    call.args,
    '-QSFkseildmngtuqop --query --search --info --list --deps --explicit --foreign --groups --upgrades --quiet --owns --check --color: --version --help -V',
  );
  if (has(read, '-Q', '--query', '-V', '--version')) return problems('pacman', read);
  const looks = has(read, '-S') && has(read, '-s', '-i', '-l', '-g') && !has(read, '-u');
  return looks || has(read, '-F') ? problems('pacman', read) : [changes('pacman changes packages')];
};

const SHOW = reads(
  '-ajqvloug1 --all --json --quiet --verbose --long --global --depth: --format: --outdated --user --local --pre --parseable --omit: --include: --installed --available --upgrades --updates --extras --showduplicates --security --cves --enabled --disabled --nevra --queryformat: --qf: --arch: --requires --whatrequires: --whatprovides: --provides --recursive --no-color --columns: --color: --version --help -g',
);

const dnf = verbs({
  globals:
    '-qyvC --quiet --assumeno --cacheonly --verbose --color: --disablerepo: --enablerepo: -d: -e:',
  read: {
    'list info search repolist repoinfo provides whatprovides check-update check-upgrade updateinfo repoquery deplist check grouplist groupinfo help':
      SHOW,
    history: onlyVerb(/^(list( \S+)*|info( \S+)*|)$/, '--reverse', 'changes packages'),
    module: onlyVerb(/^(list|info|provides)( \S+)*$/, '', 'changes packages'),
    group: onlyVerb(
      /^(list|info|summary)( \S+)*$/,
      '-v --hidden --installed --available',
      'changes packages',
    ),
    '': reads('--version --help'),
  },
  inert: true,
});

export const packages: Table = {
  ...each('apt apt-get apt-cache aptitude nala', watched({ check: apt, inert: true })),
  'apt-mark': verbs({
    read: {
      'showhold showauto showmanual showinstall showremove showpurge': SHOW,
      help: reads(''),
    },
    inert: true,
  }),
  'apt-config': verbs({ read: { dump: reads('') }, inert: true }),
  'apt-file': verbs({
    read: {
      'search list find show': reads('-xlFi -a: --regexp --package-only --fixed-string'),
      help: reads(''),
    },
    inert: true,
  }),
  dpkg: watched({ check: dpkg, inert: true }),
  'dpkg-query': reads(
    '-lsLSWp -f: --list? --status --listfiles --search --show --print-avail --showformat: --control-list --control-show --control-path --no-pager --version --help -c',
  ),
  'dpkg-deb': {
    check: (call) =>
      /^(-[cIfW]|--(contents|info|field|show)) \S+( [\w-]+)*$/.test(sure(call))
        ? []
        : [changes('dpkg-deb unpacks or builds packages')],
  },
  'dpkg-architecture': reads('-q: -l -a: -t:', { operands: 'none' }),
  debsums: reads('-acelsx --all --changed --config --list-missing --silent'),
  ...each('update-alternatives alternatives', {
    check: (call) =>
      /^--(list|display|query|get-selections)( [\w.-]+)?$/.test(sure(call))
        ? []
        : [changes('update-alternatives changes what a name runs')],
    inert: true,
  }),
  rpm: watched({ check: rpm, inert: true }),
  ...each('dnf yum dnf5 microdnf tdnf', watched(dnf)),
  zypper: verbs({
    globals: '-nqvx --non-interactive --quiet --no-refresh --no-color',
    read: {
      'search se info if list-updates lu list-patches lp repos lr services ls packages pa patterns pt products pd what-provides wp patch-check pchk locks ll ps':
        reads(
          '-idusrxpPuvnNC -t: --installed-only --not-installed-only --details --sort-by-name --requires --provides --match-exact -a --all',
        ),
    },
    inert: true,
  }),
  apk: watched(
    verbs({
      globals: '-qv --quiet --verbose --no-cache --no-network',
      read: {
        'info list search policy version stats dot': reads(
          '-aedivLWRPrstwxouIAqO --all --installed --exact --available --upgradable --upgradeable --contents --depends --description --who-owns --origin --size --orphaned --providers --has-origin -l: --limit:',
        ),
        '': reads('--version'),
      },
      inert: true,
    }),
  ),
  pacman: watched({ check: pacman, inert: true }),
  brew: verbs({
    read: {
      list: reads('-1lrt --versions --formula --cask --pinned --multiple --full-name'),
      'info search outdated deps leaves config --version': SHOW,
      services: onlyVerb(/^(list|info( \S+)?)?$/, '--json', 'changes services'),
    },
    inert: true,
  }),
  snap: verbs({
    read: {
      'list info find search connections services version changes tasks interfaces warnings model known':
        SHOW,
    },
    inert: true,
  }),
  flatpak: verbs({
    read: {
      'list info search remotes remote-ls history ps': reads(
        '-adum --user --system --app --runtime --columns: --show-details --arch: --all',
      ),
    },
    inert: true,
  }),
  needrestart: reads('-bklpv -r: -m:', {
    also: (read) =>
      has(read, '-b', '-p') && !has(read, '-r')
        ? []
        : read.options.some((option) => option.name === '-r' && option.value?.value === 'l')
          ? []
          : [changes('needrestart may restart services')],
  }),
  ...each('checkrestart needs-restarting', reads('-vr --reboothint')),
  'do-release-upgrade': reads('-c --check-dist-upgrade-only', {
    also: (read) =>
      has(read, '-c', '--check-dist-upgrade-only')
        ? []
        : [changes('do-release-upgrade upgrades the system')],
  }),
  ...each(
    'apt-key add-apt-repository dpkg-reconfigure tasksel dpkg-divert dpkg-statoverride apt-add-repository',
    { check: (call) => [changes(`${call.name} changes packages or their sources`)], inert: true },
  ),
  ...each(
    'lsb_release',
    reads('-aidrcsv --id --description --release --codename --all --short', { operands: 'none' }),
  ),
};
