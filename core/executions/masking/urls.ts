import type { Range } from './ranges.ts';

/** Longest "user:password" that is looked for, in characters. */
const LONGEST = 1024;
/** How far behind the first "@" another one may belong to the password. */
const BEHIND = 128;
const RUN = /^[^\s'"<>]*/;
/** What stands before the colon or, as a token, instead of a name. */
const USER = /^[^/?#:@[\]]{0,256}/;

/**
 * Passwords in URLs, and long tokens in the place of the user name. The password may hold "@" and
 * "/"; a port with a path behind it is none.
 */
export function urlRanges(text: string): Range[] {
  const found: Range[] = [];
  let sign = -1;
  for (let at = text.indexOf('://'); at >= 0; at = text.indexOf('://', at)) {
    const start = at + 3;
    if (sign < start) sign = text.indexOf('@', start);
    if (sign < 0) break;
    if (sign - start > LONGEST) {
      at = sign - LONGEST;
      continue;
    }
    const run = RUN.exec(text.slice(start, sign + BEHIND))?.[0] ?? '';
    const credential = credentialIn(run);
    at = start + (credential?.end ?? 0);
    if (credential !== null) found.push({ start: start + credential.start, end: at });
  }
  return found;
}

function credentialIn(run: string): Range | null {
  const user = USER.exec(run)?.[0] ?? '';
  const next = run[user.length];
  if (next === '@')
    return /^[A-Za-z0-9_-]{20,}$/.test(user) ? { start: 0, end: user.length } : null;
  if (next !== ':') return null;
  const start = user.length + 1;
  if (/^\d{1,5}(?:[/?#]|$)/.test(run.slice(start, start + 8))) return null;
  let end = run.indexOf('@', start);
  if (end <= start) return null;
  // "p@ss@host": the last "@" of the authority counts.
  for (let more = run.indexOf('@', end + 1); more >= 0; more = run.indexOf('@', more + 1)) {
    if (run.slice(end, more).includes('/')) break;
    end = more;
  }
  return { start, end };
}
