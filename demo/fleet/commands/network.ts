import { fail } from '../machine/command.ts';
import type { CommandIo, CommandTable, Said } from '../machine/command.ts';
import type { Machine, SiteSpec } from '../machine/machine.ts';
import { columns, options } from './text.ts';

/** Finds a machine of the fleet by name, full name or address; undefined for anything outside of it. */
export type Lookup = (nameOrAddress: string) => Machine | undefined;

/** Commands about the network. They reach the machines of the fleet and nothing else. */
export function networkCommands(lookup: Lookup): CommandTable {
  const find = (io: CommandIo, name: string): Machine | undefined =>
    ['localhost', '127.0.0.1', '::1', '0.0.0.0', io.machine.name].includes(name)
      ? io.machine
      : lookup(name);
  return {
    ip: (args, { machine }) => ip(args, machine),
    ifconfig: (_args, { machine }) => ip(['addr'], machine),
    ss: (args, { machine }) => ss(args, machine),
    netstat: (args, { machine }) => ss(args, machine),
    ping: (args, io) => ping(args, io, find),
    curl: (args, io) => curl(args, io, find),
    wget: async (args, io) => {
      const url =
        args.find((word) => !word.startsWith('-') && word !== 'null' && word !== '/dev/null') ?? '';
      return curl(['-f', url], io, find);
    },
    getent: ([, name = ''], io) => {
      const machine = find(io, name);
      return machine ? `${machine.spec.address.padEnd(15)} ${machine.name}\n` : { exitCode: 2 };
    },
    host: ([name = ''], io) => {
      const machine = find(io, name);
      return machine
        ? `${name} has address ${machine.spec.address}\n`
        : fail(1, `Host ${name} not found: 3(NXDOMAIN)`);
    },
    dig: (args, io) => {
      const name = args.find((word) => !/^[+@-]/.test(word)) ?? '';
      const machine = find(io, name);
      if (args.includes('+short')) return machine ? `${machine.spec.address}\n` : '';
      return `;; ->>HEADER<<- opcode: QUERY, status: ${machine ? 'NOERROR' : 'NXDOMAIN'}\n${machine ? `${name}. 300 IN A ${machine.spec.address}\n` : ''}`;
    },
    nslookup: ([name = ''], io) => {
      const machine = find(io, name);
      return machine
        ? `Name:\t${name}\nAddress: ${machine.spec.address}\n`
        : fail(1, `** server can't find ${name}: NXDOMAIN`);
    },
    ssh: ([target = '']) =>
      fail(
        255,
        `ssh: connect to host ${target}: the demo fleet allows no hops between its machines`,
      ),
    nc: () => fail(1, 'nc: not part of the demo fleet'),
  };
}

function ip(args: readonly string[], machine: Machine): Said {
  const words = args.filter((word) => !word.startsWith('-'));
  const brief = args.some((word) => word.startsWith('-br'));
  const { address } = machine.spec;
  const device = machine.spec.units.some((unit) => unit.name.startsWith('pve')) ? 'vmbr0' : 'eth0';
  const [object = 'addr'] = words;
  if ('address'.startsWith(object)) {
    if (brief)
      return `lo               UNKNOWN        127.0.0.1/8\n${device.padEnd(16)} UP             ${address}/24\n`;
    return (
      '1: lo: <LOOPBACK,UP,LOWER_UP> mtu 65536 qdisc noqueue state UNKNOWN group default qlen 1000\n' +
      '    inet 127.0.0.1/8 scope host lo\n' +
      `2: ${device}: <BROADCAST,MULTICAST,UP,LOWER_UP> mtu 1500 qdisc fq_codel state UP group default qlen 1000\n` +
      `    link/ether bc:24:11:20:00:${Number(address.split('.').pop()).toString(16).padStart(2, '0')} brd ff:ff:ff:ff:ff:ff\n` +
      `    inet ${address}/24 brd 10.20.0.255 scope global ${device}\n`
    );
  }
  if ('route'.startsWith(object)) {
    return `default via 10.20.0.1 dev ${device}\n10.20.0.0/24 dev ${device} proto kernel scope link src ${address}\n`;
  }
  if ('link'.startsWith(object)) {
    return `1: lo: <LOOPBACK,UP,LOWER_UP> mtu 65536\n2: ${device}: <BROADCAST,MULTICAST,UP,LOWER_UP> mtu 1500 state UP\n`;
  }
  if ('neighbour'.startsWith(object))
    return `10.20.0.1 dev ${device} lladdr bc:24:11:20:00:01 REACHABLE\n`;
  return fail(1, `Object "${object}" is unknown, try "ip help".`);
}

function ss(args: readonly string[], machine: Machine): Said {
  const flags = args.filter((word) => word.startsWith('-')).join('');
  const udp = flags.includes('u');
  const tcp = flags.includes('t') || !udp;
  const port = /(\d+)\s*$/.exec(args.filter((word) => !word.startsWith('-')).join(' '))?.[1];
  const rows = machine
    .listeners()
    .filter(({ listener }) => (listener.protocol === 'udp' ? udp : tcp))
    .filter(({ listener }) => port === undefined || listener.port === Number(port))
    .map(({ unit, listener }) => {
      const program =
        unit.spec.processes?.[0]?.split(' ')[0]?.split('/').pop()?.replace(/:$/, '') ?? '';
      return [
        listener.protocol,
        listener.protocol === 'udp' ? 'UNCONN' : 'LISTEN',
        '0',
        '511',
        `${listener.address}:${listener.port}`,
        '0.0.0.0:*',
        flags.includes('p') ? `users:(("${program}",pid=${unit.pids[0]},fd=6))` : '',
      ];
    });
  return columns([
    [
      'Netid',
      'State',
      'Recv-Q',
      'Send-Q',
      'Local Address:Port',
      'Peer Address:Port',
      flags.includes('p') ? 'Process' : '',
    ],
    ...rows,
  ]);
}

type Find = (io: CommandIo, name: string) => Machine | undefined;

/** The interfaces that the machines of the demo fleet have. */
const DEVICES: ReadonlySet<string> = new Set(['eth0', 'vmbr0']);

async function ping(args: readonly string[], io: CommandIo, find: Find): Promise<Said> {
  const { value, rest } = options(args, ['-c', '-W', '-w', '-i', '-s', '-I']);
  const name = rest[0] ?? '';
  const device = value('-I');
  if (device !== undefined && /^[a-z]/.test(device) && !DEVICES.has(device))
    return fail(2, `ping: SO_BINDTODEVICE ${device}: No such device`);
  const gateway = name === '10.20.0.1';
  const machine = find(io, name);
  const known = machine !== undefined || gateway || /^\d+\.\d+\.\d+\.\d+$/.test(name);
  if (!known) return fail(2, `ping: ${name}: Name or service not known`);
  const address = machine?.spec.address ?? name;
  const answers = gateway || machine?.up === true;
  const count = Math.min(Number(value('-c') ?? 1000) || 1, 1000);
  io.show(`PING ${name} (${address}) 56(84) bytes of data.\n`);
  let sent = 0;
  while (sent < count && !io.signal.aborted) {
    if (sent > 0) await io.pause(1000);
    sent += 1;
    if (answers)
      io.show(
        `64 bytes from ${address}: icmp_seq=${sent} ttl=64 time=0.${20 + ((sent * 7) % 40)} ms\n`,
      );
    else await io.pause(1000);
  }
  const lost = answers ? 0 : 100;
  io.show(
    `\n--- ${name} ping statistics ---\n${sent} packets transmitted, ${answers ? sent : 0} received, ${lost}% packet loss\n`,
  );
  return { exitCode: answers ? 0 : 1 };
}

function curl(args: readonly string[], io: CommandIo, find: Find): Said {
  const { has, value, rest } = options(args, [
    '-o',
    '--output',
    '-w',
    '--write-out',
    '-m',
    '--max-time',
    '--connect-timeout',
    '-X',
    '--request',
    '-H',
    '--header',
    '-d',
    '--data',
    '-u',
    '--user',
    '-A',
    '--resolve',
    '--retry',
    '-x',
    '-T',
    '-F',
  ]);
  const silent = has('-s', '--silent') && !has('-S', '--show-error');
  const error = (code: number, text: string): Said => ({
    ...(silent ? {} : { stderr: `curl: (${code}) ${text}\n` }),
    stdout:
      value('-w', '--write-out')?.replaceAll('%{http_code}', '000').replaceAll('\\n', '\n') ?? '',
    exitCode: code,
  });
  const given = rest[0];
  if (given === undefined) return fail(2, 'curl: (2) no URL specified');
  let url: URL;
  try {
    url = new URL(/^[a-z]+:\/\//i.test(given) ? given : `http://${given}`);
  } catch {
    return error(3, 'URL using bad/illegal format or missing URL');
  }
  if (url.protocol !== 'http:' && url.protocol !== 'https:') {
    return error(1, `Protocol "${url.protocol.replace(':', '')}" not supported`);
  }
  const port = Number(url.port) || (url.protocol === 'https:' ? 443 : 80);
  const host = url.hostname.replace(/^\[|\]$/g, '');
  const machine = find(io, host);
  if (!machine) return error(6, `Could not resolve host: ${host}`);
  const site = machine.up ? runningSite(machine, port) : undefined;
  if (!site)
    return error(
      7,
      `Failed to connect to ${host} port ${port} after 0 ms: Couldn't connect to server`,
    );
  const { upstream } = site;
  const behind = upstream && find(io, upstream.machine);
  const broken = upstream !== undefined && (!behind?.up || !runningSite(behind, upstream.port));
  const status = broken ? 502 : site.status;
  const body = broken ? '<html><head><title>502 Bad Gateway</title></head></html>\n' : site.body;
  if (status >= 400 && has('-f', '--fail'))
    return error(22, `The requested URL returned error: ${status}`);
  const head = `HTTP/1.1 ${status} ${PHRASES[status] ?? 'OK'}\r\nServer: ${site.server}\r\nContent-Type: text/html\r\nContent-Length: ${body.length}\r\n\r\n`;
  const kept = value('-o', '--output') === undefined ? body : '';
  const stdout = has('-I', '--head') ? head : `${has('-i', '--include') ? head : ''}${kept}`;
  const extra = value('-w', '--write-out')
    ?.replaceAll('%{http_code}', String(status))
    .replaceAll('%{response_code}', String(status))
    .replaceAll('%{time_total}', '0.004')
    .replaceAll('\\n', '\n');
  return { stdout: stdout + (extra ?? '') };
}

const PHRASES: Readonly<Record<number, string>> = {
  200: 'OK',
  301: 'Moved Permanently',
  302: 'Found',
  404: 'Not Found',
  502: 'Bad Gateway',
};

function runningSite(machine: Machine, port: number): SiteSpec | undefined {
  return machine.spec.sites?.find(
    (site) => site.port === port && machine.units.get(site.unit)?.active === 'active',
  );
}
