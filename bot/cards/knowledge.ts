import type { FoundNote, Note } from '../../core/knowledge/queries.ts';
import { headBytes } from '../../core/text/clip.ts';
import { cardOf, fitting, type Card } from './card.ts';
import { markdown } from './markdown.ts';
import { para, rich, strong, type Rich } from './rich.ts';
import { clock, type View } from './view.ts';
import { count, label, names, slug } from './words.ts';

const KIND_MARK = { document: '📄', investigation: '🔎', runbook: '📘' } as const;

/** A note of so many characters needs no snippet. */
const SHORT = 300;

// How many notes one form of the card lists, with how much of each.
const EXTENTS = [
  { notes: 8, characters: 240 },
  { notes: 5, characters: 120 },
  { notes: 3, characters: 40 },
];

/** What a search found, best first (K7); `asked` is what was searched for. */
export function foundCard(asked: string, found: readonly FoundNote[], view: View): Card {
  if (found.length === 0) {
    return cardOf([
      para(
        rich`Nothing is written down about “${label(asked, 80)}”.`,
        rich`Fewer or other words may find more; !knowledge alone lists the newest notes.`,
      ),
    ]);
  }
  const some = found.some(({ whole }) => whole) ? '' : ' with some of the words';
  return fitting(
    EXTENTS.map(
      (extent) => () =>
        cardOf([
          para(strong(rich`${count(found.length, 'note')}${some}`)),
          ...found
            .slice(0, extent.notes)
            .map((note) =>
              para(
                headOf(note),
                rich`${label(gistOf(note), extent.characters)}`,
                originOf(note, view),
              ),
            ),
          para(rich`!knowledge and a note’s title shows it whole.`),
        ]),
    ),
  );
}

/** The newest notes (K7). */
export function newestCard(notes: readonly Note[], total: number, view: View): Card {
  if (notes.length === 0) {
    return cardOf([
      para(rich`Nothing is written down yet.`, rich`Tasks write down what they find out.`),
    ]);
  }
  return fitting(
    EXTENTS.map(
      (extent) => () =>
        cardOf([
          para(strong(rich`${count(total, 'note')}, the newest first`)),
          ...notes.slice(0, extent.notes).map((note) => para(headOf(note), originOf(note, view))),
          para(rich`!knowledge and words searches, and a note’s title shows it whole.`),
        ]),
    ),
  );
}

/** One note, as much of it as fits. */
export function noteCard(note: Note, view: View): Card {
  return fitting(
    [6_000, 2_500, 600].map((most) => () => {
      const content = headBytes(note.content, most);
      return cardOf([
        para(
          headOf(note),
          note.about.length === 0 ? undefined : rich`About ${names(note.about, 6)}`,
          note.tags.length === 0 ? undefined : rich`Tags: ${names(note.tags, 6)}`,
        ),
        markdown(content),
        content === note.content ? undefined : para(rich`The note goes on; the API has all of it.`),
        para(originOf(note, view)),
      ]);
    }),
  );
}

/** A short note as it is, else the words around what was found; without the marks of Markdown. */
function gistOf(note: FoundNote): string {
  const text = note.content.length <= SHORT ? note.content : note.snippet;
  return text.slice(0, 2_000).replaceAll(/[*_`#]+/g, '');
}

function headOf(note: Note): Rich {
  return strong(rich`${KIND_MARK[note.kind]} ${label(note.title, 160)}`);
}

/** When it was written, by which task, and what became of that. */
function originOf(note: Note, view: View): Rich {
  const when = clock(note.updatedAt, view);
  if (note.task === null) return rich`${when}`;
  return rich`${when} · task ${slug(note.task)}, ${note.outcome ?? 'not ended yet'}`;
}
