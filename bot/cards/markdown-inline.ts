import { code, del, em, join, link, rich, say, strong, type Rich } from './rich.ts';

// Each alternative starts with a sign of its own and reads forward to the next one, within a paragraph: no nesting of
// unbounded repeats, so the time is linear in the text but for the bounded look ahead.
const TOKEN =
  /(`{1,3})(?!`)([^`\n]{1,2000}?)\1(?!`)|\*\*(?=\S)([^\n]{1,2000}?\S)\*\*|__(?=\S)([^_\n]{1,2000}?\S)__|~~(?=\S)([^~\n]{1,2000}?)~~|(?<![\w*])\*(?=[^\s*])([^*\n]{1,1000}?[^\s*]|[^\s*])\*(?![\w*])|(?<!\w)_(?=[^\s_])([^_\n]{1,1000}?[^\s_]|[^\s_])_(?!\w)|\[([^\]\n]{1,500})\]\(([^()\s<>"]{1,2000})(?:\s+"[^"\n]{0,300}")?\)/g;

const DEPTH_MAX = 4;

/** A line of a model's answer: `**bold**`, `*slanted*`, `` `code` ``, `~~struck~~` and links; all else is escaped. */
export function inline(text: string, depth = 0): Rich {
  if (depth >= DEPTH_MAX) return say(text);
  const pieces: Rich[] = [];
  let at = 0;
  for (const match of text.matchAll(TOKEN)) {
    if (match.index > at) pieces.push(say(text.slice(at, match.index)));
    pieces.push(piece(match, depth));
    at = match.index + match[0].length;
  }
  if (at < text.length) pieces.push(say(text.slice(at)));
  return join(pieces, '');
}

function piece(match: RegExpMatchArray, depth: number): Rich {
  const [whole, , codeText, bold, boldToo, struck, slanted, slantedToo, words, address] = match;
  if (codeText !== undefined) return code(codeText.trim() === '' ? codeText : codeText.trim());
  const heavy = bold ?? boldToo;
  if (heavy !== undefined) return strong(inline(heavy, depth + 1));
  if (struck !== undefined) return del(inline(struck, depth + 1));
  const light = slanted ?? slantedToo;
  if (light !== undefined) return em(inline(light, depth + 1));
  if (words !== undefined && address !== undefined)
    return linked(words, address, depth) ?? say(whole);
  return say(whole);
}

/**
 * A link that says where it leads: http and https only. A link to matrix.to would become a mention or a room's pill, so it
 * stays text (Z2). In plain text a link is nothing but its words, so the address is written out there; in HTML it is where the
 * words look like another address.
 */
function linked(words: string, address: string, depth: number): Rich | undefined {
  const url = URL.canParse(address) ? new URL(address) : undefined;
  if (url === undefined || (url.protocol !== 'http:' && url.protocol !== 'https:'))
    return undefined;
  if (url.hostname === 'matrix.to' || url.username !== '' || url.password !== '') return undefined;
  const made = link(url.href, inline(words, depth + 1));
  if (isSame(words, url)) return made;
  const withAddress = rich`${made} (${url.href})`;
  return { text: withAddress.text, html: ADDRESS.test(words) ? withAddress.html : made.html };
}

/** What a reader may take for an address: a scheme, or a name with a dot in it. */
const ADDRESS = /:\/\/|[\p{L}\p{N}][.。．][\p{L}\p{N}]/u;

/** Whether the words are the address itself, with or without its scheme. */
function isSame(words: string, url: URL): boolean {
  return [words, `https://${words}`, `http://${words}`].some(
    (said) => URL.canParse(said) && new URL(said).href === url.href,
  );
}
