import { visible } from '../../core/text/visible.ts';

/**
 * A piece of a card in both of its forms: `text` for notifications and plain clients, `html` for the others. Only this
 * file makes them, so whatever came from outside is escaped, and no tag is used but those that the smallest client
 * shows (C15, C17): `a b strong i em u del code ul ol li pre blockquote p br`.
 */
export interface Rich {
  readonly text: string;
  readonly html: string;
}

/** What goes into a piece of text: strings and numbers are escaped, pieces are taken as they are. */
export type Part = Rich | string | number;

const ENTITIES: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
};

/** Text as HTML shows it. */
export function escapeHtml(text: string): string {
  return text.replace(/[&<>"']/g, (char) => ENTITIES[char] ?? char);
}

/** Prose from anywhere: hidden characters are shown as escapes, markup is escaped, a line break stays one. */
export function say(text: string): Rich {
  const shown = visible(text, { spaces: 'plain' });
  return { text: shown, html: escapeHtml(shown).replaceAll('\n', '<br>') };
}

/** Template tag: the literal parts and every string in it are escaped, pieces keep their form. */
export function rich(literals: TemplateStringsArray, ...parts: Part[]): Rich {
  const pieces: Rich[] = [];
  for (const [index, literal] of literals.entries()) {
    pieces.push({ text: literal, html: escapeHtml(literal) });
    const part = parts[index];
    if (part !== undefined) pieces.push(toRich(part));
  }
  return join(pieces, '');
}

/** Pieces with a separator between them. */
export function join(parts: readonly Part[], separator: string): Rich {
  const pieces = parts.map(toRich);
  return {
    text: pieces.map((piece) => piece.text).join(separator),
    html: pieces.map((piece) => piece.html).join(escapeHtml(separator)),
  };
}

/** Heavy type; in plain text nothing marks it. */
export function strong(part: Part): Rich {
  return wrap(part, 'strong');
}

/** Slanted type; in plain text nothing marks it. */
export function em(part: Part): Rich {
  return wrap(part, 'em');
}

/** Struck out; in plain text nothing marks it. */
export function del(part: Part): Rich {
  return wrap(part, 'del');
}

/** A word or a short line of code. Every hidden character is shown, odd spaces too. */
export function code(text: string): Rich {
  const shown = visible(text).replaceAll('\n', ' ');
  return { text: shown, html: `<code>${escapeHtml(shown)}</code>` };
}

/** Lines in fixed width. Every hidden character is shown; `spaces: 'plain'` is for output, where odd spaces are harmless. */
export function pre(text: string, options: { spaces?: 'show' | 'plain' } = {}): Rich {
  const shown = visible(text.replace(/\n+$/, ''), { spaces: options.spaces ?? 'show' });
  return { text: shown, html: `<pre><code>${escapeHtml(shown)}</code></pre>` };
}

/** A link. `href` must be one that we made or checked; in plain text only the words stand. */
export function link(href: string, words: Part): Rich {
  const piece = toRich(words);
  return { text: piece.text, html: `<a href="${escapeHtml(href)}">${piece.html}</a>` };
}

/** A paragraph of lines; lines that are undefined are left out. Undefined if nothing is left. */
export function para(...lines: Array<Part | undefined>): Rich | undefined {
  const kept = lines.filter((line) => line !== undefined).map(toRich);
  if (kept.length === 0) return undefined;
  return {
    text: kept.map((line) => line.text).join('\n'),
    html: `<p>${kept.map((line) => line.html).join('<br>')}</p>`,
  };
}

/** A list of points, or undefined without any. */
export function list(items: readonly Part[]): Rich | undefined {
  return listOf(items, 'ul', () => '•');
}

/** A numbered list, or undefined without items. */
export function numbered(items: readonly Part[], start = 1): Rich | undefined {
  const made = listOf(items, 'ol', (index) => `${index + start}.`);
  if (made === undefined || start === 1) return made;
  // Clients drop the list's start attribute, so another start is written out.
  return para(...items.map((item, index) => rich`${index + start}. ${item}`));
}

/** Quoted text. */
export function quote(part: Part): Rich {
  const piece = toRich(part);
  return {
    text: piece.text
      .split('\n')
      .map((line) => `> ${line}`)
      .join('\n'),
    html: `<blockquote>${piece.html}</blockquote>`,
  };
}

/** Blocks under each other; those that are undefined are left out. */
export function stack(blocks: ReadonlyArray<Rich | undefined>): Rich {
  const kept = blocks.filter((block) => block !== undefined);
  return {
    text: kept.map((block) => block.text).join('\n'),
    html: kept.map((block) => block.html).join(''),
  };
}

function listOf(
  items: readonly Part[],
  tag: 'ul' | 'ol',
  mark: (index: number) => string,
): Rich | undefined {
  if (items.length === 0) return undefined;
  const pieces = items.map(toRich);
  return {
    text: pieces.map((piece, index) => `${mark(index)} ${piece.text}`).join('\n'),
    html: `<${tag}>${pieces.map((piece) => `<li>${piece.html}</li>`).join('')}</${tag}>`,
  };
}

function wrap(part: Part, tag: 'strong' | 'em' | 'del'): Rich {
  const piece = toRich(part);
  return { text: piece.text, html: `<${tag}>${piece.html}</${tag}>` };
}

function toRich(part: Part): Rich {
  return typeof part === 'object' ? part : say(String(part));
}
