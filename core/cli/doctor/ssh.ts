import { once } from 'node:events';
import { readFileSync, statSync } from 'node:fs';
import { createConnection } from 'node:net';
import type { Config } from '../../config/config.ts';
import { loadCredentials } from '../../executions/ssh/credentials.ts';
import { parseKnownHosts } from '../../executions/ssh/known-hosts.ts';
import type { Inventory } from '../../graph/inventory-file.ts';
import type { Ontology } from '../../graph/ontology-file.ts';
import { failed, failure, networkTrouble, ok, warning, type Finding } from './finding.ts';

const CONNECT_MS = 4_000;
const AT_ONCE = 16;
const DEFAULT_PORT = 22;

/** What this program logs in with: a key that can be read, an agent that answers, known hosts that can be read. */
export async function checkSsh(ssh: Config['ssh']): Promise<Finding[]> {
  const findings: Finding[] = [];
  try {
    await loadCredentials(ssh);
    if (ssh.keyFile !== undefined) findings.push(key(ssh.keyFile));
  } catch (error) {
    findings.push(failure('ssh key', error));
  }
  if (ssh.agentSocket !== undefined && ssh.agentSocket !== '') {
    findings.push(await agent(ssh.agentSocket, ssh.keyFile !== undefined));
  }
  if (ssh.knownHosts !== undefined) findings.push(knownHosts(ssh.knownHosts));
  return findings;
}

function key(file: string): Finding {
  const open = (statSync(file).mode & 0o077) !== 0;
  return open
    ? warning('ssh key', `${file} can be read by others`, `chmod 600 ${file}`)
    : ok('ssh key', file);
}

async function agent(socket: string, haveKey: boolean): Promise<Finding> {
  try {
    await reach({ path: socket });
    return ok('ssh agent', socket);
  } catch (error) {
    const detail = `${socket}: ${networkTrouble(error)}`;
    const mend = 'Start ssh-agent again, or take SSH_AUTH_SOCK out of the environment.';
    return haveKey ? warning('ssh agent', detail, mend) : failed('ssh agent', detail, mend);
  }
}

function knownHosts(file: string): Finding {
  try {
    return ok('known hosts', `${file}: ${parseKnownHosts(readFileSync(file, 'utf8')).length} keys`);
  } catch (error) {
    return failure('known hosts', error, 'Correct NOMOS_KNOWN_HOSTS.');
  }
}

/** Every machine of the inventory that commands may go to by SSH: whether an SSH server answers there. Nobody is logged in. */
export async function checkHosts(fleet: {
  ontology: Ontology;
  inventory: Inventory;
}): Promise<Finding[]> {
  const machines = fleet.inventory.entities.filter((entity) => {
    const type = fleet.ontology.entityTypes.get(entity.type);
    const runnable = type?.states.find((state) => state.name === entity.state)?.runnable === true;
    return type?.reach === 'ssh' && runnable;
  });
  const findings: Finding[] = [];
  for (let from = 0; from < machines.length; from += AT_ONCE) {
    const some = machines.slice(from, from + AT_ONCE);
    findings.push(
      ...(await Promise.all(
        some.map(({ slug, attributes }) =>
          host(slug, String(attributes['address']), Number(attributes['ssh_port'] ?? DEFAULT_PORT)),
        ),
      )),
    );
  }
  return findings;
}

async function host(slug: string, address: string, port: number): Promise<Finding> {
  const where = `${address}, port ${port}`;
  try {
    const banner = await reach({ host: address, port, banner: true });
    if (/^SSH-(2\.0|1\.99)-/.test(banner)) return ok(slug, `${where}: ${banner.slice(0, 60)}`);
    return failed(slug, `${where}: what answers there is no SSH server`, 'Check ssh_port.');
  } catch (error) {
    return failed(
      slug,
      `${where}: ${networkTrouble(error)}`,
      'Check address and ssh_port in the inventory, and that its SSH server is up.',
    );
  }
}

/** Connects and hangs up; with `banner` it waits for the first line. */
async function reach(
  where: { path: string } | { host: string; port: number; banner: true },
): Promise<string> {
  const socket = createConnection(where);
  const timer = setTimeout(
    () => socket.destroy(Object.assign(new Error('no answer'), { code: 'ETIMEDOUT' })),
    CONNECT_MS,
  );
  try {
    await once(socket, 'connect');
    if (!('banner' in where)) return '';
    let text = '';
    for await (const chunk of socket as AsyncIterable<Buffer>) {
      text += chunk.toString('latin1');
      if (text.includes('\n') || text.length > 1_024) break;
    }
    return text.split(/\r?\n/)[0] ?? '';
  } finally {
    clearTimeout(timer);
    socket.destroy();
  }
}
