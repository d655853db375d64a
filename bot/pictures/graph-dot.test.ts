import { Graphviz } from '@hpcc-js/wasm-graphviz';
import fc from 'fast-check';
import { beforeAll, expect, test } from 'vitest';
import { dotOf, quoted } from './graph-dot.ts';
import type { GraphPicture } from './state.ts';

let engine: Graphviz;
beforeAll(async () => {
  engine = await Graphviz.load();
});

function picture(...names: string[]): GraphPicture {
  return {
    title: names[0] ?? 'nothing',
    nodes: names.map((name, index) => ({
      slug: `${index}:${name}`,
      name,
      type: name,
      note: name,
      tone: index === 0 ? 'subject' : 'near',
    })),
    edges: names.slice(1).map((name, index) => ({
      source: `${index + 1}:${name}`,
      target: `0:${names[0] ?? ''}`,
      type: name,
      dependent: 'source',
    })),
    leftOut: 0,
  };
}

/** What Graphviz made of it: how many boxes, arrows, and the words it draws. */
function drawn(dot: string): { nodes: number; edges: number; words: string[] } {
  const svg = engine.layout(dot, 'svg', 'dot');
  expect(svg).not.toMatch(/<a\b|<image\b|<script|href="(?!http:\/\/www\.w3\.org)/);
  return {
    nodes: svg.split('class="node"').length - 1,
    edges: svg.split('class="edge"').length - 1,
    words: Array.from(svg.matchAll(/<text[^>]*>([^<]*)<\/text>/g), (match) =>
      (match[1] ?? '').replaceAll(/&#(\d+);/g, (_all, code) => String.fromCodePoint(Number(code))),
    ),
  };
}

const HOSTILE = [
  'a"] ; evil [label="pwned" URL="https://evil.example"]; x [label="',
  String.raw`\N \G \l \" \\`,
  '<b>bold</b><script>alert(1)</script>',
  '&lt;&#60;&nbsp;&bogus;',
  '<<TABLE><TR><TD>x</TD></TR></TABLE>>',
  'line\nbreak\r\ttab',
  '}; digraph other { a -> b }',
  '/* comment */ // comment # comment',
  '\u202eright to left\u200b',
  '\0 nul',
];

test('C12, Z2, Z3: whatever a name holds, it is words in one box and nothing of the language', () => {
  for (const name of HOSTILE) {
    const { nodes, edges } = drawn(dotOf(picture('web-1', name), 'LR'));
    expect({ name, nodes, edges }).toEqual({ name, nodes: 2, edges: 1 });
  }
});

test('C12, Z3: names of any characters are drawn as boxes that say them', () => {
  fc.assert(
    fc.property(
      fc.array(fc.string({ unit: 'binary', maxLength: 40 }), { minLength: 1, maxLength: 5 }),
      (names) => {
        const { nodes, edges } = drawn(dotOf(picture(...names), 'TB'));
        expect(nodes).toBe(names.length);
        expect(edges).toBe(names.length - 1);
      },
    ),
    { numRuns: 60 },
  );
});

test('C15: hidden characters are written out, an escape and an entity are what they look like', () => {
  const { words } = drawn(dotOf(picture('a\u202eb', String.raw`\N&lt;"`), 'TB'));
  expect(words).toContain('a‹U+202E›b');
  expect(words).toContain(String.raw`\N&lt;"`.replaceAll('&', '&amp;').replaceAll('"', '&quot;'));
});

test('a quoted text keeps its lines and ends where it ends', () => {
  expect(quoted('a\nb')).toBe(String.raw`"a\nb"`);
  expect(quoted('"')).toBe(String.raw`"\""`);
  expect(quoted('\\')).toBe(String.raw`"\\"`);
});

test('C12: a long name keeps its end, and a large graph says how much is left out', () => {
  const { words } = drawn(
    dotOf({ ...picture('web-1', 'a-very-long-name-of-a-service-17'), leftOut: 12 }, 'LR'),
  );
  expect(words).toContain('a-very-long…ice-17');
  expect(words).toContain('12 more are not drawn');
});
