/** Programs of the network: looking at addresses, routes, sockets, names. */
import { changes, destroys, endless, isKnown, shown } from '../model.ts';
import type { Call, Check, Finding } from '../model.ts';
import { best, given, operandsOf } from './lenient.ts';
import { has, readOptions } from './options.ts';
import type { Options } from './options.ts';
import { dangerFindings, each, problems, reads, verbs } from './rules.ts';
import type { Table } from './rules.ts';
import { joinedWords } from './wrappers.ts';

/**
 * `ip`: objects and verbs may be abbreviated, and what an abbreviation means differs by object (`ip l s` sets, `ip a s`
 * shows). Only spellings that always show are read-only.
 */
const IP_OBJECTS: Readonly<Record<string, string>> = {
  address: 'show sh s list lst ls',
  link: 'show sh list lst ls',
  route: 'show sh s list lst ls l get g',
  rule: 'show sh list lst ls',
  neighbour: 'show sh s list lst ls get',
  neighbor: 'show sh s list lst ls get',
  maddress: 'show list lst',
  mroute: 'show list lst',
  tunnel: 'show list lst ls',
  netns: 'list ls show identify pids list-id',
  monitor: '',
  ntable: 'show',
  tuntap: 'show list lst',
  nexthop: 'show list get',
  vrf: 'show identify pids',
  xfrm: '',
  token: 'list show',
};

const ip: Check = (call, shell) => {
  const read = readOptions(
    call.args,
    '-46dhshjporsBMN0OctT -n: -f: =brief =br =c =color =color: =d =details =s =statistics =stats =json =j =p =pretty =o =oneline =r =resolve =h =human =4 =6 =family: =netns: =all =t =timestamp =ts =N',
    { stopAtOperand: true },
  );
  const found = problems('ip', read);
  const [object, verb, ...rest] = read.operands;
  if (!object) return found;
  const name =
    object.value === 'a'
      ? 'address'
      : (Object.keys(IP_OBJECTS).find(
          (full) => full.startsWith(object.value) && object.value.length > 0,
        ) ?? '');
  if (name === 'netns' && /^e(x(ec?)?)?$/.test(verb?.value ?? ''))
    return [...found, ...shell.argv(rest.slice(1), call.input)];
  if (name === 'vrf' && /^e(x(ec?)?)?$/.test(verb?.value ?? ''))
    return [...found, ...shell.argv(rest.slice(1), call.input)];
  const allowed = IP_OBJECTS[name];
  if (allowed === undefined || !read.operands.every((arg) => isKnown(arg) || !arg.splits))
    return [...found, changes(`ip ${shown(object)} is not known to only read`)];
  if (name === 'monitor') return [...found, endless('ip monitor waits for events')];
  if (verb === undefined) return found;
  if (name === 'xfrm')
    return /^(state|policy)$/.test(verb.value) && rest.length === 0
      ? [...found, changes('ip xfrm shows keys')]
      : [...found, changes('ip xfrm changes or shows keys')];
  if (allowed.split(' ').includes(verb.value)) return found;
  const flush = /^f(l(u(sh?)?)?)?$/.test(verb.value);
  return [
    ...found,
    changes(`ip ${name} ${shown(verb)} ${flush ? 'empties' : 'changes'} the network`),
  ];
};

const ss = reads(
  '-nrlaoetmpTsZzNbi460HtuwxdSVqOM -f: -A: --numeric --resolve --listening --all --options --extended --memory --processes --threads --info --summary --tos --cgroup --bpf --context --contexts --net: --ipv4 --ipv6 --packet --tcp --udp --raw --unix --sctp --vsock --dccp --xdp --mptcp --family: --query: --no-header --oneline --version --help',
);

const ping = reads(
  '-46abBDdhLnOqRrUvV -c: -i: -I: -m: -M: -p: -Q: -s: -S: -t: -T: -w: -W: --help --version',
  {
    operands: 'names',
    also: (read, call) => [
      ...sends(read, call),
      ...(has(read, '-c', '-w', '--help', '--version', '-V') ? [] : [endless('ping repeats')]),
    ],
  },
);

/** What is only known at run time would be sent to somebody else's server. */
const sends = (_read: Options, call: Call): Finding[] =>
  call.args
    .filter((arg) => arg.value.includes('\0'))
    .map((arg) => changes(`${call.name} sends what is only known at run time: ${shown(arg)}`));

const arp: Check = (call) =>
  problems('arp', readOptions(call.args, '-anve -i: -H: --numeric --verbose'));

const route: Check = (call) => {
  const read = readOptions(call.args, '-nveeCF46 -A: --numeric --verbose --extend');
  return [
    ...problems('route', read),
    ...read.operands.map((arg) => changes(`route ${shown(arg)} changes routes`)),
  ];
};

const ifconfig: Check = (call) => {
  const read = readOptions(call.args, '-asv --all');
  return [
    ...problems('ifconfig', read),
    ...(read.operands.length > 1 || read.operands.some((arg) => arg.splits)
      ? [changes('ifconfig changes an interface')]
      : []),
  ];
};

const ethtool: Check = (call) => {
  const [first, ...rest] = call.args;
  if (
    first &&
    isKnown(first) &&
    rest.length === 0 &&
    (!first.value.startsWith('-') || /^--(version|help)$|^-h$/.test(first.value))
  )
    return [];
  const reading =
    /^(-[acgikSTnxPlmd]|--(show-[\w-]+|driver|statistics|module-info|phy-statistics|get-[\w-]+|show-features))$/;
  const plain =
    rest.length === 1 && rest.every((arg) => isKnown(arg) && !arg.value.startsWith('-'));
  return first && reading.test(first.value) && plain
    ? []
    : [changes('ethtool changes a network card')];
};

/** iptables and its kin: listing is harmless, emptying is not. */
const iptables: Check = (call) => {
  const text = call.args.map(best).join(' ');
  const danger: Finding[] = [];
  if (
    call.args.some(
      (arg) => /^-[a-zA-Z46]*F|^--fl/.test(best(arg)) && !/^-[a-z]*[jtp]/.test(best(arg)),
    )
  )
    danger.push(destroys(`${call.name} empties the firewall: ${shown(text)}`));
  if (call.args.some((arg) => /^-X$|^--delete-chain$/.test(best(arg))))
    danger.push(destroys(`${call.name} deletes firewall chains: ${shown(text)}`));
  if (/(-P|--policy) (INPUT|FORWARD|OUTPUT) (ACCEPT|DROP)/.test(text))
    danger.push(destroys(`${call.name} opens or closes the whole firewall: ${shown(text)}`));
  const read = readOptions(
    call.args,
    '-46nvx -w? -t: -L? -S? --list? --list-rules? --numeric --verbose --exact --line-numbers --table: --wait? --version --help',
  );
  const listed = has(read, '-L', '-S', '--list', '--list-rules', '--version', '--help');
  return danger.length > 0
    ? danger
    : listed
      ? problems(call.name, read)
      : [changes(`${call.name} changes the firewall`)];
};

const nft: Check = (call) => {
  const read = readOptions(
    call.args,
    '-ajnsSyNpTt --handle --json --numeric --stateless --terse --version --help',
  );
  const text = joinedWords(read.operands).value;
  const all = `${text}\n${call.input.texts.join('\n')}`;
  if (/\bflush\s+(ruleset|table|chain)|\bdelete\s+(table|chain)|\bdestroy\b/.test(all))
    return [destroys(`nft empties the firewall: ${shown(all)}`)];
  const listing =
    /^(list (ruleset|tables|table|chains|chain|sets|set|maps|map|rules|counters|flowtables)\b[\w .:@-]*)?$/.test(
      text,
    );
  return listing && (text !== '' || has(read, '--version', '--help'))
    ? problems('nft', read)
    : [changes('nft changes the firewall')];
};

const ufw = verbs({
  read: {
    status: reads(''),
    version: reads(''),
    app: verbs({ read: { 'list info': reads('') } }),
    show: reads(''),
  },
  danger: [[/(^| )(--force )?(disable|reset)( |$)/, 'switches the firewall off']],
});

const firewallCmd: Check = (call) => {
  const text = call.args.map(best).join(' ');
  const read = readOptions(
    call.args,
    '-q --state --list-all --list-all-zones --list-services --list-ports --list-rich-rules --list-interfaces --list-sources --list-forward-ports --get-default-zone --get-active-zones --get-zones --get-services --get-icmptypes --get-zone-of-interface: --info-zone: --info-service: --query-service: --query-port: --query-panic --zone: --permanent --version --help --direct --get-all-rules --get-all-chains',
  );
  if (/--panic-on|--reset-to-defaults/.test(text))
    return [destroys(`firewall-cmd cuts or resets the network: ${shown(text)}`)];
  return problems('firewall-cmd', read);
};

/** nmcli takes abbreviated words; only full or usual spellings that show are read-only. */
const nmcli: Check = (call) => {
  const read = readOptions(
    call.args,
    '-tpo -c: -f: -g: -m: -e: -w: --active --terse --pretty --fields: --get-values: --mode: --colors: --escape: --wait: --version --help --overview',
  );
  const text = read.operands.map((arg) => arg.value).join(' ');
  const shows =
    /^((general|g|gen)( (status|hostname|permissions|logging))?|(device|dev|d)( (status|show|wifi list|wifi)( [\w.:-]+)?)?|(connection|con|c)( show( --active)?( [\w .:-]+)?)?|(radio|r)( (all|wifi|wwan))?|(networking|n)( connectivity)?|)$/;
  return [
    ...problems('nmcli', read),
    ...(shows.test(text) && call.args.every(isKnown)
      ? []
      : [changes(`nmcli ${shown(text)} changes the network`)]),
  ];
};

const wg: Check = (call) => {
  const words = call.args.map((arg) => arg.value);
  const shows =
    words.length === 0 ||
    (words[0] === 'show' &&
      (words.length <= 2 ||
        /^(public-key|listen-port|fwmark|peers|endpoints|allowed-ips|latest-handshakes|transfer|persistent-keepalive)$/.test(
          words[2] ?? '',
        )) &&
      !/^(dump)$/.test(words[1] ?? '') &&
      !words.includes('dump') &&
      !words.includes('private-key') &&
      !words.includes('preshared-keys'));
  return shows && call.args.every((arg) => !arg.splits)
    ? []
    : [
        /\b(showconf|private-key|dump|preshared-keys)\b/.test(words.join(' '))
          ? destroys('wg shows private keys')
          : changes('wg changes a tunnel'),
      ];
};

const dig: Check = (call) => {
  const found = call.args
    .filter((arg) => arg.value.startsWith('-') && !/^-([46tqxpbckyuhmrv]|[46])/.test(arg.value))
    .map((arg) => changes(`dig: option ${shown(arg)} is not known to be harmless`));
  const files = call.args.filter((arg) => /^-[fky]/.test(arg.value));
  const open = call.args.filter((arg) => arg.holes.length > 0);
  return [
    ...found,
    ...files.map((arg) => changes(`dig ${shown(arg)} reads a file`)),
    ...open.map((arg) => changes(`dig sends what is only known at run time: ${shown(arg)}`)),
  ];
};

/** `nc -z` only knocks. */
const netcat: Check = (call) => {
  const read = readOptions(call.args, '-46nuvzrt -w: -i: -p: -q:');
  return has(read, '-z')
    ? problems(call.name, read)
    : [changes(`${call.name} opens a connection that carries data`)];
};

const tcpdump: Check = (call, shell) => {
  const read = readOptions(call.args, '-DnNtqvXxeASl -r:@ -c: --list-interfaces --version --help');
  if (has(read, '-D', '--list-interfaces', '-r', '--version', '--help'))
    return problems('tcpdump', read);
  return [
    changes('tcpdump listens to traffic'),
    ...shell.suspect(call.args.filter((_arg, at) => call.args[at - 1]?.value === '-z').map(best)),
  ];
};

const tailscale = verbs({
  read: {
    'status ip netcheck version whois': reads('-46 --json --active --peers? --self? --1 --format:'),
    ping: reads('-c: --c: --timeout: --tsmp --icmp --until-direct?'),
  },
});

const conntrack: Check = (call) => {
  const read = readOptions(
    call.args,
    '-LCSn -p: -s: -d: -f: -o: --dump --count --stats --proto: --src: --dst: --output: --orig-src: --orig-dst: --sport: --dport:',
  );
  return has(read, '-L', '-C', '-S', '--dump', '--count', '--stats')
    ? problems('conntrack', read)
    : [
        given(call, 'F', 'flush')
          ? destroys('conntrack -F drops all connections')
          : changes('conntrack changes connections'),
      ];
};

const listing = (spec: string, pattern: RegExp, what: string): { check: Check } => ({
  check: (call) => {
    const read = readOptions(call.args, spec);
    const text = read.operands.map((arg) => arg.value).join(' ');
    return [
      ...problems(call.name, read),
      ...(pattern.test(text) && read.operands.every((arg) => !arg.splits)
        ? []
        : [changes(`${call.name} ${shown(text)} ${what}`)]),
    ];
  },
});

const restore: Check = (call) => [destroys(`${call.name} replaces the whole firewall`)];

const words = (call: Call): string => operandsOf(call).map(best).join(' ');

export const network: Table = {
  ip: { check: ip },
  ss,
  netstat: reads(
    '-rigsMvWneoaplFCtuUwx46Z -A: -I: --route --interfaces --groups --statistics --verbose --numeric --numeric-hosts --numeric-ports --numeric-users --symbolic --extend --programs --timers --listening --all --fib --cache --tcp --udp --raw --unix --wide',
  ),
  ...each('ping ping6', ping),
  ...each(
    'arping',
    reads('-Dbfq -c: -w: -I: -s:', {
      also: (read) => (has(read, '-c', '-w', '-f') ? [] : [endless('arping repeats')]),
    }),
  ),
  ...each(
    'traceroute traceroute6 tracepath',
    reads(
      '-46bdnrFITUAV -f: -g: -i: -m: -N: -p: -t: -w: -q: -s: -z: -l: --back --resolve-hostnames --icmp --tcp --udp --max-hops: --port: --wait: --queries: --first:',
      { also: sends },
    ),
  ),
  mtr: reads(
    '-rwnb46ztuCjxlp -c: -s: -i: -o: -m: -f: -P: -L: -a: --report --report-wide --no-dns --show-ips --report-cycles: --tcp --udp --port: --aslookup --interval: --max-ttl: --json --csv',
    {
      also: (read) =>
        has(read, '-r', '-w', '--report', '--report-wide', '--json', '--csv')
          ? []
          : [endless('mtr repeats')],
    },
  ),
  dig: { check: dig },
  ...each('host', reads('-aCdilnrsTUvw46V -c: -m: -N: -p: -R: -t: -W:', { also: sends })),
  nslookup: {
    check: (call) =>
      call.args.every((arg) => isKnown(arg) && /^-?[\w.:=-]+$/.test(arg.value)) &&
      call.args.length > 0
        ? []
        : [changes('nslookup asks on a prompt or for what is only known at run time')],
  },
  ...each(
    'whois',
    reads('-HIrRxlLmM -h: -p: -T: -i: -s: -g: -t: --verbose --no-recursion', { also: sends }),
  ),
  ...each('drill kdig delv doggo dog', { check: dig }),
  arp: { check: arp },
  route: { check: route },
  ifconfig: { check: ifconfig },
  ...each('iwconfig', { check: ifconfig }),
  iw: listing(
    '-v --version',
    /^(dev( \w+ (link|info|station dump|survey dump|get power_save))?|phy( \w+ info)?|list|reg get|reg get)?$/,
    'changes a radio',
  ),
  rfkill: listing(
    '-Jnr -o: --json --noheadings --output: --output-all',
    /^(list.*)?$/,
    'switches a radio',
  ),
  ethtool: { check: ethtool },
  bridge: listing(
    '-cdjnpsv0 -o =color =details =json =pretty =statistics =stats =oneline =timestamp =n: =br',
    /^(link|fdb|mdb|vlan|vni)( (show|list|lst)( dev \S+| br \S+| brport \S+| vlan \d+)*)?$|^$/,
    'changes a bridge',
  ),
  brctl: listing('', /^(show( \S+)?|showmacs \S+|showstp \S+)$/, 'changes a bridge'),
  tc: listing(
    '-sdjprniog0 =s =d =j =p =g =color =statistics =details =json =pretty -n:',
    /^(qdisc|class|filter|chain|action)( (show|list|ls|lst)( (dev \S+|root|ingress|parent \S+|invisible))*)?$/,
    'changes traffic control',
  ),
  ...each(
    'iptables ip6tables ebtables arptables iptables-legacy iptables-nft ip6tables-legacy ip6tables-nft',
    { check: iptables },
  ),
  ...each(
    'iptables-save ip6tables-save ebtables-save arptables-save',
    reads('-c -t: --counters --table: --version', { operands: 'none' }),
  ),
  ...each('iptables-restore ip6tables-restore ebtables-restore', { check: restore }),
  ipset: listing(
    '-n -s -t -o: --name --sorted --terse --output:',
    /^(list|save|test)( \S+)*$/,
    'changes address sets',
  ),
  nft: { check: nft },
  ufw,
  'firewall-cmd': { check: firewallCmd },
  'fail2ban-client': listing(
    '',
    /^(status( \S+)?|ping|version|banned|get \S+ (banip|maxretry|bantime|findtime|logpath|ignoreip))$/,
    'changes bans',
  ),
  conntrack: { check: conntrack },
  nmcli: { check: nmcli },
  wg: { check: wg },
  tailscale,
  ...each('nc netcat ncat nc.openbsd nc.traditional', { check: netcat }),
  tcpdump: { check: tcpdump },
  ...each(
    'vnstat',
    reads(
      '-hdmwts5yq -i: -# --oneline? --json? --short --days? --months? --hours? --hoursgraph --top? --iface: --version',
    ),
  ),
  ...each('iftop nethogs bmon nload iptraf iptraf-ng', {
    check: (call) => [changes(`${call.name} needs a screen: ${words(call)}`)],
  }),
  birdc: listing('-rv', /^show\b[^;|]*$/, 'changes routing'),
  vtysh: {
    check: (call) =>
      call.args.length > 0 &&
      call.args.every((arg, at) =>
        at % 2 === 0 ? arg.value === '-c' : /^(show|ping|traceroute)\b[^\n|]*$/.test(arg.value),
      )
        ? []
        : [...dangerFindings(call, []), changes('vtysh may change routing')],
  },
  'speedtest-cli': reads('--simple --list --json --secure --no-upload --no-download'),
  ...each('iperf iperf3', { check: () => [changes('iperf sends a flood of data')] }),
  resolvconf: reads('-l', {
    operands: 'none',
    also: (read) => (has(read, '-l') ? [] : [changes('resolvconf changes name servers')]),
  }),
};
