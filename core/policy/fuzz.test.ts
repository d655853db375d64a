import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { cases, EFFORT } from './cases/cases.ts';
import { DESTROYS, OPAQUE, READS, TRANSPARENT, WRITES } from './cases/contexts.ts';
import type { Context } from './cases/contexts.ts';
import { classify } from './classify.ts';
import { RISKS } from './risk.ts';

const parameters = { numRuns: 250 * EFFORT };

const pick = <T>(values: readonly T[]): fc.Arbitrary<T> => fc.constantFrom(...values);

/** A command in up to `maxLength` places, one inside the other. */
const nested = (
  commands: readonly string[],
  contexts: readonly Context[],
  maxLength: number,
): fc.Arbitrary<string> =>
  fc
    .tuple(pick(commands), fc.array(fc.nat(contexts.length - 1), { maxLength }))
    .map(([command, places]) =>
      places.reduce((inner, place) => (contexts[place] as Context)(inner), command),
    );

describe('P2, P3, P4: a command counts wherever it stands', () => {
  test('a reading command stays read-only in places that add nothing', () => {
    fc.assert(
      fc.property(nested(READS, TRANSPARENT, 4), (source) => {
        const verdict = classify(source);
        expect(verdict.risk, `${source}\n${verdict.reasons.join('; ')}`).toBe('read_only');
      }),
      parameters,
    );
  });

  test('a changing command is never read-only, however deep', () => {
    fc.assert(
      fc.property(nested(WRITES, [...TRANSPARENT, ...OPAQUE], 5), (source) => {
        expect(classify(source).risk, source).not.toBe('read_only');
      }),
      parameters,
    );
  });

  test('a destroying command is destructive, however deep', () => {
    fc.assert(
      fc.property(nested(DESTROYS, [...TRANSPARENT, ...OPAQUE], 5), (source) => {
        expect(classify(source).risk, source).toBe('destructive');
      }),
      parameters,
    );
  });

  test('a destroying command is destructive also when the source is broken behind it', () => {
    const broken = pick(['(', "'", '"', '$(', '${', 'if true', '<<EOF', '`', '&& (', 'fi', ')']);
    fc.assert(
      fc.property(nested(DESTROYS, TRANSPARENT, 2), broken, (command, tail) => {
        const source = `${command}\n${tail}`;
        expect(classify(source).risk, source).toBe('destructive');
      }),
      parameters,
    );
  });
});

describe('P2: every text gets a verdict', () => {
  const anyText = fc.oneof(
    fc.string({ unit: 'binary', maxLength: 200 }),
    fc.string({
      unit: fc.constantFrom(...'$(){}[]<>|&;"\'`\\ \n\t#!*?~=-+rm/ls0axeof'),
      maxLength: 120,
    }),
  );

  test('random text never makes it throw, and a verdict always has reasons', () => {
    fc.assert(
      fc.property(anyText, (text) => {
        const verdict = classify(text);
        expect(RISKS).toContain(verdict.risk);
        expect(verdict.reasons.length).toBeGreaterThan(0);
        expect(verdict.reasons.join(' ')).not.toContain('could not be judged');
      }),
      { numRuns: 1000 * EFFORT },
    );
  });

  test('random text appended to a destroying command does not hide it', () => {
    fc.assert(
      fc.property(pick(DESTROYS), anyText, (command, text) => {
        expect(classify(`${command}\n${text}`).risk, JSON.stringify(text)).toBe('destructive');
      }),
      parameters,
    );
  });

  test('what is declared is never lowered', () => {
    const all = [...cases('reading'), ...cases('changing'), ...cases('destroying')];
    fc.assert(
      fc.property(pick(all), pick(RISKS), (command, declared) => {
        const computed = RISKS.indexOf(classify(command).risk);
        const both = RISKS.indexOf(classify(command, declared).risk);
        expect(both).toBe(Math.max(computed, RISKS.indexOf(declared)));
      }),
      parameters,
    );
  });
});
