import { convert } from 'html-to-text';

/** Deeper and longer pages than this are cut by the library: a page may be made to take for ever. */
const LIMITS = { maxInputLength: 1024 * 1024, maxDepth: 100, maxChildNodes: 5_000 };

/** The text of a page that a person would read, by its media type; undefined for what is no text. */
export function readableText(body: Buffer, contentType: string): string | undefined {
  const [type = '', ...parameters] = contentType
    .toLowerCase()
    .split(';')
    .map((part) => part.trim());
  const html = type === 'text/html' || type === 'application/xhtml+xml';
  const plain = /^text\/|[/+](?:json|xml|yaml|x-yaml|toml)$|^application\/javascript$/.test(type);
  // Servers that say nothing mostly send plain text; what holds a NUL byte is none.
  if (!html && !plain && type !== '') return undefined;
  if (body.subarray(0, 1_000).includes(0) && !/utf-?16/.test(contentType)) return undefined;
  const text = decode(body, parameters);
  return (html ? textOfHtml(text) : text).replaceAll('\0', '').toWellFormed().trim();
}

function textOfHtml(html: string): string {
  return convert(html, {
    wordwrap: false,
    limits: LIMITS,
    selectors: [
      { selector: 'img', format: 'skip' },
      { selector: 'nav', format: 'skip' },
      // Numbers are made from what the page says, and a strange one breaks the library.
      { selector: 'ol', format: 'unorderedList' },
      { selector: 'a', options: { ignoreHref: false, hideLinkHrefIfSameAsText: true } },
      ...['h1', 'h2', 'h3', 'h4', 'h5', 'h6'].map((selector) => ({
        selector,
        options: { uppercase: false },
      })),
    ],
  });
}

function decode(body: Buffer, parameters: readonly string[]): string {
  const named = parameters.find((one) => one.startsWith('charset='))?.slice('charset='.length);
  const declared = named ?? /charset=["']?([\w-]+)/i.exec(body.toString('latin1', 0, 2_048))?.[1];
  try {
    return new TextDecoder(declared?.replaceAll(/["']/g, '') ?? 'utf-8').decode(body);
  } catch {
    // A name of no encoding: most of what there is reads well as UTF-8.
    return new TextDecoder().decode(body);
  }
}
