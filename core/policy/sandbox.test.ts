/** What is called read-only is run, in a sandbox, and what it changed is compared with what was said. */
import { spawnSync } from 'node:child_process';
import { release } from 'node:os';
import { describe, expect, test } from 'vitest';
import { cases, EFFORT } from './cases/cases.ts';
import { makeProcessLimit, PROCESS_LIMIT } from './cases/process-limit.ts';
import { changesIn, sandboxMissing } from './cases/sandbox.ts';
import { classify } from './classify.ts';

const missing = sandboxMissing();
const title = missing === undefined ? '' : ` (skipped: ${missing})`;

/**
 * What programs keep for themselves and nobody can switch off: the directory for top's settings,
 * the log of apt's last plan, and Java's counters in /tmp.
 */
const BOOKKEEPING =
  /^(root root\/\.config root\/\.config\/procps|root\/\.config root\/\.config\/procps|((var )?var\/log )?(var\/log\/apt )?var\/log\/apt\/eipp\.log\.xz|tmp\/hsperfdata_root\S*)$/;

/** Programs whose options are tried at random: they are on every machine and some of their options write or run. */
const PROGRAMS =
  'sort uniq sed awk find cat head tail grep cut tr wc od date ls stat du df tee comm join nl tar base64 md5sum diff cmp fold paste shuf expand tac seq basename printf env nice timeout xargs id who hostname split csplit cp mv rm dd touch mkdir ln truncate install chmod'.split(
    ' ',
  );

/** Long options that a program says it has. */
function longOptions(program: string): string[] {
  const help = spawnSync(program, ['--help'], { encoding: 'utf8', timeout: 5000 });
  return [...new Set(`${help.stdout}`.match(/--[a-z][a-z-]+/g) ?? [])];
}

/** Random calls with real and made-up options, the same every time for a seed. */
function* randomCalls(count: number, seed: number): Generator<string> {
  let state = seed;
  const below = (limit: number): number => {
    state = (Math.imul(state, 1_103_515_245) + 12_345) & 0x7fffffff;
    return (state >> 8) % limit;
  };
  const pick = <T>(values: readonly T[]): T => values[below(values.length)] as T;
  const options = new Map(PROGRAMS.map((program) => [program, longOptions(program)]));
  const operands = [
    'a',
    'b',
    'c.txt',
    'new',
    '/srv/a',
    '/srv/new',
    'd',
    '-',
    '--',
    '1',
    's/one/x/',
    'p',
    '{print}',
    '+%s',
    '{}',
    ';',
    'wnew',
    '-delete',
    '-exec',
    '-o',
  ];
  const letters = [...'abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123'];
  for (let at = 0; at < count; at++) {
    const program = pick(PROGRAMS);
    const words = Array.from({ length: 1 + below(5) }, () => {
      const kind = below(5);
      if (kind === 0) return `-${pick(letters)}${below(2) ? pick(letters) : ''}`;
      if (kind === 1) return `-${pick(letters)}${pick(operands)}`;
      const long = options.get(program) ?? [];
      if (kind === 2 && long.length > 0)
        return (
          pick(long).slice(0, below(3) ? undefined : 5) + (below(2) ? `=${pick(operands)}` : '')
        );
      return pick(operands);
    });
    yield [program, ...words]
      .map((word) => (/^[\w./+=%-]+$/.test(word) ? word : `'${word}'`))
      .join(' ');
  }
}

describe.skipIf(missing !== undefined)(
  `P2: nothing that is called read-only changes anything${title}`,
  () => {
    test('the sandbox sees changes: a file, a mode, a new name', async () => {
      const changed = await changesIn(['ls', 'touch new', 'cat a', 'chmod 600 b', 'mv a z']);
      expect([...changed.keys()]).toEqual([1, 3, 4]);
      expect(changed.get(1)).toContain('srv/new');
    });

    test.for([
      ['of the process namespace', release()],
      ['of a cgroup, as on older kernels', '5.10'],
    ] as const)(
      'a shell that starts processes without end is stopped at the limit %s, and the next command runs as ever',
      async ([, kernel], { skip }) => {
        const limit = makeProcessLimit(kernel);
        if (!limit) return skip('this machine has no such limit');
        // Each process leaves a file first. The bound is for the day when the limit does not hold.
        const bomb = 'n=0; while [ $n -lt 3000 ]; do n=$((n+1)); : > /srv/p$n; sleep 60 & done';
        const changed = await changesIn([`sh -c '${bomb}'`, 'touch new', 'ls'], limit);
        const started = changed.get(0)?.match(/srv\/p\d+/g)?.length ?? 0;
        expect(started).toBeGreaterThan(PROCESS_LIMIT / 2);
        expect(started).toBeLessThanOrEqual(PROCESS_LIMIT);
        expect(changed.get(1)).toContain('srv/new');
        expect([...changed.keys()]).toEqual([0, 1]);
      },
    );

    test('ordinary inspection, as far as its programs are here', async () => {
      const all = cases('reading').filter(
        (command) =>
          !/sleep|ping|ssh|curl|wget|traceroute|mtr|dig|nslookup|whois|kubectl|helm/.test(command),
      );
      const commands = all.filter((_, at) => EFFORT > 1 || at % 25 === 0);
      for (const command of commands) expect(classify(command).risk, command).toBe('read_only');
      const changed = await changesIn(commands);
      const told = [...changed].filter(([, what]) => !BOOKKEEPING.test(what));
      expect(told.map(([at, what]) => `${commands[at]} → ${what}`)).toEqual([]);
    }, 120_000);

    test('random options of everyday programs, when they are called read-only', async () => {
      const commands = [...randomCalls(4000 * EFFORT, 20_261_129)]
        .filter((command) => classify(command).risk === 'read_only')
        .slice(0, 120 * EFFORT);
      expect(commands.length).toBeGreaterThan(100);
      const changed = await changesIn(commands);
      expect([...changed].map(([at, what]) => `${commands[at]} → ${what}`)).toEqual([]);
    }, 120_000);
  },
);
