import { mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { loadInventory } from '../../core/graph/inventory-file.ts';
import { loadOntology } from '../../core/graph/ontology-file.ts';
import { soundKeyPair } from './home.ts';
import { startDemoFleet } from './index.ts';
import type { DemoFleet, DemoFleetOptions } from './index.ts';

const ontology = loadOntology(fileURLToPath(new URL('../../seeds/ontology.yaml', import.meta.url)));

describe('what the demo fleet keeps', { timeout: 60_000 }, () => {
  let home: string;
  const running: DemoFleet[] = [];
  const start = async (options: Partial<DemoFleetOptions> = {}): Promise<DemoFleet> => {
    const fleet = await startDemoFleet({ home, pace: 0.02, ...options });
    running.push(fleet);
    return fleet;
  };
  beforeEach(() => {
    home = mkdtempSync(join(tmpdir(), 'fleet-home-'));
  });
  afterEach(async () => {
    await Promise.all(running.splice(0).map((fleet) => fleet.stop()));
    rmSync(home, { recursive: true });
  });

  it('an inventory with the ports that are really listened on', async () => {
    const fleet = await start();
    const { entities } = loadInventory(fleet.inventoryPath, ontology);
    for (const { slug, port } of fleet.hosts) {
      const entity = entities.find((candidate) => candidate.slug === slug);
      expect(entity?.attributes).toMatchObject({ address: '127.0.0.1', ssh_port: port });
    }
    expect(fleet.hosts).toHaveLength(entities.filter(({ type }) => type === 'host').length);
    expect(entities.filter(({ type }) => type === 'lxc')).toHaveLength(5);
  });

  it('Z4: private keys that only their owner can read', async () => {
    const fleet = await start();
    expect(statSync(fleet.privateKeyPath).mode & 0o777).toBe(0o600);
    expect(statSync(join(home, 'host_key_web-1')).mode & 0o777).toBe(0o600);
    expect(readFileSync(fleet.privateKeyPath, 'utf8')).toContain('OPENSSH PRIVATE KEY');
  });

  it('a key pair that came out spoilt is made anew, and given up in the end', () => {
    const spoilt = { private: 'rubbish', public: 'rubbish' };
    const sound = soundKeyPair();
    const made = [spoilt, spoilt, sound];
    expect(soundKeyPair(() => made.shift() ?? spoilt)).toBe(sound);
    expect(() => soundKeyPair(() => spoilt)).toThrow('No usable ed25519 key');
  });

  it('Z5: the same keys and ports at the next start', async () => {
    const first = await start();
    const files = ['id_ed25519', 'host_key_db-1', 'known_hosts', 'ports.json', 'inventory.yaml'];
    const before = files.map((name) => readFileSync(join(home, name), 'utf8'));
    await first.stop();
    await start();
    expect(files.map((name) => readFileSync(join(home, name), 'utf8'))).toEqual(before);
  });

  it('another port where the last one is taken', async () => {
    const first = await start();
    await first.stop();
    const web = first.hosts.find(({ slug }) => slug === 'host:web-1')?.port ?? 0;
    const blocker = createServer();
    await new Promise<void>((resolve) => blocker.listen(web, '127.0.0.1', resolve));
    const second = await start();
    expect(second.hosts.find(({ slug }) => slug === 'host:web-1')?.port).not.toBe(web);
    await new Promise((resolve) => blocker.close(resolve));
  });

  it('a port that was asked for and is taken is named', async () => {
    const blocker = createServer();
    await new Promise<void>((resolve) => blocker.listen(0, '127.0.0.1', resolve));
    const { port } = blocker.address() as AddressInfo;
    await expect(start({ ports: { 'host:db-1': port } })).rejects.toMatchObject({
      code: 'demo_fleet_failed',
      message: `Port ${port} for host:db-1 of the demo fleet is taken.`,
    });
    await new Promise((resolve) => blocker.close(resolve));
  });

  it.each(['id_ed25519', 'host_key_pve-1', 'ports.json'])(
    'a spoilt %s is named, with the way out',
    async (name) => {
      writeFileSync(join(home, name), 'rubbish');
      await expect(start()).rejects.toMatchObject({
        message: expect.stringContaining(join(home, name)) as string,
        hint: expect.stringContaining('Delete it') as string,
      });
    },
  );

  it('tells of each command that arrives, and where', async () => {
    const { testFleet } = await import('./test-support/client.ts');
    const seen: unknown[] = [];
    const t = await testFleet({ onCommand: (command) => seen.push(command) });
    await t.run('web-1', 'uptime', { kind: 'read' });
    await t.run('pve-1', 'true', { target: t.target('pve-1', { name: 'dns', pveId: 101 }) });
    await t.end();
    expect(seen).toEqual([
      { target: 'host:web-1', command: 'uptime', kind: 'read' },
      { target: 'lxc:dns', command: 'true', kind: 'change' },
    ]);
  });
});
