/** Interfaces, addresses and routes: showing them, and what sets them. */
import { changes, destroys, endless, HOLE, isKnown, shown } from '../model.ts';
import type { Arg, Check } from '../model.ts';
import { has, readOptions } from './options.ts';
import { each, listing, mutates, problems } from './rules.ts';
import type { Table } from './rules.ts';

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

/** Interfaces over which nobody comes in. */
const VIRTUAL =
  /\b(lo|veth|tap|docker|br-|fwbr|fwpr|fwln|virbr|wg|tun|dummy|vxlan|tailscale)[\w.-]*/;

const ip: Check = (call, shell) => {
  const read = readOptions(
    call.args,
    '-46dhshjporsBMN0OctT -n: -f: =brief =br =c? =color? =d =details =s =statistics =stats =json =j =p =pretty =o =oneline =r =resolve =h =human =4 =6 =family: =netns: =all =t =timestamp =ts =N',
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
  if (/^(netns|vrf)$/.test(name) && /^e(x(ec?)?)?$/.test(verb?.value ?? '')) {
    // With -all there is no name in front of the command.
    const command = has(read, '-all', '-a') ? rest : rest.slice(1);
    return [...found, ...shell.argv(command, call.input)];
  }
  const allowed = IP_OBJECTS[name];
  if (allowed === undefined || !read.operands.every((arg) => isKnown(arg) || !arg.splits))
    return [...found, changes(`ip ${shown(object)} is not known to only read`)];
  if (name === 'monitor') return [...found, endless('ip monitor waits for events')];
  if (verb === undefined) return found;
  if (name === 'xfrm')
    return /^(state|policy)$/.test(verb.value) && rest.length === 1 && rest[0]?.value === 'count'
      ? found
      : /^(state|policy)$/.test(verb.value) && rest.length === 0
        ? [...found, changes('ip xfrm shows keys')]
        : [...found, changes('ip xfrm changes or shows keys')];
  if (allowed.split(' ').includes(verb.value)) return found;
  const text = rest.map((arg) => arg.value).join(' ');
  const flushes = /^f(l(u(sh?)?)?)?$/.test(verb.value) && !/^cache$/.test(text);
  const cuts =
    (flushes && /^(address|route|link)$/.test(name)) ||
    (name === 'link' && /(^| )down( |$)/.test(text) && !VIRTUAL.test(text)) ||
    (name === 'route' && /^d/.test(verb.value) && /(^| )default( |$)/.test(text));
  return [
    ...found,
    cuts
      ? destroys(`ip ${name} ${shown(verb)} ${shown(text)} may cut the machine off`)
      : changes(`ip ${name} ${shown(verb)} ${flushes ? 'empties' : 'changes'} the network`),
  ];
};

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

/** A word that is known, or a plain one out of a listing. */
const isName = (arg: Arg): boolean =>
  isKnown(arg) || (arg.value === HOLE && arg.holes[0]?.kind === 'id');

const ethtool: Check = (call) => {
  const [first, ...rest] = call.args;
  if (
    first &&
    isName(first) &&
    rest.length === 0 &&
    (!first.value.startsWith('-') || /^--(version|help)$|^-h$/.test(first.value))
  )
    return [];
  const reading =
    /^(-[acgikSTnxPlmd]|--(show-[\w-]+|driver|statistics|module-info|phy-statistics|get-[\w-]+|show-features))$/;
  const plain = rest.length === 1 && rest.every((arg) => isName(arg) && !arg.value.startsWith('-'));
  return first && reading.test(first.value) && plain
    ? []
    : [changes('ethtool changes a network card')];
};

/** nmcli takes abbreviated words; only full or usual spellings that show are read-only. */
const nmcli: Check = (call) => {
  const read = readOptions(
    call.args,
    '-tpo -c: -f: -g: -m: -e: -w: --active --terse --pretty --fields: --get-values: --mode: --colors: --escape: --wait: --version --help --overview',
  );
  const text = read.operands.map((arg) => arg.value).join(' ');
  const shows =
    /^((general|g|gen)( (status|hostname|permissions|logging))?|(device|dev|d)( (status|wifi|wifi list|show( [\w.:-]+)?))?|(connection|con|c)( show( --active)?( [\w .:-]+)?)?|(radio|r)( (all|wifi|wwan))?|(networking|n)( connectivity)?|)$/;
  const cuts =
    /^(networking|n\w*) off|^(connection|con|c|device|dev|d)\w* (down|delete|disconnect|del)\b/.test(
      text,
    );
  return [
    ...problems('nmcli', read),
    ...(cuts ? [destroys(`nmcli ${shown(text)} may cut the machine off`)] : []),
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

export const interfaces: Table = {
  ifdown: {
    check: (call) => [destroys(`ifdown ${call.args.map(shown).join(' ')} may cut the machine off`)],
  },
  ...each('ifup ifreload', mutates('changes the network')),
  'mii-tool': listing('-vV --verbose --version', /^\w*$/, 'changes a network card'),
  ip: { check: ip },
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
  nmcli: { check: nmcli },
  wg: { check: wg },
};
