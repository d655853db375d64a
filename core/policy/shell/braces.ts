/** Brace expansion (`{a,b}`, `{1..9}`), which Bash does on the text of a word before everything else. */

/** More words than this from one word are not listed. */
const MAX_WORDS = 512;

/** The texts that a word's raw text expands to; undefined when there are too many or quotes stand inside the braces. */
export function expandBraces(raw: string): string[] | undefined {
  const open = findOpen(raw);
  if (!open) return [raw];
  const { start, end, inner } = open;
  if (/["'\\$`]/.test(inner)) return undefined;
  const items = splitItems(inner) ?? sequence(inner);
  if (!items) return undefined;
  const rests = expandBraces(raw.slice(end));
  if (!rests) return undefined;
  const out: string[] = [];
  for (const item of items) {
    const middles = expandBraces(item);
    if (!middles) return undefined;
    for (const middle of middles) {
      for (const rest of rests) {
        if (out.length >= MAX_WORDS) return undefined;
        out.push(raw.slice(0, start) + middle + rest);
      }
    }
  }
  return out;
}

/** The first brace outside quotes and expansions that has a partner and a list or a sequence in it. */
function findOpen(raw: string): { start: number; end: number; inner: string } | undefined {
  for (let at = 0; at < raw.length; at++) {
    const char = raw[at];
    if (char === '\\') at++;
    else if (char === "'" || char === '"' || char === '`') at = skipTo(raw, at, char);
    else if (char === '$' && (raw[at + 1] === '{' || raw[at + 1] === '('))
      at = matching(raw, at + 1);
    else if (char === '{') {
      const end = matching(raw, at);
      const inner = raw.slice(at + 1, end);
      if (end < raw.length && (splitItems(inner) || sequence(inner) || /["'\\$`]/.test(inner))) {
        return { start: at, end: end + 1, inner };
      }
    }
  }
  return undefined;
}

function skipTo(raw: string, from: number, quote: string): number {
  for (let at = from + 1; at < raw.length; at++) {
    if (raw[at] === '\\' && quote !== "'") at++;
    else if (raw[at] === quote) return at;
  }
  return raw.length;
}

function matching(raw: string, from: number): number {
  const opener = raw[from];
  const closer = opener === '(' ? ')' : '}';
  let depth = 0;
  for (let at = from; at < raw.length; at++) {
    if (raw[at] === '\\') at++;
    else if (raw[at] === opener) depth++;
    else if (raw[at] === closer && --depth === 0) return at;
  }
  return raw.length;
}

function splitItems(inner: string): string[] | undefined {
  const items: string[] = [];
  let depth = 0;
  let last = 0;
  for (let at = 0; at < inner.length; at++) {
    if (inner[at] === '{') depth++;
    else if (inner[at] === '}') depth--;
    else if (inner[at] === ',' && depth === 0) {
      items.push(inner.slice(last, at));
      last = at + 1;
    }
  }
  return items.length === 0 ? undefined : [...items, inner.slice(last)];
}

function sequence(inner: string): string[] | undefined {
  const numbers = /^(-?\d{1,9})\.\.(-?\d{1,9})(?:\.\.(-?\d{1,9}))?$/.exec(inner);
  const letters = /^([A-Za-z])\.\.([A-Za-z])$/.exec(inner);
  if (!numbers && !letters) return undefined;
  const ends = numbers ? [Number(numbers[1]), Number(numbers[2])] : codes(letters);
  const [from = 0, to = 0] = ends;
  const step = Math.max(1, Math.abs(Number(numbers?.[3] ?? 1))) * (from <= to ? 1 : -1);
  const width =
    numbers && [numbers[1], numbers[2]].some((text) => /^-?0\d/.test(text ?? ''))
      ? Math.max((numbers[1] as string).length, (numbers[2] as string).length)
      : 0;
  const out: string[] = [];
  for (let at = from; step > 0 ? at <= to : at >= to; at += step) {
    if (out.length >= MAX_WORDS) return undefined;
    out.push(numbers ? String(at).padStart(width, '0') : String.fromCharCode(at));
  }
  return out;
}

const codes = (letters: RegExpExecArray | null): number[] =>
  (letters ?? []).slice(1).map((letter) => letter.charCodeAt(0));
