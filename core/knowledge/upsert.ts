import type { Unit } from '../db/database.ts';
import { NomosError } from '../errors.ts';
import { maskSecrets } from '../executions/masking/masker.ts';
import type { SessionId } from '../ids.ts';
import { cutLabel } from '../text/label.ts';
import { safeText } from '../text/safe.ts';
import { entitiesNamed, linkNote, putNote, type KnowledgeKind } from './queries.ts';

/** The longest title and tag, in characters, and the most tags of a note. */
export const MAX_TITLE = 160;
/** See above. */
const MAX_TAG = 40;
/** See above. */
export const MAX_TAGS = 12;
/** The longest content, in UTF-16 units: it is read by models, whole. */
export const MAX_CONTENT = 20_000;

/** What was written down. */
export interface Written {
  id: string;
  /** As it is stored: secrets masked, white space made plain. */
  title: string;
  added: boolean;
  /** Slugs that it is linked to by this call. */
  linked: string[];
  /** Names that no entity has. */
  unknown: string[];
  /** Names that several entities have, with their slugs. */
  ambiguous: Array<{ name: string; slugs: string[] }>;
}

/**
 * Writes a note down (K6): one title is one note, so the same title again updates it. It is linked to the task that wrote it and
 * to every entity that it is about; names that are none are given back, and the rest is linked. It outlives its task (T11).
 * Secrets in it are masked before it is stored (X9).
 *
 * Throws `knowledge_invalid` when nothing is left of title or content.
 */
export async function upsertKnowledge(
  unit: Unit,
  args: {
    sessionId: SessionId;
    /** For the audit log. */
    by: string;
    title: string;
    kind: KnowledgeKind;
    content: string;
    /** Undefined keeps what an older version of the note has. */
    tags?: readonly string[] | undefined;
    /** Slugs, or names that only one entity has. */
    about: readonly string[];
  },
): Promise<Written> {
  const title = cutLabel(maskSecrets(safeText(args.title)), MAX_TITLE);
  const content = maskSecrets(safeText(args.content)).trim();
  for (const [name, text] of [
    ['title', title],
    ['content', content],
  ] as const) {
    if (text === '') {
      throw new NomosError('knowledge_invalid', 'model', `The ${name} of a note cannot be empty.`);
    }
  }
  const { id, added } = await putNote(unit, {
    title,
    kind: args.kind,
    content,
    tags: args.tags === undefined ? undefined : readTags(args.tags),
    sessionId: args.sessionId,
  });
  const names = [...new Set(args.about.map((name) => name.trim()).filter((name) => name !== ''))];
  const found = await entitiesNamed(unit.db, names.map(safeText));
  const { linked, unknown, ambiguous } = sortOut(names, found);
  await linkNote(
    unit,
    id,
    linked.map((entity) => entity.id),
  );
  const slugs = [...new Set(linked.map(({ slug }) => slug))];
  unit.emit({
    type: 'knowledge.changed',
    sessionId: args.sessionId,
    refId: id,
    data: { added, kind: args.kind },
  });
  unit.audit({
    actor: args.by,
    action: added ? 'knowledge.added' : 'knowledge.updated',
    sessionId: args.sessionId,
    subject: id,
    data: { title, kind: args.kind, about: slugs },
  });
  return { id, title, added, linked: slugs, unknown, ambiguous };
}

function readTags(given: readonly string[]): string[] {
  const tags = given
    .map((tag) => cutLabel(maskSecrets(safeText(tag)).replace(/^#/, ''), MAX_TAG).toLowerCase())
    .filter((tag) => tag !== '');
  return [...new Set(tags)].slice(0, MAX_TAGS);
}

interface Named {
  named: string;
  id: string;
  slug: string;
}

function sortOut(
  names: readonly string[],
  found: readonly Named[],
): { linked: Named[]; unknown: string[]; ambiguous: Written['ambiguous'] } {
  const linked: Named[] = [];
  const unknown: string[] = [];
  const ambiguous: Written['ambiguous'] = [];
  for (const name of names) {
    const fitting = found.filter(({ named }) => named === safeText(name));
    const [only] = fitting;
    if (only === undefined) unknown.push(name);
    else if (fitting.length === 1) linked.push(only);
    else ambiguous.push({ name, slugs: fitting.map(({ slug }) => slug) });
  }
  return { linked, unknown, ambiguous };
}
