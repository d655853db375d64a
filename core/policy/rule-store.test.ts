import { mkdtempSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import type { NomosError } from '../errors.ts';
import { NO_RULES } from './rules-file.ts';
import { currentRules, setRules, watchRules, type RuleWatch } from './rule-store.ts';

const ONTOLOGY = fileURLToPath(new URL('../../seeds/ontology.yaml', import.meta.url));
const named = (...names: string[]): string =>
  `version: 1\nrules:\n${names.map((name) => `  - { name: ${name}, never_auto_act: true }\n`).join('')}`;

let dir: string;
let policy: string;
let watch: RuleWatch | undefined;
const faults: NomosError[] = [];
/** How often the file was told to be right. */
let right = 0;
const inForce = (): string[] => currentRules().rules.map(({ name }) => name);

function start(text: string): void {
  writeFileSync(policy, text);
  watch = watchRules({
    policy,
    ontology: ONTOLOGY,
    onFault: (error) => faults.push(error),
    onRight: () => void right++,
  });
}

/** Puts another file in its place, as editors do, and lets the time pass after which it is looked at. */
function change(text: string): void {
  writeFileSync(`${policy}.new`, text);
  renameSync(`${policy}.new`, policy);
  vi.advanceTimersByTime(2_000);
}

beforeEach(() => {
  vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval'] });
  dir = mkdtempSync(join(tmpdir(), 'nomos-policy-'));
  policy = join(dir, 'policy.yaml');
  faults.length = 0;
  right = 0;
});
afterEach(() => {
  watch?.stop();
  watch = undefined;
  setRules(NO_RULES);
  vi.useRealTimers();
  rmSync(dir, { recursive: true });
});

describe('P6: the policy while the program runs', () => {
  it('a change that is right is taken over', () => {
    start(named('old'));
    expect(inForce()).toEqual(['old']);
    change(named('old', 'new'));
    expect(inForce()).toEqual(['old', 'new']);
    expect(faults).toEqual([]);
  });

  it('a change that is wrong leaves the old rules in force, and is told once, with its line', () => {
    start(named('old'));
    change('version: 1\nrules:\n  - name: new\n    never_auto_akt: true\n');
    vi.advanceTimersByTime(10_000);
    expect(inForce()).toEqual(['old']);
    expect(right).toBe(1);
    expect(faults).toHaveLength(1);
    expect(faults[0]).toMatchObject({ code: 'policy_invalid', fault: 'operator' });
    expect(faults[0]?.message).toMatch(/old rules stay in force/);
    expect(faults[0]?.message).toMatch(/policy\.yaml:4:\d+: unknown key "never_auto_akt"/);
    change(named('mended'));
    expect(inForce()).toEqual(['mended']);
    expect(faults).toHaveLength(1);
  });

  it('a file that is gone, or empty, takes no rule away', () => {
    start(named('old'));
    rmSync(policy);
    vi.advanceTimersByTime(2_000);
    expect(inForce()).toEqual(['old']);
    change('');
    expect(inForce()).toEqual(['old']);
    expect(faults.map(({ code }) => code)).toEqual(['policy_invalid', 'policy_invalid']);
  });

  it('a file that is wrong at the start is an error, and puts nothing in force', () => {
    expect(() => start('version: 2\n')).toThrow(/policy\.yaml:1:\d+.*version 1/s);
    expect(inForce()).toEqual([]);
  });
});
