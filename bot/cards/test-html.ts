const TAGS = new Set([
  'a',
  'b',
  'strong',
  'i',
  'em',
  'u',
  'del',
  'code',
  'ul',
  'ol',
  'li',
  'pre',
  'blockquote',
  'p',
  'br',
]);

/**
 * What in a card's HTML the smallest client would not show as it is meant: tags outside its list, attributes other than a
 * web link's `href`, signs that are not escaped, tags that are not closed in order. Empty if all is well. For tests.
 */
export function allowedTags(html: string): string[] {
  const faults: string[] = [];
  const open: string[] = [];
  const rest = html.replace(
    /<(\/?)([a-zA-Z0-9-]+)((?:\s[^<>]*)?)>/g,
    (whole, slash: string, tag: string, attributes: string) => {
      if (!TAGS.has(tag)) faults.push(`tag ${whole}`);
      if (slash === '/') {
        if (open.pop() !== tag) faults.push(`closing ${whole}`);
      } else if (tag !== 'br') open.push(tag);
      if (
        attributes !== '' &&
        !(tag === 'a' && /^ href="https?:\/\/[^"<>\s]+"$/.test(attributes))
      ) {
        faults.push(`attributes ${whole}`);
      }
      return '';
    },
  );
  if (/[<>]/.test(rest))
    faults.push(`stray sign near ${/.{0,20}[<>].{0,20}/s.exec(rest)?.[0] ?? ''}`);
  if (/&(?!(?:amp|lt|gt|quot|#39);)/.test(rest)) faults.push('bare ampersand');
  return [...faults, ...open.map((tag) => `not closed: ${tag}`)];
}
