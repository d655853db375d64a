import { readIntent } from './intent.ts';

const REPLY_BLOCK = /^\s*<mx-reply>[\s\S]*?<\/mx-reply>/;
const EDIT_MARK = /^\s?\*\s+/;
const SPACES = /[\u00a0\u2000-\u200a\u202f\u205f\u3000]/gu;
const EMOJI_SELECTOR = /(?<=[\p{Extended_Pictographic}\p{Emoji_Modifier}])[\ufe0e\ufe0f]/gu;

/**
 * The words an operator wrote, without what Matrix clients put around them: the quotation that stands before a reply
 * (`<mx-reply>…</mx-reply>`, or lines with ">" and an empty line), the " * " before an edit, a
 * mention of the bot ("Nomos: yes", "@nomos:example.org yes") and the selectors behind emoji. `names` are the bot's display names and
 * user id. Nothing else is taken out: an invisible character inside a word stays and is seen by
 * {@link readIntent}, and a quotation without the empty line stays, because what follows it may
 * belong to it.
 */
export function cleanBody(body: string, names: readonly string[] = []): string {
  let text = body.normalize('NFC').replace(/\r\n?/g, '\n').replace(SPACES, ' ');
  text = text.replace(EMOJI_SELECTOR, '');
  text = withoutQuotation(text.replace(REPLY_BLOCK, '')).replace(EDIT_MARK, '');
  // An edit of a reply has the mark before the quotation or behind it.
  text = withoutQuotation(text);
  return withoutMention(text.trim(), names).trim();
}

function withoutQuotation(text: string): string {
  const lines = text.split('\n');
  const start = lines.findIndex((line) => line.trim() !== '');
  if (start < 0 || !lines[start]?.startsWith('>')) return text;
  let end = start;
  while (end < lines.length && lines[end]?.startsWith('>')) end += 1;
  if (end === lines.length) return '';
  return lines[end]?.trim() === '' ? lines.slice(end + 1).join('\n') : text;
}

function withoutMention(text: string, names: readonly string[]): string {
  // The longest first, so that "Nomos Test" is not cut after "Nomos".
  for (const name of names.toSorted((a, b) => b.length - a.length)) {
    const rest = afterName(text, name.normalize('NFC').trim());
    if (rest !== null) return rest;
  }
  return text;
}

function afterName(text: string, name: string): string | null {
  // A bot that is called "No" must not make a refusal vanish.
  if (name.length < 2 || readIntent(name).negation) return null;
  for (const spelled of [name, `@${name}`, name.replace(/:.*$/s, '')]) {
    if (spelled.length < 2 || text.length <= spelled.length) continue;
    if (text.slice(0, spelled.length).toLowerCase() !== spelled.toLowerCase()) continue;
    const rest = text.slice(spelled.length);
    const separator = /^\s*[:,]\s*|^\s+/.exec(rest);
    if (separator) return rest.slice(separator[0].length);
  }
  return null;
}
