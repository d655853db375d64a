import { blockRanges } from './blocks.ts';
import { headerRanges } from './headers.ts';
import { namedRanges } from './named.ts';
import { programRanges } from './programs.ts';
import { merge, replace, type Range } from './ranges.ts';
import { shapeRanges } from './shapes.ts';
import { urlRanges } from './urls.ts';

/** Masks secrets in texts. */
export interface Masker {
  /** The text with every secret replaced by `[masked]`. */
  mask(text: string): string;
  /** Where the secrets stand, in order, without overlap. */
  find(text: string): readonly Range[];
  /** Characters of the longest known secret; a stream holds back that many. 0 if none is known. */
  readonly longestKnown: number;
}

/** Known secrets shorter than this are not looked for: they would be found in ordinary words. */
export const SHORTEST_KNOWN = 6;

/**
 * A masker that besides {@link maskSecrets}'s rules knows some secrets by themselves, such as the
 * configured keys and tokens. They are found as they are, and as JSON, URL-encoding and base64
 * write them. Those under 6 characters are left out.
 */
export function createMasker(knownSecrets: readonly string[] = []): Masker {
  const known = [...new Set(knownSecrets.flatMap(spellings))].filter(
    (secret) => secret.length >= SHORTEST_KNOWN,
  );
  const find = (text: string): readonly Range[] => {
    const found = known.flatMap((secret) => occurrences(text, secret));
    for (const rule of [
      blockRanges,
      urlRanges,
      shapeRanges,
      headerRanges,
      namedRanges,
      programRanges,
    ]) {
      for (const range of rule(text)) found.push(range);
    }
    return merge(found);
  };
  return {
    find,
    mask: (text) => replace(text, find(text)),
    longestKnown: Math.max(0, ...known.map((secret) => secret.length)),
  };
}

const plain = createMasker();

/**
 * Masks secrets in what commands print and in commands themselves (X9), before a model, a room or
 * the API sees them: private keys, tokens of known shapes, password hashes, passwords in URLs, headers that
 * carry credentials, values whose names say that they are secret, and arguments by which programs
 * take passwords. Works on any text in linear time; ordinary text is unchanged, and masking twice changes
 * nothing more.
 */
export function maskSecrets(text: string): string {
  return plain.mask(text);
}

function spellings(secret: string): string[] {
  const trimmed = secret.trim();
  if (trimmed.length < SHORTEST_KNOWN) return [];
  return [
    trimmed,
    JSON.stringify(trimmed).slice(1, -1),
    encodeURIComponent(trimmed.toWellFormed()),
    Buffer.from(trimmed, 'utf8').toString('base64').replace(/=+$/, ''),
  ];
}

function occurrences(text: string, secret: string): Range[] {
  const found: Range[] = [];
  for (let at = text.indexOf(secret); at >= 0; at = text.indexOf(secret, at + secret.length)) {
    found.push({ start: at, end: at + secret.length });
  }
  return found;
}
