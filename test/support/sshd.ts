import { execFileSync, spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import {
  accessSync,
  chmodSync,
  constants,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  readlinkSync,
  readdirSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import net from 'node:net';
import { tmpdir, userInfo } from 'node:os';
import path from 'node:path';
import type { HostEndpoint } from '../../core/executions/ports.ts';

const SSHD_PATHS = ['/usr/sbin/sshd', '/usr/local/sbin/sshd', '/sbin/sshd'];
const START_LIMIT_MS = 10_000;

/** The path of OpenSSH's sshd, or undefined where it is not installed. */
export function findSshd(): string | undefined {
  return SSHD_PATHS.find((file) => {
    try {
      accessSync(file, constants.X_OK);
      return true;
    } catch {
      return false;
    }
  });
}

/** What a test server is made with. */
export interface TestSshdOptions {
  /** The entity's name in errors. Default `web-1`. */
  slug?: string;
  /** Further lines of sshd_config. */
  config?: string[];
  /** Further variables of the login environment. */
  env?: Record<string, string>;
  /** Where it listens. Default 127.0.0.1. */
  address?: string;
  /** What it is started by, in front of its own command line: `ip netns exec <name>`. Default nothing. */
  launcher?: readonly string[];
}

/**
 * A real sshd on a free port of 127.0.0.1 with everything of its own in a folder that goes with it: configuration, host key, one
 * authorized key, home directory, the wrapper's state directory, a `pct` look-alike. Ended by process id.
 */
export class TestSshd {
  readonly endpoint: HostEndpoint;
  readonly dir: string;
  /** The user's home directory on this "host". */
  readonly home: string;
  /** Where the wrapper keeps its executions. */
  readonly state: string;
  /** The private key that may log in. */
  readonly keyFile: string;
  readonly #program: string;
  readonly #launcher: readonly string[];
  #process: ChildProcess | undefined;

  private constructor(program: string, dir: string, port: number, options: TestSshdOptions) {
    this.#program = program;
    this.#launcher = options.launcher ?? [];
    this.dir = dir;
    this.home = path.join(dir, 'home');
    this.state = path.join(dir, 'state', 'executions');
    this.keyFile = path.join(dir, 'user_key');
    this.endpoint = {
      slug: options.slug ?? 'web-1',
      address: options.address ?? '127.0.0.1',
      port,
      user: userInfo().username,
    };
  }

  static async start(options: TestSshdOptions = {}): Promise<TestSshd> {
    const program = findSshd();
    if (program === undefined)
      throw new Error('sshd is not installed (Debian: apt-get install openssh-server).');
    const dir = mkdtempSync(path.join(tmpdir(), 'nomos-sshd-'));
    const server = new TestSshd(program, dir, await freePort(), options);
    server.#prepare(options);
    await server.listen();
    return server;
  }

  /** Starts listening (again), on the same port, with the same files. */
  async listen(): Promise<void> {
    const own = [this.#program, '-D', '-e', '-f', path.join(this.dir, 'sshd_config')];
    const [command = '', ...args] = [...this.#launcher, ...own];
    const child = spawn(command, args, { stdio: ['ignore', 'ignore', 'pipe'] });
    this.#process = child;
    let log = '';
    child.stderr?.on('data', (chunk: Buffer) => (log = (log + chunk.toString()).slice(-8_000)));
    const deadline = Date.now() + START_LIMIT_MS;
    while (!(await answers(this.endpoint))) {
      if (child.exitCode !== null || Date.now() > deadline)
        throw new Error(`sshd did not start:\n${log}`);
      await new Promise((resolve) => setTimeout(resolve, 20));
    }
  }

  /** Ends sshd and the connections that it serves, as a crash does: commands that it started are left alone. */
  async crash(): Promise<void> {
    const listener = this.#process;
    const sessions = this.sessionPids();
    if (listener !== undefined && listener.exitCode === null && listener.signalCode === null) {
      const gone = once(listener, 'exit');
      listener.kill('SIGKILL');
      await gone;
    }
    for (const pid of sessions) signalIfThere(pid, 'SIGKILL');
  }

  /** The processes that serve connections: one or two for each. */
  sessionPids(): number[] {
    const root = this.#process?.pid;
    if (root === undefined) return [];
    const found: number[] = [];
    const wanted = new Set([root]);
    const all = processes();
    for (let grown = true; grown;) {
      grown = false;
      for (const { pid, ppid, name } of all) {
        if (!wanted.has(ppid) || wanted.has(pid) || !name.startsWith('sshd')) continue;
        wanted.add(pid);
        found.push(pid);
        grown = true;
      }
    }
    return found;
  }

  /** Connections that are established now, by the kernel's table. */
  connections(): number {
    const port = this.endpoint.port.toString(16).toUpperCase().padStart(4, '0');
    const rows = readFileSync('/proc/net/tcp', 'utf8').split('\n').slice(1);
    return rows.filter((row) => {
      const [, local, , state] = row.trim().split(/\s+/);
      return local?.endsWith(`:${port}`) === true && state === '01';
    }).length;
  }

  /** Sends a signal to all that serve connections; the listener goes on. */
  signalSessions(signal: NodeJS.Signals): void {
    for (const pid of this.sessionPids()) signalIfThere(pid, signal);
  }

  /** Gives the host a new key. Counts from the next `listen`. */
  replaceHostKey(): void {
    const file = path.join(this.dir, 'host_key');
    rmSync(file);
    rmSync(`${file}.pub`);
    makeKey(file);
  }

  /** The host's public key as a known_hosts line has it: type and base64. */
  hostPublicKey(): string {
    return readFileSync(path.join(this.dir, 'host_key.pub'), 'utf8')
      .split(' ')
      .slice(0, 2)
      .join(' ');
  }

  /** Makes a container for `pct exec`: a folder of its own, with a home and a state directory. Returns the folder. */
  addContainer(pveId: number): string {
    const folder = path.join(this.dir, 'containers', String(pveId));
    mkdirSync(path.join(folder, 'home'), { recursive: true });
    return folder;
  }

  /** Ends the server and all that it still runs, and takes its folder away. */
  async stop(): Promise<void> {
    await this.crash();
    for (const pid of processesIn(this.dir)) signalIfThere(pid, 'SIGKILL');
    rmSync(this.dir, { recursive: true, force: true, maxRetries: 5, retryDelay: 100 });
  }

  #prepare(options: TestSshdOptions): void {
    const { dir } = this;
    chmodSync(dir, 0o755);
    const bin = path.join(dir, 'bin');
    for (const folder of [this.home, bin, path.join(dir, 'containers')])
      mkdirSync(folder, { recursive: true });
    makeKey(path.join(dir, 'host_key'));
    makeKey(this.keyFile);
    writeFileSync(path.join(dir, 'authorized_keys'), readFileSync(`${this.keyFile}.pub`));
    writeFileSync(path.join(bin, 'pct'), pctScript(path.join(dir, 'containers')), { mode: 0o755 });
    const env = {
      HOME: this.home,
      PATH: `${bin}:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin`,
      NOMOS_STATE_DIR: path.dirname(this.state),
      NOMOS_TEST_SSHD: dir,
      ...options.env,
    };
    if (userInfo().uid === 0) mkdirSync('/run/sshd', { recursive: true });
    writeFileSync(
      path.join(dir, 'sshd_config'),
      [
        `Port ${this.endpoint.port}`,
        `ListenAddress ${this.endpoint.address}`,
        `HostKey ${path.join(dir, 'host_key')}`,
        `AuthorizedKeysFile ${path.join(dir, 'authorized_keys')}`,
        'PidFile none',
        'StrictModes no',
        'UsePAM no',
        'PermitRootLogin prohibit-password',
        'PasswordAuthentication no',
        'KbdInteractiveAuthentication no',
        `SetEnv ${Object.entries(env)
          .map(([name, value]) => `${name}="${value}"`)
          .join(' ')}`,
        ...(options.config ?? []),
        '',
      ].join('\n'),
    );
  }
}

// Does as `pct exec <id> -- command…` does: runs the command inside, with the exit code and the three streams handed through. "Inside" is
// a folder with a home and a state directory of its own; where the folder has a file system of its own (a `root`), that.
function pctScript(containers: string): string {
  return `#!/bin/sh
[ "$1" = exec ] && [ "$3" = -- ] || { echo "usage: pct exec <vmid> -- command" >&2; exit 255; }
c=${containers}/$2
[ -d "$c" ] || { echo "Configuration file 'nodes/pve/lxc/$2.conf' does not exist" >&2; exit 2; }
[ ! -e "$c/stopped" ] || { echo "container '$2' not running!" >&2; exit 255; }
shift 3
if [ -d "$c/root" ]; then
  exec unshare -m sh -c 'mount -t proc proc "$0/proc"; c=$0; exec env -i NOMOS_TEST_SSHD="$NOMOS_TEST_SSHD" HOME=/root PATH=/bin:/sbin:/usr/bin chroot "$c" "$@"' "$c/root" "$@"
fi
exec env HOME="$c/home" NOMOS_STATE_DIR="$c/state" "$@"
`;
}

function makeKey(file: string): void {
  execFileSync('ssh-keygen', ['-q', '-t', 'ed25519', '-N', '', '-C', 'test', '-f', file]);
}

async function freePort(): Promise<number> {
  const server = net.createServer();
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  server.close();
  await once(server, 'close');
  if (address === null || typeof address === 'string') throw new Error('no port');
  return address.port;
}

function answers({ address, port }: HostEndpoint): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = net.connect(port, address);
    socket.once('data', () => {
      socket.destroy();
      resolve(true);
    });
    socket.once('error', () => resolve(false));
    socket.once('end', () => resolve(false));
  });
}

/** One line of the process table. */
export interface ProcessRow {
  pid: number;
  ppid: number;
  pgid: number;
  name: string;
  state: string;
}

/** The process table, from /proc. */
export function processes(): ProcessRow[] {
  const rows: ProcessRow[] = [];
  for (const entry of readdirSync('/proc')) {
    if (!/^[0-9]+$/.test(entry)) continue;
    try {
      const stat = readFileSync(`/proc/${entry}/stat`, 'latin1');
      const [state = '', ppid, pgid] = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
      const name = stat.slice(stat.indexOf('(') + 1, stat.lastIndexOf(')'));
      rows.push({ pid: Number(entry), ppid: Number(ppid), pgid: Number(pgid), name, state });
    } catch {
      // It ended between the listing and the reading.
    }
  }
  return rows;
}

/** The living processes of a test server: those whose environment or working directory names its folder. */
export function processesIn(dir: string): number[] {
  return processes()
    .filter(({ pid, state }) => {
      if (state === 'Z' || pid === process.pid) return false;
      try {
        // What runs in a container that is played by a folder has no variable that names it.
        return (
          readFileSync(`/proc/${pid}/environ`, 'latin1').includes(dir) ||
          readlinkSync(`/proc/${pid}/cwd`).startsWith(dir)
        );
      } catch {
        return false;
      }
    })
    .map(({ pid }) => pid);
}

function signalIfThere(pid: number, signal: NodeJS.Signals): void {
  try {
    process.kill(pid, signal);
  } catch (error) {
    if (!(error instanceof Error && 'code' in error && error.code === 'ESRCH')) throw error;
  }
}

/** How many living processes have this text in their command line. */
export function runningWith(mark: string): number {
  return processes().filter(({ pid, state }) => {
    if (state === 'Z' || pid === process.pid) return false;
    try {
      return readFileSync(`/proc/${pid}/cmdline`, 'latin1').replaceAll('\0', ' ').includes(mark);
    } catch {
      return false;
    }
  }).length;
}
