/** Programs of the network: looking at addresses, routes, sockets, names. */
import { changes, endless, isKnown, shown } from '../model.ts';
import type { Call, Check, Finding } from '../model.ts';
import { sendsNames } from './hosts.ts';
import { best, operandsOf } from './lenient.ts';
import { has, readOptions, valuesOf } from './options.ts';
import type { Options } from './options.ts';
import { dangerFindings, each, listing, problems, reads, verbs } from './rules.ts';
import type { Table } from './rules.ts';

const ss = reads(
  '-nrlaoetmpTsZzNbi460HtuwxdSVqOM -f: -A: --numeric --resolve --listening --all --options --extended --memory --processes --threads --info --summary --tos --cgroup --bpf --context --contexts --net: --ipv4 --ipv6 --packet --tcp --udp --raw --unix --sctp --vsock --dccp --xdp --mptcp --family: --query: --no-header --oneline --version --help',
  { also: (read, call) => sendsNames(call.name, read.operands) },
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

/** All words but options are hosts. */
const sends = (read: Options, call: Call): Finding[] => sendsNames(call.name, read.operands);

const arp = reads('-anve -i: -H: --numeric --verbose', { also: sends });

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

/** What HAProxy's socket tells without a change; `show env` and `show errors` may hold passwords. */
const HAPROXY_ASKS =
  /^(show (info|stat|servers (state|conn)|backend|table|version|activity|pools|sess|threads|schema json|resolvers|cache|peers)( [\w ]+)?[;\n]?)+$/;

/** `echo "show stat" | socat - UNIX-CONNECT:/run/haproxy.sock`: only this form of an address never makes a file. */
export function asksHaproxy(call: Call): boolean {
  const { from, fixed, texts } = call.input;
  const words = call.args.map((arg) => arg.value).join(' ');
  return (
    (from === 'text' || fixed === true) &&
    texts.every((text) => text.trim() === '' || HAPROXY_ASKS.test(text.trim())) &&
    /^((-t ?\d+|-T ?\d+) )?((stdio|-|STDIO) (UNIX-CONNECT|unix-connect):|-U )\/(var\/)?(run|lib)\/haproxy[\w.-]*(\/[\w.-]+)?$/.test(
      words,
    )
  );
}

/** `nc -z` only knocks. */
const netcat: Check = (call, shell) => {
  if (asksHaproxy(call)) return [];
  const read = readOptions(call.args, '-46nuvzrt -w: -i: -p: -q:');
  return has(read, '-z')
    ? [...problems(call.name, read), ...sends(read, call)]
    : [
        changes(`${call.name} opens a connection that carries data`),
        ...shell.suspect(call.input.texts),
      ];
};

/** Packets that hold no text of a login: of a protocol without any, or of ports that are encrypted or ask for names and time. */
const NO_LOGINS =
  /^(icmp6?|arp|rarp|igmp|vrrp|stp|((tcp|udp) )?((src|dst) )?port (22|53|67|68|123|443|547|853|51820))$/;

/**
 * `tcpdump -c N`: some packets, told on standard output. A login in the clear is told as well (`FTP: PASS …`), unless it is quiet
 * or looks at nothing that has one.
 */
function fewPackets(call: Call): boolean {
  const read = readOptions(call.args, '-nNtqepKl# -i: -c: -s:# --number --interface: --count');
  const filter = read.operands.map((arg) => arg.value).join(' ');
  const plain = /^[\w.:/ -]*$/.test(filter) && !/\b(or|not)\b/.test(filter);
  return (
    read.problems.length === 0 &&
    valuesOf(read, '-c').some((count) => /^[1-9]\d{0,3}$/.test(count.value)) &&
    plain &&
    (has(read, '-q') || filter.split(' and ').some((term) => NO_LOGINS.test(term)))
  );
}

const tcpdump: Check = (call, shell) => {
  if (fewPackets(call)) return [];
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
    'status ip netcheck version whois': reads(
      '-46 --json --active --peers? --self? --1 --format:',
      { also: sends },
    ),
    ping: reads('-c: --c: --timeout: --tsmp --icmp --until-direct?', { also: sends }),
  },
});

const words = (call: Call): string => operandsOf(call).map(best).join(' ');

export const network: Table = {
  ss,
  netstat: reads(
    '-rigsMvWneoaplFCtuUwx46Z -A: -I: --route --interfaces --groups --statistics --verbose --numeric --numeric-hosts --numeric-ports --numeric-users --symbolic --extend --programs --timers --listening --all --fib --cache --tcp --udp --raw --unix --wide',
  ),
  ...each('ping ping6', ping),
  ...each(
    'arping',
    reads('-Dbfq -c: -w: -I: -s:', {
      also: (read, call) => [
        ...sends(read, call),
        ...(has(read, '-c', '-w', '-f') ? [] : [endless('arping repeats')]),
      ],
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
      also: (read, call) => [
        ...sends(read, call),
        ...(has(read, '-r', '-w', '--report', '--report-wide', '--json', '--csv')
          ? []
          : [endless('mtr repeats')]),
      ],
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
  arp,
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
