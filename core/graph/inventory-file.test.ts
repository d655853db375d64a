import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';
import { loadInventory, parseInventory } from './inventory-file.ts';
import { loadOntology } from './ontology-file.ts';
import { YamlFileError } from '../yaml-source.ts';

const seeds = new URL('../../seeds/', import.meta.url);
const ontology = loadOntology(fileURLToPath(new URL('ontology.yaml', seeds)));

const small = `entities:
  - slug: host:pve-1
    type: host
    state: maintenance
    attributes: { address: pve.lan, ssh_port: 2222, note: kept }
  - slug: lxc:dns
    type: lxc
    name: resolver
    attributes: { pve_id: 101, host: 'host:pve-1' }
  - slug: service:unbound@dns
    type: service
relations:
  - [service:unbound@dns, runs_on, lxc:dns]
`;

function problemsOf(text: string): string[] {
  try {
    parseInventory(text, 'fleet.yaml', ontology);
  } catch (error) {
    if (error instanceof YamlFileError) return error.message.split('\n');
    throw error;
  }
  return [];
}

describe('F3: the inventory file', () => {
  it('F3: gives entities with defaults, facts and lines', () => {
    const { entities } = parseInventory(small, 'fleet.yaml', ontology);
    expect(entities[0]).toEqual({
      slug: 'host:pve-1',
      type: 'host',
      name: 'pve-1',
      state: 'maintenance',
      attributes: { address: 'pve.lan', ssh_port: 2222, note: 'kept' },
      line: 2,
    });
    expect(entities[1]).toMatchObject({ name: 'resolver', state: 'active', line: 6 });
    expect(entities[2]?.attributes).toEqual({});
  });

  it('X6: a container hangs below its host though no relation says so', () => {
    const { relations } = parseInventory(small, 'fleet.yaml', ontology);
    expect(relations).toEqual([
      { source: 'service:unbound@dns', type: 'runs_on', target: 'lxc:dns', line: 13 },
      { source: 'host:pve-1', type: 'hosts', target: 'lxc:dns', line: 9 },
    ]);
  });

  it('X6: that relation may be written as well and then stands once', () => {
    const { relations } = parseInventory(
      `${small}  - ['host:pve-1', hosts, 'lxc:dns']\n`,
      'fleet.yaml',
      ontology,
    );
    expect(relations.filter((relation) => relation.type === 'hosts')).toHaveLength(1);
  });

  it.each(['inventory.demo.yaml', 'inventory.example.yaml'])('the seed %s is sound', (name) => {
    const { entities, relations } = loadInventory(fileURLToPath(new URL(name, seeds)), ontology);
    expect(entities.length).toBeGreaterThan(5);
    expect(relations.length).toBeGreaterThan(5);
  });

  it.each([
    [
      small.replace('type: host', 'type: hoost'),
      /^fleet\.yaml:3:11: unknown entity type "hoost"; known: .*host, lxc/,
    ],
    [
      small.replace('type: host', 'type: vm'),
      /^fleet\.yaml:2:11: slug "host:pve-1" must begin with its type, "vm:"$/,
    ],
    [
      small.replace('maintenance', 'broken'),
      /^fleet\.yaml:4:12: unknown state "broken" of a host; allowed: active, /,
    ],
    [
      small.replace('address: pve.lan, ', ''),
      /^fleet\.yaml:5:17: attributes\.address of host:pve-1: missing/,
    ],
    [
      small.replace('pve.lan', '-oProxyCommand=x'),
      /^fleet\.yaml:5:28: attributes\.address .*"-oProxyCommand=x"/,
    ],
    [
      small.replace('2222', '70000'),
      /^fleet\.yaml:5:47: attributes\.ssh_port of host:pve-1: .*70000/,
    ],
    [
      small.replace('pve_id: 101, ', ''),
      /^fleet\.yaml:9:17: attributes\.pve_id of lxc:dns: missing/,
    ],
    [
      small.replace(", host: 'host:pve-1'", ''),
      /^fleet\.yaml:9:17: attributes\.host of lxc:dns: missing/,
    ],
    [
      small.replace("host: 'host:pve-1'", 'host: pve-1'),
      /^fleet\.yaml:9:38: host "pve-1" of lxc:dns is not in this file; known: host:pve-1$/,
    ],
    [small.replace('slug: lxc:dns', 'slug: LXC dns'), /^fleet\.yaml:6:11: .*lower case/],
    [
      small.replace('state: m', 'address: m'),
      /^fleet\.yaml:4:5: unknown key "address" in entities\.0; .*facts such as address stand under attributes: \{ address: … \}$/,
    ],
    [
      small.replace('lxc:dns]', 'lxc:dsn]'),
      /^fleet\.yaml:13:36: target "lxc:dsn" of runs_on is not among/,
    ],
    [
      small.replace('runs_on', 'run_on'),
      /^fleet\.yaml:13:27: unknown relation type "run_on"; known: .*runs_on/,
    ],
    [
      small.replace('[service:unbound@dns, runs_on, lxc:dns]', '[lxc:dns, runs_on, host:pve-1]'),
      /^fleet\.yaml:13:6: "lxc:dns" is a lxc, which cannot be the source of runs_on; allowed: agent, service$/,
    ],
    [
      small.replace(', lxc:dns]', ']'),
      /^fleet\.yaml:13:5: relations\.0: a relation is \[source, type, target\]/,
    ],
    [
      `${small}  - [service:unbound@dns, runs_on, lxc:dns]\n`,
      /^fleet\.yaml:14:5: relation .* a second time; first in line 13$/,
    ],
    [
      `${small}  - [service:unbound@dns, runs_on, host:pve-1]\n`,
      /^fleet\.yaml:14:5: "service:unbound@dns" has runs_on "lxc:dns" already \(line 13\), and runs_on is many-to-one; given also: "host:pve-1"$/,
    ],
    [
      small.replace(
        'relations:',
        '  - { slug: host:pve-1, type: host, attributes: { address: b } }\nrelations:',
      ),
      /^fleet\.yaml:12:13: "host:pve-1" stands here a second time; first in line 2$/,
    ],
    ['entities: 5\n', /^fleet\.yaml:1:11: entities: .*array.*\(given: 5\)$/],
    [
      `version: 7\n${small}`,
      /^fleet\.yaml:1:10: version: this version of Nomos reads version 1 \(given: 7\)$/,
    ],
  ])('tells the line of a fault and what is allowed (%#)', (text, expected) => {
    const problems = problemsOf(text);
    expect(problems).toHaveLength(1);
    expect(problems[0]).toMatch(expected);
  });

  it('a host that the container names must agree with the relation', () => {
    const text = `${small}  - [host:other, hosts, lxc:dns]\n`.replace(
      'relations:',
      '  - { slug: host:other, type: host, attributes: { address: b } }\nrelations:',
    );
    expect(problemsOf(text)).toEqual([
      expect.stringContaining('"lxc:dns" has hosts "host:other" already (line 15)'),
    ]);
  });

  it('lists twenty faults and counts the rest', () => {
    const many = Array.from(
      { length: 23 },
      (_, n) => `  - [service:unbound@dns, nope, host:h${n}]\n`,
    );
    const problems = problemsOf(small + many.join(''));
    expect(problems).toHaveLength(21);
    expect(problems[20]).toBe('fleet.yaml: and 3 more');
  });
});
