import { z } from 'zod';
import { KNOWLEDGE_KINDS } from '../knowledge/queries.ts';
import { searchKnowledge } from '../knowledge/search.ts';
import { cutLabel } from '../text/label.ts';
import { noteHead, noteWithText } from './note-for-model.ts';
import { defineTool } from './tool.ts';

const WHOLE_BYTES = 24 * 1024;
/** A note that is no longer than this is given whole in any case: its snippet would be most of it. */
const SHORT = 600;

/** Finds notes again by their words (K7). */
export const searchKnowledgeTool = defineTool({
  name: 'search_knowledge',
  description:
    'Finds notes of earlier tasks by words, best first, with what became of the task that wrote each. Take it first, before you diagnose or plan: an error message, a program, what the operator wants. English and German words are stemmed; "words in quotes" belong together, -word must not be there. The exact title of a note gives it whole. Empty results mean that nobody wrote it down yet.',
  kind: 'read',
  input: z.strictObject({
    query: z.string().trim().min(2).max(400).describe('Words, or the exact title of a note.'),
    kind: z.enum(KNOWLEDGE_KINDS).optional().describe('Only notes of this kind.'),
    limit: z.int().min(1).max(20).default(5),
  }),
  async handler({ db }, { query, kind, limit }) {
    const notes = await searchKnowledge(db, { text: query, kind, limit });
    const some = notes.length > 0 && !notes.some(({ whole }) => whole);
    const title = query.replace(/\s+/gu, ' ').toLowerCase();
    return {
      ok: true,
      value: {
        count: notes.length,
        ...(some ? { note: 'No note has all of these words; these have some of them.' } : {}),
        notes: notes.map((note) => {
          if (note.title.toLowerCase() === title) return noteWithText(note, WHOLE_BYTES);
          if (note.content.length <= SHORT) return noteWithText(note, WHOLE_BYTES);
          return { ...noteHead(note), snippet: cutLabel(note.snippet, SHORT) };
        }),
      },
    };
  },
});
