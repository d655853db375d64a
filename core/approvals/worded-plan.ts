import { cutLabel } from '../text/label.ts';

/** A step of a plan that an answer tells in words; `detail` is the whole sentence where the title had to be cut. */
export interface WordedStep {
  title: string;
  detail?: string;
}

// What `propose_plan` takes, so that a plan in words is stored like any other.
const MAX_STEPS = 40;
const MAX_TITLE = 120;
const MAX_DETAIL = 1000;

// Characters of the words around the list that are looked at: a question is at the end, an announcement right before.
const NEAR = 600;

const ITEM = /^ {0,3}(\d{1,2})[.)]\s+(\S.*)$/;
const CONTINUES = /^\s+\S/;

// The words before a list that make it something to be done, not something that was found.
const ANNOUNCES = new RegExp(
  [
    String.raw`\bplan\b|\bsteps?\b|\b(?:i|we)(?:['’](?:ll|d)| will| would| propose| suggest| am going to)\b`,
    String.raw`\bschritte?n?\b|\b(?:ich|wir) (?:würden?|werden?|schlagen?)\b|\b(?:würde|werde|schlage) ich\b`,
    String.raw`\bpasos?\b|\bvoy a\b|\bharía\b|\bpropongo\b|\bétapes?\b|\bje (?:vais|ferais|propose)\b`,
  ].join('|'),
  'iu',
);

// A question whether to begin, or what to say so that it begins.
const ASKS = new RegExp(
  [
    String.raw`\b(?:shall|should|may|can) (?:i|we)\b[^.?!]*\?`,
    String.raw`\b(?:proceed|go ahead|go on|begin|start|carry (?:this|it) out|do (?:this|it|that)|okay|ok|agreed|approve)\b[^.?!]*\?`,
    String.raw`\b(?:want me to|like me to)\b[^.?!]*\?`,
    String.raw`\b(?:say|reply|answer|type|write|tell me)\b[^.?!]{0,40}\b(?:proceed|go ahead|yes|ok|okay|go)\b`,
    String.raw`\b(?:soll(?:en)?|darf|dürfen|kann|können) (?:ich|wir)\b[^.?!]*\?|\b(?:einverstanden|loslegen|fortfahren|in ordnung)\b[^.?!]*\?`,
    String.raw`\b(?:procedo|sigo|continúo|empiezo|lo hago|de acuerdo)\b[^.?!]*\?`,
    String.raw`\b(?:dois-je|puis-je|je (?:commence|continue|procède)|d['’]accord)(?![\p{L}])[^.?!]*\?`,
  ].join('|'),
  'iu',
);

/**
 * The steps of a plan that an answer tells only in words (A11): a numbered list of two or more that is announced as what would be
 * done, in an answer whose end asks whether to begin. Null for any other answer: a list of findings and a question after it are no
 * plan, since a "yes" to those must open nothing.
 */
export function wordedPlan(answer: string): WordedStep[] | null {
  const lines = answer.replaceAll('\r', '').split('\n');
  const list = lastNumberedList(lines);
  if (list === null || list.items.length < 2 || list.items.length > MAX_STEPS) return null;
  if (!ANNOUNCES.test(paragraphBefore(lines, list.from))) return null;
  const after = lines.slice(list.to).join(' ').trim().slice(-NEAR);
  if (!ASKS.test(after)) return null;
  const steps = list.items.map(plain).filter((text) => text !== '');
  if (steps.length !== list.items.length) return null;
  return steps.map((text) =>
    text.length <= MAX_TITLE
      ? { title: text }
      : { title: cutLabel(text, MAX_TITLE), detail: text.slice(0, MAX_DETAIL) },
  );
}

interface NumberedList {
  from: number;
  to: number;
  items: string[];
}

// Counts 1, 2, 3 …; lines that are indented go on with the item before them.
function lastNumberedList(lines: readonly string[]): NumberedList | null {
  let found: NumberedList | null = null;
  let open: NumberedList | null = null;
  for (const [at, line] of lines.entries()) {
    const item = ITEM.exec(line);
    if (item !== null) {
      const number = Number(item[1]);
      if (number === 1) {
        open = { from: at, to: at + 1, items: [item[2] ?? ''] };
        found = open;
      } else if (open !== null && number === open.items.length + 1) {
        open.items.push(item[2] ?? '');
        open.to = at + 1;
      } else {
        open = null;
        found = null;
      }
    } else if (open !== null && CONTINUES.test(line)) {
      const last = open.items.length - 1;
      open.items[last] = `${open.items[last]} ${line.trim()}`;
      open.to = at + 1;
    } else if (line.trim() !== '') {
      open = null;
    }
  }
  return found;
}

// The words right before the list; a heading of it, with the words above the heading.
function paragraphBefore(lines: readonly string[], from: number): string {
  const words: string[] = [];
  let at = from - 1;
  while (at >= 0 && lines[at]?.trim() === '') at -= 1;
  while (at >= 0 && lines[at]?.trim() !== '') {
    words.unshift(lines[at] ?? '');
    at -= 1;
  }
  return words.join(' ').slice(-NEAR);
}

// Without the marks of Markdown: a title is shown as text.
function plain(item: string): string {
  return item
    .replaceAll(/\*\*|__|`/gu, '')
    .replaceAll(/\s+/gu, ' ')
    .trim();
}
