import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { loadOntology } from '../graph/ontology-file.ts';
import { classify } from '../policy/classify.ts';
import { CHECK_KINDS, storedParameters } from './check-kinds.ts';
import { loadChecks, parseChecks } from './check-file.ts';
import { shellProbe } from './probes/shell.ts';
import { wantedChecks, type CheckedEntity } from './wanted-checks.ts';

const ontology = loadOntology('seeds/ontology.yaml');
const read = (checks: string) =>
  parseChecks(`version: 1\nchecks:\n${checks}`, 'checks.yaml', ontology);

describe('S1: the file that declares checks', () => {
  it('the shipped one is sound, and so is each of its examples', () => {
    expect(loadChecks('seeds/checks.yaml', ontology).map(({ name }) => name)).toEqual([
      'reachable',
      'disk',
      'memory',
      'load',
      'unit',
      'http',
      'certificate',
    ]);
    const text = readFileSync('seeds/checks.yaml', 'utf8');
    const examples = text.slice(text.indexOf('# Examples:')).split('\n').slice(2);
    const shown = examples.map((line) => line.replace(/^# ?/, '  ')).join('\n');
    expect(read(shown)).toHaveLength(3);
  });

  it.each([
    ['- { name: a, kind: ping }', /:3:.*a check has a kind: reachable, disk/],
    ['- { name: a, kind: disk, wran: 3 }', /:3:.*unknown key "wran"/],
    ['- { name: A b, kind: disk }', /:3:.*lower case letters/],
    ['- { name: a, kind: disk, every: 5 s }', /:3:.*not a duration/],
    ['- { name: a, kind: disk, every: 1s }', /:3:.*from 10s to/],
    ['- { name: a, kind: disk, match: { type: hosts } }', /:3:.*unknown entity type "hosts"/],
    ['- { name: a, kind: disk, warn: 95 }', /:3:.*warn \(95\) must not be more than fail \(90\)/],
    ['- { name: a, kind: certificate, fail: 30 }', /:3:.*fail \(30 days\) must not be more/],
    ['- { name: a, kind: unit, unit: "x; reboot" }', /:3:.*the name of a systemd unit/],
    ['- { name: a, kind: http, url: "file:///etc/passwd" }', /:3:.*http or https/],
    [
      '- name: a\n  kind: command\n  command: systemctl restart nginx',
      /:5:.*is config_mutation.*must be read_only/,
    ],
    ['- name: a\n  kind: command\n  command: rm -rf /srv', /:5:.*is destructive/],
    ['- name: a\n  kind: command\n  command: "cat $(mystery)"', /:5:.*must be read_only/],
  ])('%s is refused with its line', (check, words) => {
    const indented = check.replaceAll(/^/gm, '  ');
    let said = '';
    try {
      read(indented);
    } catch (error) {
      said = String(error);
    }
    expect(said.replaceAll(/\s+/g, ' ')).toMatch(words);
  });

  it('P1: what the built-in kinds run on a machine only reads, by the same classifier as all commands', () => {
    const commands = CHECK_KINDS.flatMap((kind) => {
      const given = kind === 'command' ? { command: 'uptime' } : { unit: 'nginx@a.service' };
      const parsed = storedParameters.parse({
        kind,
        version: 1,
        ...(kind === 'unit' || kind === 'command' ? given : {}),
      });
      return shellProbe(parsed)?.command ?? [];
    });
    expect(commands).toHaveLength(6);
    expect(commands.map((command) => [command, classify(command).risk])).toEqual(
      commands.map((command) => [command, 'read_only']),
    );
  });
});

describe('S1: which checks a fleet has', () => {
  const entity = (slug: string, more: Partial<CheckedEntity> = {}): CheckedEntity => ({
    id: slug,
    slug,
    type: slug.slice(0, slug.indexOf(':')),
    state: 'active',
    usualState: 'active',
    reach: 'ssh',
    attributes: {},
    runsOn: undefined,
    ...more,
  });
  const wanted = (checks: string, ...entities: CheckedEntity[]): string[] =>
    wantedChecks(read(checks), entities).map(
      ({ entityId, definition, machine }) =>
        `${definition.name} ${entityId} ${machine ?? 'network'}`,
    );

  it('machines get what is for machines, a service its unit on the machine that it runs on, the rest what its facts allow', () => {
    const fleet = [
      entity('host:a'),
      entity('lxc:c', { reach: 'pct' }),
      entity('service:web@a', {
        reach: 'none',
        runsOn: 'host:a',
        attributes: { unit: 'web.service', url: 'https://web.lan:8443/health' },
      }),
      entity('service:odd@a', {
        reach: 'none',
        runsOn: 'host:a',
        attributes: { unit: 'x; reboot' },
      }),
      entity('network:lan', { reach: 'none' }),
    ];
    const made = wantedChecks(loadChecks('seeds/checks.yaml', ontology), fleet);
    expect(made.map(({ entityId, definition }) => `${entityId} ${definition.name}`)).toEqual([
      ...['host:a', 'lxc:c'].flatMap((slug) =>
        ['reachable', 'disk', 'memory', 'load'].map((name) => `${slug} ${name}`),
      ),
      ...['unit', 'http', 'certificate'].map((name) => `service:web@a ${name}`),
    ]);
    const { parameters, machine } = made.at(-3) ?? {};
    expect({ parameters, machine }).toEqual({
      parameters: { kind: 'unit', version: 1, unit: 'web.service' },
      machine: 'host:a',
    });
    expect(made.at(-1)?.parameters).toMatchObject({ address: 'web.lan', port: 8443 });
  });

  it('what is stopped, in maintenance or retired is not looked at', () => {
    const states = ['active', 'maintenance', 'stopped', 'retired'];
    const fleet = states.map((state) => entity(`host:${state}`, { state }));
    expect(wanted('  - { name: load, kind: load }', ...fleet)).toEqual([
      'load host:active host:active',
    ]);
  });

  it('a match narrows, and the last check of a name counts, also one that takes it away', () => {
    const fleet = [
      entity('host:a', { attributes: { tags: ['build'] } }),
      entity('host:b'),
      entity('vm:c'),
    ];
    const file = `
  - { name: load, kind: load, match: { type: [host, vm] } }
  - { name: load, kind: load, match: { tag: build }, enabled: false }
  - { name: disk, kind: disk, match: { target: 'vm:c', type: vm } }
  - { name: disk, kind: disk, match: { target: 'vm:c', type: host } }`;
    expect(wanted(file, ...fleet)).toEqual([
      'load host:b host:b',
      'load vm:c vm:c',
      'disk vm:c vm:c',
    ]);
  });
});
