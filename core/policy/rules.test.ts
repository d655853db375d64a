import { expect, test } from 'vitest';
import { loadOntology } from '../graph/ontology-file.ts';
import { YamlFileError } from '../yaml-source.ts';
import { idleWords, nameable, namesNothing } from './idle-rules.ts';
import { applyRules, isWithin, type RuleSubject } from './rules.ts';
import { loadRules, parseRules } from './rules-file.ts';

const ontology = loadOntology('seeds/ontology.yaml');
const NOON = new Date('2026-03-02T12:00:00Z');

const subject: RuleSubject = {
  slug: 'host:db-1',
  type: 'host',
  tags: ['production'],
  risk: 'config_mutation',
  blastTotal: 3,
};

function judge(yaml: string, given: Partial<RuleSubject> = {}, now: Date = NOON) {
  return applyRules(
    parseRules(`version: 1\nrules:\n${yaml}`, 'policy.yaml', ontology),
    { ...subject, ...given },
    now,
  );
}

function faults(yaml: string): string[] {
  try {
    parseRules(yaml, 'policy.yaml', ontology);
  } catch (error) {
    if (error instanceof YamlFileError) return error.message.split('\n');
    throw error;
  }
  throw new Error('the rules were taken');
}

test('P6: a minimum class raises and never lowers, and says which rule did it', () => {
  const rule = '  - { name: careful, match: { tag: production }, minimum_class: config_mutation }';
  expect(judge(rule, { risk: 'read_only' })).toMatchObject({
    risk: 'config_mutation',
    reasons: ['rule "careful": at least config_mutation here'],
  });
  expect(judge(rule, { risk: 'destructive' })).toMatchObject({ risk: 'destructive', reasons: [] });
  expect(judge(rule, { risk: 'read_only', tags: [] }).risk).toBe('read_only');
});

test('P6: a rule for a risk sees the class as the others raised it', () => {
  const verdict =
    judge(`  - { name: two for destruction, match: { risk: destructive }, approval: { role: admin, people: 2 } }
  - { name: all is destructive here, match: { target: host:db-1 }, minimum_class: destructive }`);
  expect(verdict).toMatchObject({ risk: 'destructive', needsRole: 'admin', needsPeople: 2 });
});

test('P6: never_auto_act and the blast radius make a change ask, and leave reads free', () => {
  expect(judge('  - { name: n, never_auto_act: true }').alwaysAsk).toBe(true);
  expect(judge('  - { name: n, never_auto_act: true }', { risk: 'read_only' }).alwaysAsk).toBe(
    false,
  );
  expect(judge('  - { name: n, ask_over_blast_radius: 3 }').alwaysAsk).toBe(false);
  expect(judge('  - { name: n, ask_over_blast_radius: 2 }')).toMatchObject({
    alwaysAsk: true,
    reasons: ['rule "n": 3 things depend on it, more than 2'],
  });
});

test('P6: every field of a match must fit', () => {
  const rule =
    '  - { name: n, match: { type: [lxc, host], tag: [core, production], target: host:db-1 }, never_auto_act: true }';
  expect(judge(rule).alwaysAsk).toBe(true);
  expect(judge(rule, { slug: 'host:db-2' }).alwaysAsk).toBe(false);
  expect(judge(rule, { type: 'vm' }).alwaysAsk).toBe(false);
  expect(judge(rule, { tags: ['staging'] }).alwaysAsk).toBe(false);
});

test('P6: the strictest demand of all rules counts, in whatever order they stand', () => {
  const verdict = judge(`  - { name: a, approval: { people: 3 } }
  - { name: b, approval: { role: admin } }
  - { name: c, approval: { role: approver, people: 2 } }`);
  expect(verdict).toMatchObject({ needsRole: 'admin', needsPeople: 3 });
});

test('A9, A15: who must decide is asked even inside a grant, which anyone may have opened; a rule that demands no more than usual changes nothing', () => {
  expect(judge('  - { name: a, approval: { role: admin } }').alwaysAsk).toBe(true);
  expect(judge('  - { name: a, approval: { people: 2 } }').alwaysAsk).toBe(true);
  expect(judge('  - { name: a, approval: { role: approver, people: 1 } }').alwaysAsk).toBe(false);
});

test.each([
  ['22:30', '06:00', '23:00', true],
  ['22:30', '06:00', '05:59', true],
  ['22:30', '06:00', '06:00', false],
  ['22:30', '06:00', '12:00', false],
  ['08:00', '17:00', '08:00', true],
  ['08:00', '17:00', '17:00', false],
  ['00:00', '00:00', '13:00', true],
])('P6: quiet hours from %s to %s at %s (in their own zone): %s', (from, to, clock, expected) => {
  // Berlin is an hour ahead of UTC in winter.
  const [hours = 0, minutes = 0] = clock.split(':').map(Number);
  const now = new Date(Date.UTC(2026, 0, 10, hours - 1, minutes));
  expect(isWithin({ from, to, timezone: 'Europe/Berlin' }, now)).toBe(expected);
});

test('P6: quiet hours make every change ask while they last', () => {
  const rule = '  - { name: night, quiet_hours: { from: "22:00", to: "06:00", timezone: UTC } }';
  expect(judge(rule).alwaysAsk).toBe(false);
  expect(judge(rule, {}, new Date('2026-03-02T23:00:00Z')).alwaysAsk).toBe(true);
});

test('P6: each fault is told with its line, what was given and what is allowed', () => {
  expect(
    faults(`version: 1
rules:
  - name: typo
    never_auto_akt: true
  - name: wrong class
    minimum_class: dangerous
  - name: wrong role
    approval: { role: boss }
  - name: wrong zone
    quiet_hours: { from: "25:00", to: "06:00", timezone: Europe/Nowhere }`),
  ).toEqual([
    expect.stringMatching(
      /^policy\.yaml:4:\d+: unknown key "never_auto_akt" in rules\.0; allowed: name, match, .*never_auto_act/,
    ),
    expect.stringMatching(/^policy\.yaml:6:\d+: .*allowed: read_only.*"dangerous"/),
    expect.stringMatching(/^policy\.yaml:8:\d+: .*allowed: approver, admin.*"boss"/),
    expect.stringMatching(/^policy\.yaml:10:\d+: .*time of day.*"25:00"/),
    expect.stringMatching(/^policy\.yaml:10:\d+: .*time zone.*"Europe\/Nowhere"/),
  ]);
});

test('P6: an unknown type, a name that stands twice and a rule that demands nothing are faults', () => {
  expect(
    faults(`version: 1
rules:
  - { name: a, match: { type: lcx }, never_auto_act: true }
  - { name: a, never_auto_act: true }
  - { name: b, match: { type: lxc } }`),
  ).toEqual([
    expect.stringMatching(/^policy\.yaml:3:.*unknown entity type "lcx"; known: .*lxc/),
    expect.stringMatching(/^policy\.yaml:4:.*"a" stands here twice/),
    expect.stringMatching(/^policy\.yaml:5:.*"b" demands nothing/),
  ]);
});

test('P6: what a rule names and nothing is called is told with its line; what there is, is not', () => {
  const rules = parseRules(
    `version: 1
rules:
  - name: a
    match:
      target: [host:db-1, db-1]
      type: lxc
  - { name: b, match: { tag: production }, never_auto_act: true }
  - { name: c, match: { risk: destructive }, never_auto_act: true }
`.replace('      type: lxc', '      type: lxc\n    never_auto_act: true'),
    'policy.yaml',
    ontology,
  );
  const fleet = nameable([
    { slug: 'host:db-1', type: 'host', attributes: { tags: ['staging'] } },
    { slug: 'host:db-2', type: 'host', attributes: {} },
  ]);
  expect(namesNothing(rules, fleet).map((one) => `${one.line}: ${idleWords(one)}`)).toEqual([
    '5: rule "a" is about the target "db-1", but there is no such entity',
    '6: rule "a" is about the type "lxc", but no entity is of that type',
    '8: rule "b" is about the tag "production", but no entity has that tag',
  ]);
});

test('P6: the policy that is shipped is valid', () => {
  expect(loadRules('seeds/policy.yaml', ontology).rules.map((rule) => rule.name)).toEqual([
    'wide blast radius',
  ]);
});

test('A20: decisions are strict where the file says so, and anything else is told with its line', () => {
  const read = (text: string) => parseRules(text, 'policy.yaml', ontology);
  expect(read('version: 1\n').decisions).toBe('any');
  expect(read('version: 1\ndecisions: strict\n').decisions).toBe('strict');
  expect(() => read('version: 1\ndecisions: careful\n')).toThrow(
    /policy\.yaml:2:\d+: .*allowed: any, strict.*"careful"/,
  );
});
