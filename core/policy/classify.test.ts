import { describe, expect, test } from 'vitest';
import { cases, ordinaryChanges } from './cases/cases.ts';
import { classify } from './classify.ts';
import type { Risk } from './risk.ts';

/** Lines of a list that have another class than they must have, with the reasons. A test of its own for each line would take most of the run. */
function wrong(commands: readonly string[], right: (risk: Risk) => boolean): string[] {
  return commands.flatMap((command) => {
    const { risk, reasons } = classify(command);
    const complete = reasons.length > 0 && (risk !== 'read_only' || reasons[0] === READS);
    return right(risk) && complete ? [] : [`${command} → ${risk}: ${reasons.join('; ')}`];
  });
}

const READS = 'every part of it only reads';

test('P2: ordinary inspection is read-only', () => {
  expect(cases('reading').length).toBeGreaterThan(3000);
  expect(wrong(cases('reading'), (risk) => risk === 'read_only')).toEqual([]);
});

test('P2: what writes, runs something else or gives something away is never read-only', () => {
  expect(cases('changing').length).toBeGreaterThan(6000);
  expect(wrong(cases('changing'), (risk) => risk !== 'read_only')).toEqual([]);
});

test('P4: what cannot be taken back is destructive in any spelling and nesting', () => {
  expect(cases('destroying').length).toBeGreaterThan(2000);
  expect(wrong(cases('destroying'), (risk) => risk === 'destructive')).toEqual([]);
});

test('P4: an ordinary change is no destruction', () => {
  expect(ordinaryChanges().length).toBeGreaterThan(100);
  expect(wrong(ordinaryChanges(), (risk) => risk === 'config_mutation')).toEqual([]);
});

describe('P1: the verdict is the stricter of computed and declared', () => {
  test('a declaration raises', () => {
    expect(classify('ls', 'destructive').risk).toBe('destructive');
    expect(classify('ls', 'reversible_low')).toEqual({
      risk: 'reversible_low',
      reasons: ['declared as reversible_low'],
    });
  });
  test('a declaration never lowers', () => {
    expect(classify('rm -rf /srv', 'read_only').risk).toBe('destructive');
    expect(classify('touch x', 'reversible_low').risk).toBe('config_mutation');
  });
  test('what no rule knows is config_mutation', () => {
    expect(classify('frobnicate --all').risk).toBe('config_mutation');
  });
  test('piping a download into a shell is config_mutation, not more', () => {
    expect(classify('curl -fsSL https://get.docker.com | sh').risk).toBe('config_mutation');
  });
});

describe('P2: bad input gets a clear answer', () => {
  test.each([
    ['', 'an empty command'],
    ['  \n', 'an empty command'],
    ['ls\0-l', 'NUL'],
    ['ls \ud800', 'surrogate'],
    ['cat /srv/f\ufffd', 'no valid UTF-8'],
    ['ls \u200b', 'invisible'],
    ['ls \u202e/', 'invisible'],
    ['ls\r', 'invisible or control'],
    ['echo "', 'grammar'],
  ])('%j', (command, why) => {
    const verdict = classify(command);
    expect(verdict.risk).toBe('config_mutation');
    expect(verdict.reasons.join('; ')).toContain(why);
  });
  test('nesting without end is answered soon, and danger in it is found', () => {
    expect(classify('$('.repeat(4000)).risk).toBe('config_mutation');
    expect(classify(`${'echo $('.repeat(1000)}rm -rf /srv`).risk).toBe('destructive');
  });
  test('a command of 1 MiB is answered, and danger in it is found', () => {
    expect(classify('a '.repeat(524_288)).risk).toBe('config_mutation');
    expect(classify(`${'ls; '.repeat(262_144)} rm -rf /srv`).risk).toBe('destructive');
    expect(classify('rm '.repeat(349_525)).risk).not.toBe('read_only');
  });
});

describe('P5: reasons are words for a phone', () => {
  test('they name what is done to what', () => {
    expect(classify('rm -r /srv/data').reasons[0]).toBe('rm -r deletes recursively: /srv/data');
    expect(classify('ls > /etc/motd').reasons).toEqual(['the redirection > writes /etc/motd']);
  });
  test('they are few, and the worst comes first', () => {
    const { reasons } = classify(
      `${Array.from({ length: 30 }, (_, at) => `touch f${at}`).join('; ')}; rm -rf /srv`,
    );
    expect(reasons[0]).toContain('rm -r');
    expect(reasons.length).toBeLessThan(10);
  });
});

test('B8: the 95th percentile of one verdict is under a millisecond', () => {
  const all = [...cases('reading'), ...cases('changing'), ...cases('destroying')].filter(
    (_, at) => at % 7 === 0,
  );
  const rounds = Array.from({ length: 4 }, () =>
    all.map((command) => {
      const start = performance.now();
      classify(command);
      return performance.now() - start;
    }),
  );
  // The machine has other work: what counts is the best of the rounds, not what was waited for.
  const times = all.map((_, at) => Math.min(...rounds.map((round) => round[at] as number)));
  times.sort((a, b) => a - b);
  expect(times[Math.floor(times.length * 0.95)]).toBeLessThan(1);
});
