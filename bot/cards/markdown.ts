import { visible } from '../../core/text/visible.ts';
import { inline } from './markdown-inline.ts';
import { list, para, pre, quote, rich, stack, strong, type Rich } from './rich.ts';
import { alignedTable, isTableRule } from './markdown-table.ts';

const FENCE = /^ {0,3}(`{3,}|~{3,})/;
const HEADING = /^ {0,3}#{1,6}\s+(.+?)\s*#*\s*$/;
const BULLET = /^(\s*)[-*+•]\s+(.*)$/;
const NUMBER = /^(\s*)(\d{1,4})[.)]\s+(.*)$/;
const QUOTE = /^ {0,3}>\s?(.*)$/;
const RULE = /^ {0,3}([-*_])(?:\s*\1){2,}\s*$/;

const QUOTE_DEPTH_MAX = 3;

/**
 * A model's answer, which is Markdown more or less, in the tags that every client shows: paragraphs, lists, quotes, code;
 * headings become heavy lines, tables aligned lines in fixed width, rules vanish. Everything else is text (C15, C17).
 */
export function markdown(source: string): Rich {
  return blocks(source.replace(/\r\n?/g, '\n').split('\n'), 0);
}

function blocks(lines: readonly string[], depth: number): Rich {
  const made: Array<Rich | undefined> = [];
  let at = 0;
  while (at < lines.length) {
    const block = blockAt(lines, at, depth);
    made.push(block.made);
    at = block.next;
  }
  return stack(made);
}

/** One block and the line after it. */
interface Block {
  readonly made: Rich | undefined;
  readonly next: number;
}

function blockAt(lines: readonly string[], at: number, depth: number): Block {
  const line = lines[at] ?? '';
  if (line.trim() === '') return { made: undefined, next: at + 1 };
  const fence = FENCE.exec(line)?.[1];
  if (fence !== undefined) return fenced(lines, at, fence);
  const heading = HEADING.exec(line)?.[1];
  if (heading !== undefined) return { made: para(strong(inline(heading))), next: at + 1 };
  if (RULE.test(line)) return { made: undefined, next: at + 1 };
  if (QUOTE.test(line)) return quoted(lines, at, depth);
  if (line.includes('|') && isTableRule(lines[at + 1] ?? '')) return table(lines, at);
  if (BULLET.test(line) || NUMBER.test(line)) return listed(lines, at);
  return paragraph(lines, at);
}

function fenced(lines: readonly string[], at: number, fence: string): Block {
  const closing = new RegExp(`^ {0,3}${fence[0]}{${fence.length},}\\s*$`);
  let end = at + 1;
  while (end < lines.length && !closing.test(lines[end] ?? '')) end++;
  const body = lines.slice(at + 1, end).join('\n');
  return { made: body.trim() === '' ? undefined : pre(body), next: end + 1 };
}

function quoted(lines: readonly string[], at: number, depth: number): Block {
  const inner: string[] = [];
  let end = at;
  for (; end < lines.length; end++) {
    const match = QUOTE.exec(lines[end] ?? '');
    if (match === null) break;
    inner.push(match[1] ?? '');
  }
  const made =
    depth < QUOTE_DEPTH_MAX ? blocks(inner, depth + 1) : rich`${visible(inner.join('\n'))}`;
  return { made: made.text === '' ? undefined : quote(made), next: end };
}

function table(lines: readonly string[], at: number): Block {
  let end = at + 2;
  while (end < lines.length && (lines[end] ?? '').includes('|') && (lines[end] ?? '').trim() !== '')
    end++;
  const rows = lines.slice(at, end).filter((_, index) => index !== 1);
  return { made: pre(alignedTable(rows), { spaces: 'plain' }), next: end };
}

/** A list; points under points are set in by their mark, since not every client draws nested lists well. */
function listed(lines: readonly string[], at: number): Block {
  const items: Rich[] = [];
  let end = at;
  const ordered = NUMBER.test(lines[at] ?? '');
  for (; end < lines.length; end++) {
    const line = lines[end] ?? '';
    const bullet = BULLET.exec(line);
    const number = NUMBER.exec(line);
    if (bullet === null && number === null) {
      const last = items.at(-1);
      // A line that is set in goes on with the point above it.
      if (!/^\s{2,}\S/.test(line) || last === undefined || FENCE.test(line)) break;
      items[items.length - 1] = rich`${last} ${inline(line.trim())}`;
      continue;
    }
    const indent = (bullet?.[1] ?? number?.[1] ?? '').length;
    if (indent < 2 && (number !== null) !== ordered) break;
    items.push(item(indent, bullet?.[2] ?? number?.[3] ?? '', number?.[2], ordered));
  }
  if (!ordered) return { made: list(items), next: end };
  return { made: para(...items), next: end };
}

function item(indent: number, text: string, number: string | undefined, ordered: boolean): Rich {
  const words = inline(
    text.replace(/^\[( |x|X)\]\s+/, (_, mark: string) => (mark === ' ' ? '⬜ ' : '✅ ')),
  );
  if (indent >= 2) return rich`– ${words}`;
  return ordered ? rich`${number ?? ''}. ${words}` : words;
}

function paragraph(lines: readonly string[], at: number): Block {
  const own: Rich[] = [];
  let end = at;
  for (; end < lines.length; end++) {
    const line = lines[end] ?? '';
    const begins =
      line.trim() === '' ||
      FENCE.test(line) ||
      HEADING.test(line) ||
      QUOTE.test(line) ||
      RULE.test(line) ||
      ((BULLET.test(line) || NUMBER.test(line)) && end > at) ||
      (line.includes('|') && isTableRule(lines[end + 1] ?? '') && end > at);
    if (begins && end > at) break;
    own.push(inline(line.trim()));
  }
  return { made: para(...own), next: end };
}
