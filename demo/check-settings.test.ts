import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, it } from 'vitest';
import { checkSettings } from './check-settings.ts';

const folder = mkdtempSync(join(tmpdir(), 'nomos-settings-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

it('finds nothing wrong where nothing is set: the defaults stand in', () => {
  expect(() => checkSettings({})).not.toThrow();
});

it.each([
  [{ NOMOS_OPERATORS: 'ann=admin' }, /NOMOS_OPERATORS/],
  [{ NOMOS_TIMEZONE: 'Mars/Olympus' }, /NOMOS_TIMEZONE/],
  [{ NOMOS_API_LISTEN: '8090' }, /NOMOS_API_LISTEN/],
  [
    { MATRIX_HOMESERVER_URL: 'https://matrix.example.org' },
    /MATRIX_ACCESS_TOKEN.*NOMOS_OPERATORS/s,
  ],
  [{ NOMOS_INVENTORY: '/nowhere/fleet.yaml' }, /NOMOS_INVENTORY/],
])('tells before anything is started that %j is wrong', (given, why) => {
  expect(() => checkSettings(given)).toThrow(why);
});

it('F3, P6: tells a mistake in the inventory or the policy by its line', () => {
  const inventory = join(folder, 'fleet.yaml');
  writeFileSync(inventory, "version: 1\nentities:\n  - { slug: 'host:a', type: hosst }\n");
  const SSH_AUTH_SOCK = '/tmp/agent';
  expect(() => checkSettings({ NOMOS_INVENTORY: inventory, SSH_AUTH_SOCK })).toThrow(
    /fleet\.yaml:3:.*unknown entity type "hosst"/,
  );
  const policy = join(folder, 'policy.yaml');
  writeFileSync(policy, 'version: 1\nrulez: []\n');
  expect(() => checkSettings({ NOMOS_POLICY: policy })).toThrow(/policy\.yaml:2:.*"rulez"/);
});
