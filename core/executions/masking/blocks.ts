import { lineEnds } from './lines.ts';
import type { Range } from './ranges.ts';

type LineEnd = ReturnType<typeof lineEnds>;

/** Lines of keys are shorter than this. */
const LONGEST_LINE = 1200;

const BEGIN = /-----BEGIN (?:[A-Z0-9]{1,16} ){0,3}PRIVATE KEY(?: BLOCK)?-----/g;
const END = /-----END (?:[A-Z0-9]{1,16} ){0,3}PRIVATE KEY(?: BLOCK)?-----/g;
const PUTTY = /^Private-Lines: (\d{1,4})[ \t]*\r?\n/gm;

/** A line of a key: base64, maybe behind a file name, a number, a "+" or an indent. */
const KEY_LINE = /^.{0,80}?(?<![A-Za-z0-9+/=])[A-Za-z0-9+/]{16,1024}={0,3}[\s"',\\n]{0,8}$/;
/** The headers that old keys have between frame and base64. */
const KEY_HEADER = /^.{0,80}?(?:Proc-Type|DEK-Info|Version|Comment|Hash|Charset): .{0,200}$/;
/** Last lines of a key are shorter. */
const KEY_REST = /^.{0,8}?[A-Za-z0-9+/]{1,80}={0,3}\s{0,4}$/;

/**
 * The insides of private key blocks (PEM, OpenSSH, OpenPGP, PuTTY), also of those whose beginning
 * or end was cut off, as `head` and `tail` leave them. Certificates and public keys are left alone.
 */
export function blockRanges(text: string): Range[] {
  const found: Range[] = [];
  const begins = [...text.matchAll(BEGIN)].map((match) => ({
    start: match.index,
    end: match.index + match[0].length,
  }));
  const ends = [...text.matchAll(END)].map((match) => ({
    start: match.index,
    end: match.index + match[0].length,
  }));
  const lineEnd = lineEnds(text);
  let next = 0;
  let covered = 0;
  for (const [index, begin] of begins.entries()) {
    while (next < ends.length && (ends[next]?.start ?? 0) < begin.end) {
      found.push(headless(text, covered, ends[next]?.start ?? 0));
      covered = ends[next]?.end ?? 0;
      next += 1;
    }
    const end = ends[next];
    const following = begins[index + 1]?.start ?? Infinity;
    if (end !== undefined && end.start < following) {
      found.push(inside(text, begin.end, end.start));
      covered = end.end;
      next += 1;
    } else {
      const stop = endless(begin.end, Math.min(following, text.length), text, lineEnd);
      found.push(inside(text, begin.end, stop));
      covered = stop;
    }
  }
  for (const end of ends.slice(next)) {
    found.push(headless(text, covered, end.start));
    covered = end.end;
  }
  covered = 0;
  const puttyLineEnd = lineEnds(text);
  for (const match of text.matchAll(PUTTY)) {
    if (match.index < covered) continue;
    const start = match.index + match[0].length;
    let end = start;
    for (let lines = Number(match[1]); lines > 0 && end < text.length; lines -= 1) {
      end = puttyLineEnd(end) + 1;
    }
    covered = end;
    found.push({ start, end: Math.min(Math.max(start, end - 1), text.length) });
  }
  return found;
}

/** Where a private key block is open at the end of the text, or -1. For streams. */
export function openBlockAt(text: string): number {
  const begin = [...text.matchAll(BEGIN)].at(-1);
  if (begin === undefined) return -1;
  const end = [...text.matchAll(END)].at(-1);
  return end !== undefined && end.index > begin.index ? -1 : begin.index;
}

/** Where the run of key-like lines begins with which the text ends; its length if there is none. */
export function keyLinesFrom(text: string, limit: number): number {
  let start = text.length;
  while (start > 0 && text.length - start < limit) {
    const from = text.lastIndexOf('\n', start - 2) + 1;
    if (!isKeyLine(text.slice(from, start).trimEnd())) break;
    start = from;
  }
  return start;
}

/** Leaves the line breaks next to the frame standing, so that the frame stays readable. */
function inside(text: string, start: number, end: number): Range {
  let [from, to] = [start, end];
  while (from < to && /\s/.test(text[from] ?? '')) from += 1;
  while (to > from && /\s/.test(text[to - 1] ?? '')) to -= 1;
  return { start: from, end: to };
}

/** Where a block that has no end line stops to look like a key. */
function endless(start: number, limit: number, text: string, lineEnd: LineEnd): number {
  let at = Math.min(lineEnd(start), limit);
  // The key goes on in the same line where its line breaks are written as "\\n".
  if (at - start > 4) return at;
  let stop = at;
  while (at < limit) {
    const end = Math.min(lineEnd(at + 1), limit);
    const line = text.slice(at + 1, end);
    const long = isKeyLine(line) || KEY_HEADER.test(line.slice(0, 300));
    const short = !long && line.length <= 81 && KEY_REST.test(line);
    if (line.trim() !== '') {
      if (!long && !short) break;
      stop = end;
    }
    at = end;
    if (short) break;
  }
  return stop;
}

/** The key lines right before an end line that has no beginning. */
function headless(text: string, from: number, end: number): Range {
  const frame = lineStart(text, from, end);
  let start = frame;
  while (start > from) {
    const previous = lineStart(text, from, start - 1);
    const line = text.slice(previous, start).trimEnd();
    if (!isKeyLine(line) && !(start === frame && KEY_REST.test(line))) break;
    start = previous;
  }
  // In one line with its frame, a key has its line breaks written as "\\n".
  return start === frame ? { start: frame, end } : inside(text, start, frame);
}

/** Where the line that ends at a place begins, at most a long line's length before it. */
function lineStart(text: string, from: number, end: number): number {
  const earliest = Math.max(from, end - LONGEST_LINE);
  const found = text.slice(earliest, end).lastIndexOf('\n');
  return found < 0 ? earliest : earliest + found + 1;
}

function isKeyLine(line: string): boolean {
  return line.length < LONGEST_LINE && KEY_LINE.test(line);
}
