import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir, userInfo } from 'node:os';
import path from 'node:path';
import { findSshd, TestSshd } from './sshd.ts';

/** What a Proxmox look-alike on a test server has. */
export interface ProxmoxFacts {
  /** Numbers of guests anywhere in the cluster. */
  guests: readonly number[];
  templates: readonly string[];
  /** The bridge on which pings are answered. */
  goodBridge: string;
}

/** Why no Proxmox look-alike can be made here; undefined if one can. */
export function proxmoxMissing(): string | undefined {
  if (findSshd() === undefined) return 'sshd is not installed';
  // Reads run with the system's own PATH, so the programs have to lie in one of its directories.
  return userInfo().uid === 0 ? undefined : 'a mount namespace can be made by root only';
}

/** An sshd that answers like a Proxmox host, in a mount namespace of its own. */
export class TestProxmox implements AsyncDisposable {
  readonly sshd: TestSshd;
  readonly #dir: string;

  private constructor(sshd: TestSshd, dir: string) {
    this.sshd = sshd;
    this.#dir = dir;
  }

  static async start(slug: string, has: ProxmoxFacts): Promise<TestProxmox> {
    const dir = mkdtempSync(path.join(tmpdir(), 'nomos-proxmox-'));
    mkdirSync(path.join(dir, 'bin'));
    writePrograms(dir, has);
    const sshd = await TestSshd.start({
      slug,
      launcher: [
        ...['unshare', '-m', 'sh', '-c'],
        'mount --bind "$0" /usr/local/sbin && exec "$@"',
        path.join(dir, 'bin'),
      ],
    });
    return new TestProxmox(sshd, dir);
  }

  /** What `pct` was asked to create, in order, without the word `pct`. */
  get created(): string[] {
    return readFileSync(path.join(this.#dir, 'created'), 'utf8').split('\n').filter(Boolean);
  }

  /** From now on `pct create` fails. */
  refuse(): void {
    writeFileSync(path.join(this.#dir, 'refuse'), '');
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.sshd.stop();
    rmSync(this.#dir, { recursive: true, force: true });
  }
}

// `pvesh`, `pvesm`, `pveam`, `ping`, and a `pct` that knows create, status and config.
function writePrograms(dir: string, { guests, templates, goodBridge }: ProxmoxFacts): void {
  const script = (name: string, body: string): void =>
    writeFileSync(path.join(dir, 'bin', name), `#!/bin/sh\n${body}`, { mode: 0o755 });
  const created = path.join(dir, 'created');
  writeFileSync(created, '');
  script(
    'pvesh',
    `case "$*" in
"get /cluster/resources --type vm --output-format json") echo '${JSON.stringify(
      guests.map((vmid) => ({ vmid, type: vmid % 2 === 0 ? 'lxc' : 'qemu', node: 'other' })),
    )}';;
"get /cluster/nextid") echo 100;;
*) echo "no handler for $*" >&2; exit 2;;
esac
`,
  );
  script(
    'pvesm',
    `printf 'Name  Type  Status  Total\\nlocal  dir  active  9\\nnas  nfs  inactive  0\\n'\n`,
  );
  script(
    'pveam',
    `[ "$1 $2" = "list local" ] || exit 255
printf '%-60s %s\\n' NAME SIZE ${templates.map((name) => `${name} 120.65MB`).join(' ')}
`,
  );
  script(
    'ping',
    `case "$*" in
*"-I ${goodBridge} "*) echo "2 packets transmitted, 2 received, 0% packet loss";;
*) echo "2 packets transmitted, 0 received, 100% packet loss"; exit 1;;
esac
`,
  );
  script(
    'pct',
    `verb=$1; id=$2
case $verb in
create) [ ! -e "${dir}/refuse" ] || { echo "storage 'local-lvm' does not exist" >&2; exit 255; }
  echo "$*" >>"${created}"; echo "extracting archive";;
status) printf 'cpu: 0\\nmem: 1048576\\nstatus: running\\nuptime: 4711\\n';;
config) printf 'arch: amd64\\nhostname: dns\\nnet0: name=eth0,bridge=vmbr1,gw=192.0.2.1,ip=192.0.2.9/24\\n';;
*) exit 255;;
esac
`,
  );
}
