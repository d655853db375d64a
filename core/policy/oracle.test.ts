/** Second opinions on the grammar: another parser must see no command that the walk did not look up, and Bash must agree. */
import { spawn } from 'node:child_process';
import { createRequire } from 'node:module';
import { describe, expect, test } from 'vitest';
import { cases, EFFORT } from './cases/cases.ts';
import { classify } from './classify.ts';
import { ruleFor } from './commands/index.ts';
import { walkSource } from './shell/walk.ts';

/** The parts of the other parser that are used here. */
interface Syntax {
  NewParser(): { Parse(source: string, name: string): object };
  Walk(node: object, visit: (node: object | null) => boolean): void;
  NodeType(node: object): string;
}
// The package has no types of its own.
const { syntax } = createRequire(import.meta.url)('mvdan-sh') as { syntax: Syntax };

/** Names of all simple commands with a literal name that the other parser finds. */
function namesByOther(source: string): string[] {
  const names: string[] = [];
  syntax.Walk(syntax.NewParser().Parse(source, ''), (node) => {
    if (node && syntax.NodeType(node) === 'CallExpr') {
      const call = node as { Args: { Lit(): string }[] };
      const name = call.Args[0]?.Lit();
      if (name) names.push(name.replace(/\\(.)/gs, '$1'));
    }
    return true;
  });
  return names;
}

/** Names that the walk looks up. */
function namesByWalk(source: string): Set<string> {
  const seen = new Set<string>();
  walkSource(source, {
    registry: (name) => {
      seen.add(name);
      return ruleFor(name);
    },
    commands: 0,
    directories: new Set(['~']),
    suspected: new Map(),
    written: new Map(),
    scripts: new Map(),
  });
  return seen;
}

/** Which sources Bash accepts, in order. One process reads them all. */
async function acceptedByBash(sources: readonly string[]): Promise<boolean[]> {
  const script =
    'while IFS= read -r -d "" c; do bash -n -c "$c" 2>/dev/null && echo 1 || echo 0; done';
  const child = spawn('bash', ['--noprofile', '--norc', '-c', script], {
    stdio: ['pipe', 'pipe', 'inherit'],
  });
  child.stdin.end(sources.map((source) => `${source}\0`).join(''));
  let out = '';
  for await (const chunk of child.stdout) out += String(chunk);
  return out
    .trim()
    .split('\n')
    .map((line) => line === '1');
}

/** Small changes to a source, the same every time. */
function* mutations(sources: readonly string[], count: number, seed: number): Generator<string> {
  let state = seed;
  const below = (limit: number): number => {
    state = (Math.imul(state, 1_103_515_245) + 12_345) & 0x7fffffff;
    return state % limit;
  };
  const marks = [...'$(){}[]<>|&;"\'`\\ \n#!*=-'];
  for (let at = 0; at < count; at++) {
    const source = sources[below(sources.length)] as string;
    const from = below(source.length + 1);
    const mark = marks[below(marks.length)] as string;
    const cut = below(3);
    yield (
      source.slice(0, from) + (cut === 2 ? '' : mark) + source.slice(from + (cut === 0 ? 0 : 1))
    );
  }
}

describe('P2: the grammar has second opinions', () => {
  test('every command that another parser sees was looked up by the walk', () => {
    const all = cases('reading').filter((_, at) => EFFORT > 1 || at % 3 === 0);
    const missed = [...all, ...mutations(cases('reading'), 500 * EFFORT, 7)].flatMap((source) => {
      let names: string[];
      try {
        names = namesByOther(source);
      } catch {
        return []; // the other parser refuses it: nothing to compare
      }
      if (classify(source).risk !== 'read_only') return [];
      const seen = namesByWalk(source);
      const own = /^(declare|export|local|readonly|typeset|nameref|let)$/;
      return names
        .map((name) => name.split('/').at(-1) as string)
        .filter((name) => !seen.has(name) && !own.test(name))
        .map((name) => `${name} in ${JSON.stringify(source)}`);
    });
    expect(missed).toEqual([]);
  }, 120_000);

  test('what is called read-only is valid for Bash, and what Bash refuses is never read-only', async () => {
    const sources = [
      ...cases('reading').filter((_, at) => EFFORT > 1 || at % 8 === 0),
      ...mutations(cases('reading'), 120 * EFFORT, 11),
    ].filter((source) => classify(source).risk === 'read_only' && !source.includes('\0'));
    const accepted = await acceptedByBash(sources);
    expect(sources.filter((_, at) => !accepted[at])).toEqual([]);
    expect(accepted.length).toBe(sources.length);
  }, 120_000);
});
