import type { Range } from './ranges.ts';

const HEADER =
  /((["'])?(?<![A-Za-z0-9-])(?:proxy-authorization|authorization|x-api-key|x-auth-token|x-access-token|x-vault-token|x-gitlab-token|private-token|job-token|apikey|api-key|x-amz-security-token|x-csrf-token|x-emby-token|x-plex-token|x-registry-auth|cookie|set-cookie)["']?[ \t]{0,8}[:=][ \t]{0,8}["']?)((?:basic|bearer|token|digest|negotiate|ntlm|apikey|aws4-hmac-sha256|pveapitoken|mediabrowser)[ \t]{1,8})?([^\r\n]{1,8192})/gi;

const NO_CREDENTIAL = /^(?:none|required|basic|bearer|\$\{?\w+\}?|<[^<>]*>|\[masked\])$/i;

/**
 * The values of HTTP headers that carry credentials, in a request, in a command (`-H "…"`) and in
 * JSON. The scheme ("Bearer") stays readable.
 */
export function headerRanges(text: string): Range[] {
  const found: Range[] = [];
  for (const match of text.matchAll(HEADER)) {
    const [, lead = '', , scheme = '', value = ''] = match;
    const start = match.index + lead.length + scheme.length;
    // The quote that opened right before the value or before the name closes the value.
    const quote = /["']$/.exec(lead)?.[0] ?? /^["']/.exec(lead)?.[0];
    const close = quote === undefined ? -1 : value.indexOf(quote);
    const length = close >= 0 ? close : value.trimEnd().length;
    const shown = value.slice(0, length);
    const isCookie = /cookie/i.test(lead);
    if (NO_CREDENTIAL.test(shown) || (isCookie && !shown.includes('='))) continue;
    found.push({ start, end: start + length });
  }
  return found;
}
