import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import {
  containerStateCommand,
  readContainerState,
} from '../../core/executions/container-state.ts';
import { gatewayCommand } from '../../core/executions/pct-create.ts';
import {
  chooseTemplate,
  GUESTS_COMMAND,
  NEXT_ID_COMMAND,
  nextId,
  storagesOf,
  takenIds,
  TEMPLATE_STORAGES_COMMAND,
  templatesCommand,
  templatesOf,
} from '../../core/executions/pct-facts.ts';
import { testFleet } from './test-support/client.ts';
import type { TestFleet } from './test-support/client.ts';

// What an operator asks for in the demo, step by step, on one fleet: its state must hold together from one command to the next.
describe('the stories of the demo fleet', { timeout: 60_000 }, () => {
  let t: TestFleet;
  beforeAll(async () => {
    t = await testFleet();
  }, 60_000);
  afterAll(() => t.end());

  const out = async (host: string, command: string): Promise<string> =>
    (await t.run(host, command)).stdout;

  it('nginx on web-1 is down, says why, and a restart mends it', async () => {
    expect(await t.run('web-1', 'systemctl is-active nginx')).toMatchObject({
      stdout: 'failed\n',
      exitCode: 3,
    });
    expect(await out('web-1', 'systemctl --failed --no-legend')).toContain('nginx.service');
    expect(await out('web-1', 'journalctl -u nginx -p err --no-pager')).toContain(
      'host not found in upstream',
    );
    expect((await t.run('web-1', 'nginx -t')).stderr).toContain('test is successful');
    expect(await t.run('web-1', 'curl -sSf http://localhost/')).toMatchObject({ exitCode: 7 });
    expect(await out('web-1', 'ss -tln')).not.toContain(':80 ');

    expect((await t.run('web-1', 'systemctl restart nginx')).exitCode).toBe(0);

    expect(await out('web-1', 'systemctl is-active nginx')).toBe('active\n');
    expect(await out('web-1', 'systemctl status nginx')).toContain('Active: active (running)');
    const code = `curl -s -o /dev/null -w '%{http_code}' http://www.home.example/`;
    expect(await out('web-1', code)).toBe('200');
    expect(await out('db-1', code)).toBe('200');
    expect(await out('web-1', 'ss -tlnp')).toContain('0.0.0.0:80');
    expect(await out('web-1', 'ps aux')).toContain('nginx: worker process');
  });

  it('a stopped nginx stops answering', async () => {
    await t.run('web-1', 'systemctl stop nginx');
    expect((await t.run('db-1', 'curl -s http://web-1/')).exitCode).toBe(7);
    await t.run('web-1', 'sudo systemctl start nginx');
    expect((await t.run('db-1', 'curl -s http://web-1/')).exitCode).toBe(0);
  });

  it('an upgrade is simulated, shows itself while it runs, and is then no longer due', async () => {
    expect(await out('db-1', 'apt-get -s upgrade | grep -c ^Inst')).toBe('5\n');
    expect(await out('db-1', 'apt list --upgradable 2>/dev/null')).toContain('postgresql-15');
    const declined = await t.run('db-1', 'apt-get upgrade');
    expect(declined).toMatchObject({ exitCode: 1 });

    const pieces: string[] = [];
    const done = await t.run(
      'db-1',
      'apt-get update && DEBIAN_FRONTEND=noninteractive apt-get -y upgrade; echo "ended $?"',
      { onOutput: (_stream, bytes) => pieces.push(Buffer.from(bytes).toString()) },
    );
    expect(done.stdout).toMatch(/Setting up postgresql-15 \(15\.6[^]*ended 0\n$/);
    expect(pieces.length).toBeGreaterThan(10);
    expect(pieces.join('')).toBe(done.stdout);

    expect(await out('db-1', 'apt-get -s upgrade | grep -c ^Inst')).toBe('0\n');
    expect(await out('db-1', 'apt list --upgradable 2>/dev/null')).toBe('Listing...\n');
    expect(await out('db-1', 'dpkg -l postgresql-15 | tail -1')).toContain('15.6-0+deb12u1');
  });

  it('an upgrade that is cancelled leaves the rest undone', async () => {
    const stop = new AbortController();
    await t.run('pve-1', 'apt-get -y upgrade', {
      signal: stop.signal,
      onOutput: (_stream, bytes) => {
        if (Buffer.from(bytes).includes('Setting up')) stop.abort();
      },
    });
    expect(Number(await out('pve-1', 'apt-get -s upgrade | grep -c ^Inst'))).toBeGreaterThan(0);
  });

  it('nas-1 is nearly full, an old folder is to blame, and deleting it frees the space', async () => {
    const use = `df --output=pcent /srv/backup | tail -1 | tr -dc 0-9`;
    expect(Number(await out('nas-1', use))).toBeGreaterThan(95);
    expect(await out('nas-1', 'du -sh /srv/backup/* | sort -h')).toMatch(
      /613G\s+\/srv\/backup\/2023-old/,
    );
    expect(await out('nas-1', 'cat /srv/backup/2023-old/README.txt')).toContain('then delete');

    expect((await t.run('nas-1', 'rm -rf /srv/backup/2023-old')).exitCode).toBe(0);

    expect(Number(await out('nas-1', use))).toBeLessThan(70);
    expect(await out('nas-1', 'ls /srv/backup')).toBe('README.txt\ndaily\nweekly\n');
    expect(await out('nas-1', 'zpool list -H')).toContain('ONLINE');
  });

  it('the containers are listed, entered, stopped and started', async () => {
    expect(await out('pve-1', 'pct list')).toMatch(/105\s+stopped\s+old-wiki/);
    expect(await out('pve-1', `pct exec 102 -- sh -c 'hostname; df -h / | tail -1'`)).toMatch(
      /^gitea\n.* 82% \/\n$/,
    );
    expect(await t.run('pve-1', 'pct exec 105 -- hostname')).toMatchObject({ exitCode: 255 });
    await t.run('pve-1', 'pct start 105');
    expect(await out('pve-1', 'pct exec 105 -- hostname')).toBe('old-wiki\n');
    await t.run('pve-1', 'pct shutdown 105');
    expect(await out('pve-1', 'pct status 105')).toBe('status: stopped\n');
    expect(await out('pve-1', 'qm list')).toContain('home-assistant');
  });

  it('X11: a container is created from a template, started, refused twice, and destroyed', async () => {
    const template = 'local:vztmpl/debian-12-standard_12.7-1_amd64.tar.zst';
    const storages = storagesOf(await out('pve-1', TEMPLATE_STORAGES_COMMAND));
    const templates = templatesOf(await out('pve-1', templatesCommand(storages)));
    expect(chooseTemplate('debian-12', templates)?.template).toBe(template);
    expect(takenIds(await out('pve-1', GUESTS_COMMAND))?.has(105)).toBe(true);
    expect(nextId(await out('pve-1', NEXT_ID_COMMAND))).toBeGreaterThan(99);
    const ping = async (bridge: string): Promise<number | undefined> =>
      (await t.run('pve-1', gatewayCommand(bridge, '10.20.0.1'))).exitCode;
    expect([await ping('vmbr0'), await ping('vmbr1')]).toEqual([0, 2]);
    expect(readContainerState(await out('pve-1', containerStateCommand(102)))).toMatchObject({
      status: 'running',
      config: { net0: expect.stringContaining('bridge=vmbr0') as string },
    });
    const id = (await out('pve-1', 'pvesh get /cluster/nextid')).trim();
    const create = `pct create ${id} ${template} --hostname probe --net0 name=eth0,bridge=vmbr0,ip=dhcp --start 1`;
    expect((await t.run('pve-1', create)).exitCode).toBe(0);
    expect(await t.run('pve-1', create)).toMatchObject({
      exitCode: 255,
      stderr: `CT ${id} already exists on node 'pve-1'\n`,
    });
    expect(await out('pve-1', `pct exec ${id} -- hostname`)).toBe('probe\n');
    expect(await t.run('pve-1', `pct destroy ${id}`)).toMatchObject({ exitCode: 255 });
    expect((await t.run('pve-1', `pct stop ${id} && pct destroy ${id}`)).exitCode).toBe(0);
    expect(await out('pve-1', 'pct list')).not.toContain('probe');
    const resources = 'pvesh get /cluster/resources --type vm --output-format json';
    expect(JSON.parse(await out('pve-1', resources))).toHaveLength(6);
  });

  it('a reboot of pve-1 brings back what starts at boot', async () => {
    await t.run('pve-1', 'pct start 105; pct snapshot 102 before');
    await t.run('pve-1', 'shutdown -r now');
    await expect
      .poll(async () => (await t.run('pve-1', 'pct list')).stdout, { timeout: 15_000 })
      .toMatch(/102\s+running\s+gitea[^]*105\s+stopped/);
    expect(await out('pve-1', 'pct listsnapshot 102')).toContain('before');
  });
});
