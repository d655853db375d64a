import { describe, expect, it } from 'vitest';
import { classify } from '../policy/classify.ts';
import { agentTools } from '../tools/index.ts';
import { YamlFileError } from '../yaml-source.ts';
import { loadOntology } from '../graph/ontology-file.ts';
import {
  exampleValues,
  loadRunbook,
  loadRunbookFolder,
  parseRunbook,
  RUNBOOK_TOOLS,
} from './runbook-file.ts';
import { parameterShape, readParameters, readValue, type Parameter } from './runbook-parameters.ts';
import { fillSteps } from './runbook-plan.ts';

const seeds = loadRunbookFolder('seeds/runbooks');

describe('K10: the runbooks that come along', () => {
  it('are those that a homelab needs most', () => {
    expect(seeds.map(({ slug }) => slug)).toEqual([
      'back-up-container',
      'check-zfs-pool',
      'free-disk-space',
      'patch-debian',
      'provision-container',
      'renew-certificate',
      'restart-service',
    ]);
  });

  it.each(seeds)(
    '$slug looks before it changes, destroys nothing, and writes back last',
    (runbook) => {
      const steps = fillSteps(runbook.steps, exampleValues(runbook));
      const risks = steps.flatMap(({ call }) =>
        call?.tool === 'run' ? [classify(String(call.arguments['command'])).risk] : [],
      );
      expect(risks[0]).toBe('read_only');
      expect(risks).not.toContain('destructive');
      expect(steps.at(-1)?.detail).toMatch(/update_entity_attributes|create_relationship/);
      for (const { call } of steps) {
        if (call === null) continue;
        expect(agentTools.prepare(call.tool, JSON.stringify(call.arguments))).toMatchObject({
          ok: true,
        });
      }
    },
  );

  it.each(seeds)('$slug asks only for entities of types that there are', ({ parameters }) => {
    const { entityTypes } = loadOntology('seeds/ontology.yaml');
    for (const parameter of Object.values(parameters)) {
      if (parameter.type !== 'entity') continue;
      for (const type of parameter.entity_types ?? [])
        expect([...entityTypes.keys()]).toContain(type);
    }
  });

  it('a step may call only tools that the agent has', () => {
    for (const tool of RUNBOOK_TOOLS) expect(agentTools.find(tool)).toBeDefined();
  });
});

const GOOD = `version: 1
title: Look at {{target.name}}
summary: Looks.
parameters:
  target: { type: entity, description: Where., example: host:a }
  days: { type: integer, min: 1, max: 9, default: 3, description: How long. }
steps:
  - title: Look
    target: '{{target}}'
    run: find /srv -mtime -{{days}}
`;

function faults(yaml: string): string[] {
  try {
    parseRunbook(yaml, 'x.yaml', 'x');
    return [];
  } catch (error) {
    if (!(error instanceof YamlFileError)) throw error;
    return error.message.split('\n');
  }
}

describe('K10: a file', () => {
  it('that is right is read', () => expect(faults(GOOD)).toEqual([]));

  it.each([
    [
      'another version',
      GOOD.replace('version: 1', 'version: 2'),
      /^x\.yaml:1:10: version: this version/,
    ],
    ['an unknown field', `${GOOD}owner: ann\n`, /^x\.yaml:11:1: unknown key "owner"/],
    ['an unknown type', GOOD.replace('integer', 'number'), /^x\.yaml:6:.*allowed types/],
    [
      'a default out of bounds',
      GOOD.replace('default: 3', 'default: 12'),
      /^x\.yaml:6:.*12 is not a whole number from 1 to 9/,
    ],
    [
      'neither default nor example',
      GOOD.replace(', example: host:a', ''),
      /^x\.yaml:5:.*needs an example/,
    ],
    [
      'an unknown placeholder',
      GOOD.replace('{{days}}', '{{weeks}}'),
      /^x\.yaml:10:10: there is no parameter "weeks"; there are: days, target/,
    ],
    [
      'a placeholder in quotes',
      GOOD.replace('-{{days}}', '"{{days}}"'),
      /^x\.yaml:10:10: run of step 1: \{\{days\}\} must stand by itself/,
    ],
    [
      'broken shell',
      GOOD.replace('find', 'if find'),
      /^x\.yaml:10:10: run of step 1: no valid shell source/,
    ],
    [
      'a command without a target',
      GOOD.replace("    target: '{{target}}'\n", ''),
      /^x\.yaml:9:10: step 1 needs a target/,
    ],
    ['run and tool', `${GOOD}    tool: explain\n`, /^x\.yaml:11:11: step 1 has both run and tool/],
    [
      'a tool that is none',
      `${GOOD}  - { title: x, tool: complete_task }\n`,
      /^x\.yaml:11:.*allowed: request_execution/,
    ],
    [
      'no steps',
      GOOD.replace(/steps:[^]*/, 'steps: []\n'),
      /^x\.yaml:7:8: steps: at least one step/,
    ],
    ['no YAML', 'a: [', /^x\.yaml:1:\d+: not valid YAML/],
  ])('with %s is refused with its line and what is allowed', (_what, yaml, fault) => {
    expect(faults(yaml)[0]).toMatch(fault);
  });

  it('is named after what it is', () => {
    expect(() => loadRunbook('seeds/runbooks/Not A Name.yaml')).toThrow(/the file's name/);
    expect(() => loadRunbookFolder('seeds/nothing')).toThrow(/cannot be read/);
  });
});

describe('K10, L3: values', () => {
  const parameter = (given: object): Parameter =>
    parameterShape.parse({ description: 'x', ...given });

  it.each([
    [{ type: 'integer', min: 1 }, '7', 7],
    [{ type: 'boolean' }, 'Yes', true],
    [{ type: 'boolean' }, 0, false],
    [{ type: 'word' }, 'debian-12', 'debian-12'],
    [{ type: 'word' }, 12, '12'],
    [{ type: 'path' }, '/var/lib/x', '/var/lib/x'],
    [{ type: 'choice', allowed: ['a', 'b'] }, 'b', 'b'],
    [{ type: 'entity' }, 'host:web-1', 'host:web-1'],
    [{ type: 'entity' }, 'web-1', 'web-1'],
    [{ type: 'text' }, "it's $fine", "it's $fine"],
  ])('%j takes %j', (given, value, read) => {
    expect(readValue(parameter(given), value)).toEqual({ value: read });
  });

  it.each([
    [{ type: 'integer', min: 1, max: 5 }, 9, /from 1 to 5/],
    [{ type: 'integer' }, '1; reboot', /whole number/],
    [{ type: 'integer' }, '1e3', /whole number/],
    [{ type: 'boolean' }, 'maybe', /true or false/],
    [{ type: 'word' }, 'a b', /one word/],
    [{ type: 'word' }, '$(reboot)', /one word/],
    [{ type: 'word' }, '--force', /begins with a dash/],
    [{ type: 'word', pattern: '[a-z]+' }, 'a1', /as \[a-z\]\+ has it/],
    [{ type: 'word' }, { toString: () => 'x' }, /text/],
    [{ type: 'path' }, 'etc/passwd', /absolute path/],
    [{ type: 'path' }, '/srv/../etc', /without \.\./],
    [{ type: 'path' }, '/srv/$(x)', /absolute path/],
    [{ type: 'choice', allowed: ['a', 'b'] }, 'c', /one of a, b/],
    [{ type: 'entity' }, 'host:$(x)', /slug/],
    [{ type: 'text' }, 'two\nlines', /one line/],
    [{ type: 'text' }, 'hidden\u200b', /that can be seen/],
    [{ type: 'text' }, '-rf', /begins with a dash/],
    [{ type: 'text', max_length: 3 }, 'long', /1 to 3/],
  ])('%j does not take %j', (given, value, fault) => {
    expect(readValue(parameter(given), value)).toEqual({
      fault: expect.stringMatching(fault) as string,
    });
  });

  it.each(['(a+)+', '(a|a)*', 'a*a*a*a*', '(?:[a-z]{1,9}){2,}', '(x'])(
    'R12: a pattern that is none, or could be tried for ever, is refused: %s',
    (pattern) => {
      expect(() => parameter({ type: 'word', pattern })).toThrow(/pattern/);
    },
  );

  it('all that is wrong is told at once, with what is allowed', () => {
    const runbook = parseRunbook(GOOD, 'x.yaml', 'x');
    expect(() => readParameters(runbook, { days: 0, owner: 'ann' })).toThrow(
      /target is missing: Where\..*days: 0 is not a whole number from 1 to 9.*nothing is called "owner"; there are: target, days/,
    );
    expect(readParameters(runbook, { target: 'host:a' })).toEqual({ target: 'host:a', days: 3 });
    // What every object has is not given.
    expect(() => readParameters(runbook, {})).toThrow(/target is missing/);
  });
});
