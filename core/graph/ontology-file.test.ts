import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, describe, expect, it } from 'vitest';
import { loadOntology, parseOntology } from './ontology-file.ts';
import { YamlFileError } from '../yaml-source.ts';

const seed = fileURLToPath(new URL('../../seeds/ontology.yaml', import.meta.url));
const small = `version: 1
entity_types:
  host:
    description: A machine
    reach: ssh
    states: [active, retired]
    refused_states: [retired]
  service:
    description: A program
    states: [active]
relationship_types:
  runs_on:
    description: A service runs on a machine
    source: [service]
    target: [host]
    cardinality: many-to-one
    dependent: source
`;

function problemsOf(text: string): string[] {
  try {
    parseOntology(text, 'ontology.yaml');
  } catch (error) {
    if (error instanceof YamlFileError) return error.message.split('\n');
    throw error;
  }
  return [];
}

describe('F3: the ontology file', () => {
  const folder = mkdtempSync(join(tmpdir(), 'ontology-'));
  afterAll(() => rmSync(folder, { recursive: true }));

  it('F3: gives types with their states, the first one being the default', () => {
    const host = parseOntology(small, 'o.yaml').entityTypes.get('host');
    expect(host).toEqual({
      name: 'host',
      description: 'A machine',
      reach: 'ssh',
      runnable: true,
      states: [
        { name: 'active', runnable: true },
        { name: 'retired', runnable: false },
      ],
    });
  });

  it('P9: the seed refuses commands to what is retired or destroyed, and to what has no shell', () => {
    const { entityTypes } = loadOntology(seed);
    for (const name of ['host', 'vm', 'lxc']) {
      const refused = entityTypes.get(name)?.states.filter((state) => !state.runnable);
      expect(refused?.map((state) => state.name)).toEqual(['retired', 'destroyed']);
    }
    for (const name of ['service', 'network', 'task', 'domain']) {
      expect(entityTypes.get(name)?.runnable).toBe(false);
      expect(entityTypes.get(name)?.states.some((state) => state.runnable)).toBe(false);
    }
  });

  it('K9: the seed lets a task involve every type', () => {
    const { entityTypes, relationshipTypes } = loadOntology(seed);
    expect(relationshipTypes.get('involves')?.targets).toEqual([...entityTypes.keys()]);
    expect(relationshipTypes.get('involves')?.sources).toEqual(['task']);
  });

  it('P8: the seed says which side suffers', () => {
    const { relationshipTypes } = loadOntology(seed);
    expect(relationshipTypes.get('hosts')?.dependent).toBe('target');
    expect(relationshipTypes.get('depends_on')?.dependent).toBe('source');
    expect(relationshipTypes.get('backs_up')?.dependent).toBe('none');
  });

  it('X11: a new container can be provisioning and has one host', () => {
    const { entityTypes, relationshipTypes } = loadOntology(seed);
    expect(entityTypes.get('lxc')?.states).toContainEqual({ name: 'provisioning', runnable: true });
    expect(relationshipTypes.get('hosts')?.cardinality).toBe('one-to-many');
  });

  it('names a file that is not there', () => {
    const missing = join(folder, 'none.yaml');
    expect(() => loadOntology(missing)).toThrow(`${missing}:1:1: cannot be read: ENOENT`);
  });

  it('reads a file and names it in errors', () => {
    const file = join(folder, 'o.yaml');
    writeFileSync(file, small.replace('version: 1', 'version: 2'));
    expect(() => loadOntology(file)).toThrow(`${file}:1:10: version: this version of Nomos reads`);
  });

  it.each([
    ['version: "1', /^ontology\.yaml:\d+:\d+: not valid YAML/],
    ['', /^ontology\.yaml:1:1: the file: /],
    [
      small.replace('  service:\n', '  host:\n'),
      /^ontology\.yaml:\d+:\d+: not valid YAML: Map keys/,
    ],
    [
      small.replace('reach: ssh', 'reach: telnet'),
      /^ontology\.yaml:5:12: .*ssh, pct, none.*"telnet"/,
    ],
    [
      small.replace('reach: ssh', 'colour: red'),
      /^ontology\.yaml:5:5: unknown key "colour" in entity_types\.host; allowed: .*states/,
    ],
    [
      small.replace('refused_states: [retired]', 'refused_states: [gone]'),
      /^ontology\.yaml:7:22: unknown state "gone" of host; its states: active, retired$/,
    ],
    [
      small.replace('states: [active, retired]', 'states: [active, retired, active]'),
      /^ontology\.yaml:6:31: state "active" of host is listed twice$/,
    ],
    [
      small.replace('target: [host]', 'target: [hots]'),
      /^ontology\.yaml:15:14: unknown entity type "hots" as target of runs_on; known: host, service/,
    ],
    [
      small.replace('source: [service]', 'source: [service, service]'),
      /listed twice as source of runs_on$/,
    ],
    [
      small.replace('many-to-one', 'few-to-one'),
      /^ontology\.yaml:16:18: .*one-to-many.*"few-to-one"/,
    ],
    [
      small.replace('dependent: source', 'dependent: both'),
      /^ontology\.yaml:17:16: .*source, target, none/,
    ],
    [
      small.replace(
        '    states: [active]\n',
        '    states: [active]\n    refused_states: [active]\n',
      ),
      /^ontology\.yaml:11:21: service has reach none/,
    ],
    [
      small.replace('    description: A program\n', ''),
      /^ontology\.yaml:9:5: entity_types\.service\.description/,
    ],
  ])('tells the line of a fault and what is allowed (%#)', (text, expected) => {
    const problems = problemsOf(text);
    expect(problems).toHaveLength(1);
    expect(problems[0]).toMatch(expected);
  });

  it('tells all faults at once, in order of their lines', () => {
    const text = small
      .replace('target: [host]', 'target: [hots]')
      .replace('[retired]\n', '[gone]\n');
    expect(problemsOf(text).map((line) => line.split(':')[1])).toEqual(['7', '15']);
  });
});
