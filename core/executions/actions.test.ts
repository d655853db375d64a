import { expect, test } from 'vitest';
import { classify } from '../policy/classify.ts';
import { aptUpgradeCommand, SYSTEMCTL_VERBS, systemctlCommand, UNIT_NAME } from './actions.ts';

test('X10: named actions are classified like any other command', () => {
  expect(classify(aptUpgradeCommand('audit')).risk).toBe('read_only');
  expect(classify(aptUpgradeCommand('upgrade')).risk).toBe('config_mutation');
  expect(classify(systemctlCommand('status', 'nginx')).risk).toBe('read_only');
  for (const verb of SYSTEMCTL_VERBS) {
    const reads = ['status', 'is-active', 'is-failed'].includes(verb);
    expect([verb, classify(systemctlCommand(verb, 'nginx.service')).risk]).toEqual([
      verb,
      reads ? 'read_only' : 'config_mutation',
    ]);
  }
});

test('X10, Z3: a unit name cannot carry anything that a shell or systemctl would take otherwise', () => {
  for (const name of [
    'nginx; rm -rf /',
    '$(id)',
    '-H',
    'a b',
    'a\nb',
    '`id`',
    "a'b",
    '*',
    '',
    '../x',
  ]) {
    expect(UNIT_NAME.test(name)).toBe(false);
    expect(() => systemctlCommand('restart', name)).toThrow(RangeError);
  }
  expect(systemctlCommand('restart', 'dev-disk-by\\x2duuid.swap')).toBe(
    'systemctl restart dev-disk-by\\\\x2duuid.swap',
  );
});
