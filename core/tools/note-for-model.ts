import type { Note } from '../knowledge/queries.ts';
import { headBytes } from '../text/clip.ts';
import { formatDuration } from '../text/duration.ts';

/** How a note that is cut is read whole. */
const WHOLE = 'search_knowledge with its exact title gives it whole.';

/** A note without its text, as the model gets it: what it is, what it is about, and what became of the task that wrote it. */
export function noteHead(note: Note, now: Date = new Date()): Record<string, unknown> {
  return {
    title: note.title,
    kind: note.kind,
    ...(note.tags.length === 0 ? {} : { tags: note.tags }),
    ...(note.about.length === 0 ? {} : { about: note.about }),
    written: `${formatDuration(now.getTime() - note.updatedAt.getTime())} ago`,
    ...(note.task === null ? {} : { task: note.task, outcome: note.outcome ?? 'not ended yet' }),
  };
}

/** A note with its text, as much of it as `maxBytes` hold. */
export function noteWithText(note: Note, maxBytes: number): Record<string, unknown> {
  const content = headBytes(note.content, maxBytes);
  return {
    ...noteHead(note),
    content,
    ...(content === note.content ? {} : { cut: `This is its beginning. ${WHOLE}` }),
  };
}
