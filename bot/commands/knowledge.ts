import { countNotes, newestNotes } from '../../core/knowledge/queries.ts';
import { searchKnowledge } from '../../core/knowledge/search.ts';
import { foundCard, newestCard, noteCard } from '../cards/knowledge.ts';
import type { Command } from './command.ts';

const LIMIT = 8;

/** `!knowledge`: what earlier tasks wrote down (K7). */
export const knowledgeCommand: Command = {
  name: 'knowledge',
  takes: [
    {
      name: 'words',
      what: 'words to look for, or a note’s title; nothing lists the newest notes',
      required: false,
      rest: true,
    },
  ],
  does: 'Searches what earlier tasks wrote down, and shows a note by its title.',
  needs: 'viewer',
  async run({ context: { unit, view }, args }) {
    const asked = args['words'];
    if (asked === undefined) {
      const [notes, counts] = await Promise.all([
        newestNotes(unit.db, { limit: LIMIT }),
        countNotes(unit.db),
      ]);
      const total = counts.document + counts.investigation + counts.runbook;
      return newestCard(notes, total, view);
    }
    const found = await searchKnowledge(unit.db, { text: asked, limit: LIMIT });
    const title = asked.replace(/\s+/gu, ' ').trim().toLowerCase();
    const named = found.find((note) => note.title.toLowerCase() === title);
    return named === undefined ? foundCard(asked, found, view) : noteCard(named, view);
  },
};
