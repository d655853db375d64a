import type { Reader } from '../db/database.ts';
import { safeText } from '../text/safe.ts';
import { findNotes, type FoundNote, type KnowledgeKind } from './queries.ts';

/** The longest question that is looked at, and the most words of it that may stand alone. */
const MAX_TEXT = 400;
const MAX_WORDS = 16;

/**
 * Notes by words (K7), best first; see `findNotes`. As web searches have it, "words in quotes" belong together and -word must not
 * be there; with either of them nothing but what fits whole is found. A text without any letter or digit finds nothing.
 */
export async function searchKnowledge(
  db: Reader,
  asked: { text: string; kind?: KnowledgeKind | undefined; limit: number },
): Promise<FoundNote[]> {
  const text = safeText(asked.text).replace(/\s+/gu, ' ').trim().slice(0, MAX_TEXT).toWellFormed();
  const words = wordsOf(text);
  if (words.length === 0) return [];
  const exact = /"|(?:^|\s)-\S/u.test(text);
  return findNotes(db, { ...asked, text, words: exact ? [] : words });
}

/** The words of a text: letters, digits and the underscore, so that nothing in them means anything to a query. */
function wordsOf(text: string): string[] {
  const words = text.normalize('NFKC').match(/[\p{L}\p{N}_]+/gu) ?? [];
  return [...new Set(words.map((word) => word.toLowerCase()))]
    .filter((word) => /[\p{L}\p{N}]/u.test(word))
    .slice(0, MAX_WORDS);
}
