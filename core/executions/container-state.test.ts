import { expect, test } from 'vitest';
import { classify } from '../policy/classify.ts';
import { containerStateCommand, readContainerState } from './container-state.ts';

test('F1: the state of a container is read from what its host prints, and reading it changes nothing', () => {
  expect(classify(containerStateCommand(101)).risk).toBe('read_only');
  const printed =
    'cpu: 0\nstatus: running\nuptime: 4711\nmaxmem: 536870912\n\n#a note: with a colon\narch: amd64\nhostname: dns\nnet0: name=eth0,bridge=vmbr0,ip=dhcp\n';
  expect(readContainerState(printed)).toEqual({
    status: 'running',
    live: { cpu: '0', uptime: '4711', maxmem: '536870912' },
    config: { arch: 'amd64', hostname: 'dns', net0: 'name=eth0,bridge=vmbr0,ip=dhcp' },
  });
  expect(readContainerState('status: stopped\n\n')).toMatchObject({ status: 'stopped' });
  expect(readContainerState('pct: not found')).toBeUndefined();
});
