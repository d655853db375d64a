import { describe, expect, test } from 'vitest';
import { classify } from '../policy/classify.ts';
import { gatewayCommand, newContainer, pctCreateCommand } from './pct-create.ts';

const TEMPLATE = 'local:vztmpl/debian-12-standard_12.7-1_amd64.tar.zst';

describe('X10: pct_create', () => {
  test('is one command with its defaults written out, and changes something', () => {
    const command = pctCreateCommand(newContainer.parse({ hostname: 'Cache-1' }), {
      vmid: 105,
      template: TEMPLATE,
    });
    expect(command).toBe(
      `pct create 105 ${TEMPLATE} --hostname cache-1 --cores 1 --memory 512 --rootfs local-lvm:8 --net0 name=eth0,bridge=vmbr0,ip=dhcp --unprivileged 1 --start 1`,
    );
    expect(classify(command).risk).toBe('config_mutation');
  });

  test.each([
    ['192.0.2.10/24', '192.0.2.1', 'ip=192.0.2.10/24,gw=192.0.2.1'],
    ['2001:db8::10/64', '2001:db8::1', 'ip6=2001:db8::10/64,gw6=2001:db8::1'],
  ])('takes a static address, %s', (address, gateway, shown) => {
    const command = pctCreateCommand(
      newContainer.parse({
        hostname: 'db',
        bridge: 'vmbr1',
        address,
        gateway,
        nameserver: gateway,
        nesting: true,
        start: false,
      }),
      { vmid: 120, template: TEMPLATE },
    );
    expect(command).toContain(`pct create 120 ${TEMPLATE} `);
    expect(command).toContain(
      `--net0 name=eth0,bridge=vmbr1,${shown} --nameserver ${gateway} --features nesting=1 `,
    );
    expect(classify(command).risk).toBe('config_mutation');
    const ping = gatewayCommand('vmbr1', gateway);
    expect(ping).toContain(`-I vmbr1 `);
    expect(classify(ping).risk).toBe('read_only');
    expect(command).toMatch(/--start 0$/);
  });

  test.each([
    ['no hostname', { template: TEMPLATE }, 'hostname'],
    [
      'a hostname that a shell would read',
      { hostname: 'a;reboot', template: TEMPLATE },
      'hostname',
    ],
    ['an option for a hostname', { hostname: '-x', template: TEMPLATE }, 'hostname'],
    [
      'a storage with an option',
      { hostname: 'a', template: TEMPLATE, storage: 'x --force' },
      'storage',
    ],
    ['a vmid below 100', { hostname: 'a', template: TEMPLATE, vmid: 7 }, 'vmid'],
    [
      'an address without a prefix',
      { hostname: 'a', template: TEMPLATE, address: '192.0.2.1', gateway: '192.0.2.2' },
      'address',
    ],
    ['a static address without its gateway', { hostname: 'a', address: '192.0.2.1/24' }, 'gateway'],
    ['a gateway with DHCP', { hostname: 'a', address: 'dhcp', gateway: '192.0.2.1' }, 'gateway'],
    ['a gateway alone', { hostname: 'a', template: TEMPLATE, gateway: '192.0.2.1' }, 'gateway'],
    [
      'a gateway of the other kind',
      { hostname: 'a', template: TEMPLATE, address: '192.0.2.2/24', gateway: '2001:db8::1' },
      'gateway',
    ],
    ['what is unknown', { hostname: 'a', template: TEMPLATE, hook: 'x' }, ''],
  ])('Z3, L3: %s is refused, by its field', (_what, given, field) => {
    const result = newContainer.safeParse(given);
    expect(result.success).toBe(false);
    expect(result.error?.issues[0]?.path.join('.')).toBe(field);
  });

  test('Z3: a template is only ever one that a host named', () => {
    const container = newContainer.parse({ hostname: 'a', template: 'local:vztmpl/$(id)' });
    expect(() =>
      pctCreateCommand(container, { vmid: 100, template: container.template ?? '' }),
    ).toThrow(RangeError);
  });
});
