import { cutLabel } from '../../core/text/label.ts';
import { visible } from '../../core/text/visible.ts';
import type { GraphPicture, PictureNode, Tone } from './state.ts';

/** The font of all pictures, shipped as `dejavu-fonts-ttf`. */
export const FONT = 'DejaVu Sans';
/** What lies behind every picture: it has to be readable in dark and light clients alike. */
export const PAPER = '#f6f7f9';
export const INK = '#1c2430';
const LINE = '#5b6675';

const TONES: Readonly<Record<Tone, { fill: string; ink: string; line: string }>> = {
  subject: { fill: '#1f4e9c', ink: '#ffffff', line: '#173b77' },
  near: { fill: '#ffd7b8', ink: INK, line: '#c96a1b' },
  far: { fill: '#ffeedd', ink: INK, line: '#c99a6a' },
  plain: { fill: '#ffffff', ink: INK, line: LINE },
  good: { fill: '#d3ecdc', ink: INK, line: '#2b7a4b' },
  bad: { fill: '#f8cfcb', ink: INK, line: '#b3261e' },
};
// More labels than this cover each other and the boxes.
const MAX_EDGE_LABELS = 14;
// With more boxes than this each has one line: a tall picture is shown small.
const MAX_TALL_NODES = 9;
const NAME_CHARACTERS = 18;
const WIDE_NAME = 10;

/** Which way a picture grows: from the top down, or from left to right. */
export type Direction = 'TB' | 'LR';

/**
 * The picture in Graphviz's language. Nothing of the graph becomes part of the language: nodes are numbered, and every name
 * stands in a quoted label (Z2, Z3).
 */
export function dotOf(picture: GraphPicture, direction: Direction): string {
  const ids = new Map(picture.nodes.map((node, index) => [node.slug, `n${index}`]));
  const compact = picture.nodes.length > MAX_TALL_NODES;
  const labels = picture.edges.length <= MAX_EDGE_LABELS;
  const edges = picture.edges.flatMap((edge) => {
    const source = ids.get(edge.source);
    const target = ids.get(edge.target);
    if (source === undefined || target === undefined) return [];
    const label = labels ? ` label=${quoted(cutLabel(edge.type.replaceAll('_', ' '), 20))}` : '';
    const style = edge.dependent === 'none' ? ' style=dashed' : '';
    // What suffers stands below or to the right of what it depends on; the arrow still reads source to target.
    return edge.dependent === 'source'
      ? [`${target} -> ${source} [dir=back${label}${style}]`]
      : [`${source} -> ${target} [${label.trim()}${style}]`];
  });
  return [
    'digraph fleet {',
    `graph [rankdir=${direction} bgcolor=${quoted(PAPER)} pad="0.2" nodesep="${compact ? 0.12 : 0.22}" ranksep="0.5"`,
    `  fontname=${quoted(FONT)} fontsize=17 fontcolor=${quoted(INK)} labelloc=t label=${quoted(titleLines(picture))}]`,
    `node [shape=box style="rounded,filled" fontname=${quoted(FONT)} fontsize=16 margin="0.14,0.08" height="0.3" penwidth="1.4"]`,
    `edge [fontname=${quoted(FONT)} fontsize=12 fontcolor=${quoted(LINE)} color=${quoted(LINE)} arrowsize="0.8" penwidth="1.3"]`,
    ...picture.nodes.map((node) => nodeLine(node, ids.get(node.slug) ?? 'n', compact)),
    ...edges,
    '}',
  ].join('\n');
}

function titleLines({ title, leftOut }: GraphPicture): string {
  return `${cutLabel(title, 40)}\n${leftOut > 0 ? `${leftOut} more are not drawn` : ' '}`;
}

function nodeLine(node: PictureNode, id: string, compact: boolean): string {
  const { fill, ink, line } = TONES[node.tone];
  const name = shortName(node.name);
  // Three lines would be one too many, and who has an @ in its name is a part of something anyhow.
  const brief = compact || name.includes('\n');
  const about = brief ? [node.note] : [node.type, node.note];
  const below = about.filter((part) => part !== undefined).join(', ');
  const label = below === '' ? name : `${name}\n${cutLabel(below, NAME_CHARACTERS)}`;
  return `${id} [label=${quoted(label)} fillcolor=${quoted(fill)} fontcolor=${quoted(ink)} color=${quoted(line)}]`;
}

/** `nginx@web-1` in two lines where one would be wide: the width is what a phone has least of. */
function shortName(name: string): string {
  const whole = cutLabel(name, 200);
  const at = whole.indexOf('@');
  if (at < 1 || whole.length <= WIDE_NAME) return oneLine(whole);
  return `${oneLine(whole.slice(0, at))}\n${oneLine(whole.slice(at))}`;
}

// The end of a name often is what tells it from its neighbours.
function oneLine(whole: string): string {
  const characters = Array.from(whole);
  if (characters.length <= NAME_CHARACTERS) return whole;
  const tail = Math.floor(NAME_CHARACTERS / 3);
  const head = NAME_CHARACTERS - tail - 1;
  return `${characters.slice(0, head).join('')}…${characters.slice(-tail).join('')}`;
}

/**
 * A quoted string of the language. Graphviz reads escapes (`\N` is the node's name) and HTML entities in labels, so both the
 * backslash and the ampersand are written out; line breaks are its own `\n`.
 */
export function quoted(text: string): string {
  const safe = text
    .split('\n')
    .map((line) =>
      visible(line, { spaces: 'plain' })
        .replaceAll('&', '&amp;')
        .replaceAll('\\', String.raw`\\`)
        .replaceAll('"', String.raw`\"`),
    )
    // Graphviz in WebAssembly breaks on a line without anything in it.
    .map((line) => (line.trim() === '' ? '\u00a0' : line))
    .join(String.raw`\n`);
  return `"${safe}"`;
}
