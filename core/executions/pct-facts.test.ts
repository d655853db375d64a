import { describe, expect, test } from 'vitest';
import { classify } from '../policy/classify.ts';
import {
  chooseId,
  chooseTemplate,
  GUESTS_COMMAND,
  NEXT_ID_COMMAND,
  nextId,
  storagesOf,
  takenIds,
  TEMPLATE_STORAGES_COMMAND,
  templatesCommand,
  templatesOf,
} from './pct-facts.ts';

const THERE = [
  'local:vztmpl/debian-9.0-standard_9.7-1_amd64.tar.gz',
  'local:vztmpl/debian-12-standard_12.7-1_amd64.tar.zst',
  'nas:vztmpl/debian-12-standard_12.12-1_amd64.tar.zst',
  'local:vztmpl/debian-12-turnkey-nextcloud_18.0-1_amd64.tar.gz',
  'local:vztmpl/ubuntu-24.04-standard_24.04-2_amd64.tar.zst',
  'local:vztmpl/alpine-3.20-default_20240908_amd64.tar.xz',
];

describe('X11: what a host has decides what a container is made of', () => {
  test('the questions only read', () => {
    for (const command of [
      GUESTS_COMMAND,
      NEXT_ID_COMMAND,
      TEMPLATE_STORAGES_COMMAND,
      templatesCommand(['local', 'nas-2']),
    ])
      expect([command, classify(command).risk]).toEqual([command, 'read_only']);
  });

  test.each([
    ['exact', 'local:vztmpl/debian-12-standard_12.7-1_amd64.tar.zst', THERE[1]],
    ['exact', 'debian-12-standard_12.7-1_amd64.tar.zst', THERE[1]],
    ['exact', 'local:debian-12-standard_12.7-1_amd64.tar.zst', THERE[1]],
    ['prefix', 'debian-12', THERE[2]],
    ['prefix', 'Ubuntu', THERE[4]],
    ['prefix', 'local:vztmpl/debian', THERE[1]],
    ['prefix', 'debian-12-turnkey', THERE[3]],
    ['newest', undefined, THERE[2]],
    ['instead', 'debian-99', THERE[2]],
    ['instead', '$(id)', THERE[2]],
  ])('a template by %s: %s', (how, asked, template) => {
    expect(chooseTemplate(asked, THERE)).toEqual({ how, template });
  });

  test('without a Debian it is the newest that there is, and without any there is none', () => {
    expect(chooseTemplate(undefined, THERE.slice(4))).toEqual({
      how: 'newest',
      template: THERE[4],
    });
    expect(chooseTemplate('debian', [])).toBeUndefined();
  });

  test('a number that is taken anywhere, or spoken for, is replaced by the next free one', () => {
    const facts = { taken: new Set([100, 101, 103]), reserved: new Set([102, 104]), next: 102 };
    expect(chooseId(undefined, facts)).toBe(105);
    expect(chooseId(0, facts)).toBe(105);
    expect(chooseId(101, facts)).toBe(105);
    expect(chooseId(104, facts)).toBe(105);
    expect(chooseId(200, facts)).toBe(200);
  });

  test('what the host prints is read, and anything else is not taken for it', () => {
    expect([...(takenIds('[{"vmid":100,"type":"lxc"},{"vmid":204,"type":"qemu"}]') ?? [])]).toEqual(
      [100, 204],
    );
    for (const other of ['', 'sh: pvesh: not found', '{}', '[{"vmid":"x"}]'])
      expect(takenIds(other)).toBeUndefined();
    expect(['105\n', '"105"\n', '', 'no route', '12'].map(nextId)).toEqual([
      105,
      105,
      undefined,
      undefined,
      undefined,
    ]);
    expect(
      storagesOf(
        'Name   Type  Status   Total Used Available %\nlocal  dir  active  9 1 8 11.11%\nnas  nfs  inactive 0 0 0 N/A\n$(id)  dir  active  1 1 1 1%\n',
      ),
    ).toEqual(['local']);
    expect(templatesOf(`NAME  SIZE\n${THERE[1]}  120.65MB\nlocal:vztmpl/$(id).tar  1MB\n`)).toEqual(
      [THERE[1]],
    );
  });
});
