import { writeFileSync } from 'node:fs';
import path from 'node:path';
import type { TestSshd } from '../../support/sshd.ts';
import type { StepKind } from './model.ts';

/** The commands of the workload. Each writes its execution's own id, which is the name of the folder that its wrapper works in. */
export function commandsOn(
  sshd: TestSshd,
): (kind: StepKind, token: string, step: number) => string {
  const write = (which: string, token: string): string =>
    `printf '%s ${token} %s\\n' "$(basename "$(readlink /proc/$PPID/cwd)")" "$(date +%s%3N)" >> ${path.join(sshd.home, `${which}.log`)}`;
  return (kind, token, step) => {
    const name = `${token}-${step}`;
    const begin = write('starts', name);
    const end = write('ends', name);
    switch (kind) {
      case 'read':
      case 'reads':
        return `uname -a; echo ${name}`;
      case 'slow':
        return `${begin}; sleep 2.5; ${end}`;
      case 'endless':
        return `${begin}; sleep 300; ${end}`;
      case 'fail':
        return `${begin}; ${end}; exit 3`;
      case 'destroy':
        return `${begin}; rm -rf ${path.join(sshd.home, 'scratch', name)}; ${end}`;
      default:
        return `${begin}; ${end}`;
    }
  };
}

/** An inventory of three hosts, all of them this server. */
export function writeInventory(dir: string, sshd: TestSshd): void {
  const { address, port, user } = sshd.endpoint;
  const hosts = ['web-1', 'web-2', 'web-3'].map(
    (name) =>
      `  - { slug: 'host:${name}', type: host, attributes: { address: ${address}, ssh_port: ${port}, ssh_user: ${user} } }`,
  );
  writeFileSync(
    path.join(dir, 'inventory.yaml'),
    `version: 1\nentities:\n${hosts.join('\n')}\nrelations: []\n`,
  );
}
