/** The SQL of the knowledge that the client cannot say: full text, and one note per title. */
import { noSql, sql, type Reader, type Sql, type Unit } from '../db/database.ts';
import type { SessionOutcome } from '../db/rows.ts';
import { newId, type SessionId } from '../ids.ts';

/** What a note may be. */
export const KNOWLEDGE_KINDS = ['document', 'investigation', 'runbook'] as const;
/** One of the above. */
export type KnowledgeKind = (typeof KNOWLEDGE_KINDS)[number];

/** A note as it is stored, with the slugs that it is about and what became of the task that wrote it. */
export interface Note {
  id: string;
  title: string;
  kind: KnowledgeKind;
  content: string;
  tags: string[];
  about: string[];
  sessionId: string | null;
  /** The short id of the task that wrote it last; it stays when the task is deleted. */
  task: string | null;
  /** That task's outcome; null while it goes on. */
  outcome: SessionOutcome | null;
  createdAt: Date;
  updatedAt: Date;
}

/** A note that was searched for. */
export interface FoundNote extends Note {
  /** The words around what was found, on one line or more. */
  snippet: string;
  /** Whether it has all of the words, or only some. */
  whole: boolean;
}

const NOTE = sql`
  k.id, k.title, k.kind, k.content, k.tags, k.session_id AS "sessionId", k.task_short_id AS task, k.outcome,
  k.created_at AS "createdAt", k.updated_at AS "updatedAt",
  ARRAY(SELECT e.slug FROM knowledge_about a JOIN entities e ON e.id = a.entity_id
    WHERE a.knowledge_id = k.id ORDER BY e.slug) AS about`;

const HEADLINE =
  'MaxFragments=2, MaxWords=30, MinWords=12, StartSel="", StopSel="", FragmentDelimiter=" … "';

/**
 * Notes by their words, best first: a note of that very title, then those with all of the words, then those with some. Words are
 * stemmed as English and as German, and a beginning of a word finds it. `words`: those that may stand alone, letters and digits
 * only; without any, all that was asked must fit.
 */
export async function findNotes(
  db: Reader,
  asked: {
    text: string;
    words: readonly string[];
    kind?: KnowledgeKind | undefined;
    limit: number;
  },
): Promise<FoundNote[]> {
  return db.$queryRaw<FoundNote[]>(sql`
    WITH told AS (
      -- A word that either language passes over as too common says nothing by itself.
      SELECT coalesce(string_agg('''' || w || ''':*', ' | '), '') AS part
      FROM unnest(${[...asked.words]}::text[]) w
      WHERE numnode(plainto_tsquery('english', w)) > 0 AND numnode(plainto_tsquery('german', w)) > 0
    ), asked AS (
      SELECT websearch_to_tsquery('english', ${asked.text}) AS english, websearch_to_tsquery('german', ${asked.text}) AS german,
        to_tsquery('english', part) AS part_english, to_tsquery('german', part) AS part_german
      FROM told
    ), found AS (
      SELECT k.*, q.english || q.part_english AS english, q.german || q.part_german AS german,
        lower(k.title) = lower(${asked.text}) AS named,
        k.search @@ (q.english || q.german) AS whole,
        ts_rank_cd('{0.1, 0.4, 0.7, 1.0}', k.search, q.english || q.german || q.part_english || q.part_german, 1) AS rank
      FROM knowledge k, asked q
      WHERE (k.search @@ (q.english || q.german || q.part_english || q.part_german) OR lower(k.title) = lower(${asked.text}))
        ${asked.kind === undefined ? noSql : sql`AND k.kind = ${asked.kind}`}
      ORDER BY named DESC, whole DESC, rank DESC, k.updated_at DESC, k.id
      LIMIT ${asked.limit}
    )
    SELECT ${NOTE}, k.whole OR k.named AS whole,
      CASE WHEN ts_rank(to_tsvector('german', k.content), k.german) > ts_rank(to_tsvector('english', k.content), k.english)
        THEN ts_headline('german', k.content, k.german, ${HEADLINE})
        ELSE ts_headline('english', k.content, k.english, ${HEADLINE}) END AS snippet
    FROM found k
    ORDER BY k.named DESC, k.whole DESC, k.rank DESC, k.updated_at DESC, k.id`);
}

/** The newest notes; of one entity, or of all. */
export async function newestNotes(
  db: Reader,
  asked: { entityId?: string | undefined; limit: number },
): Promise<Note[]> {
  const about: Sql =
    asked.entityId === undefined
      ? noSql
      : sql`WHERE EXISTS (SELECT FROM knowledge_about a WHERE a.knowledge_id = k.id AND a.entity_id = ${asked.entityId}::uuid)`;
  return db.$queryRaw<Note[]>(sql`
    SELECT ${NOTE} FROM knowledge k ${about}
    ORDER BY k.updated_at DESC, k.id LIMIT ${asked.limit}`);
}

/** One note by its id. */
export async function noteById(db: Reader, id: string): Promise<Note | undefined> {
  const [row] = await db.$queryRaw<Note[]>(
    sql`SELECT ${NOTE} FROM knowledge k WHERE k.id = ${id}::uuid`,
  );
  return row;
}

/** How many notes there are. */
export async function countNotes(db: Reader): Promise<Record<KnowledgeKind, number>> {
  const rows = await db.$queryRaw<Array<{ kind: KnowledgeKind; many: number }>>(
    sql`SELECT kind, count(*)::int AS many FROM knowledge GROUP BY kind`,
  );
  const counts = { document: 0, investigation: 0, runbook: 0 };
  for (const { kind, many } of rows) counts[kind] = many;
  return counts;
}

/**
 * Writes a note: a new one, or in the place of the one with this title, whatever its letter case. Two tasks that write the same
 * title at once both get through, one after the other. `tags` undefined keeps those that are there.
 */
export async function putNote(
  unit: Unit,
  note: {
    title: string;
    kind: KnowledgeKind;
    content: string;
    tags: readonly string[] | undefined;
    sessionId: SessionId;
  },
): Promise<{ id: string; added: boolean }> {
  const tags = note.tags === undefined ? null : [...note.tags];
  const rows = await unit.db.$queryRaw<Array<{ id: string; added: boolean }>>(sql`
    INSERT INTO knowledge AS k (id, title, kind, content, tags, session_id, task_short_id, outcome, created_at, updated_at)
    SELECT ${newId()}::uuid, ${note.title}, ${note.kind}, ${note.content}, coalesce(${tags}::text[], '{}'),
      s.id, s.short_id, s.outcome, clock_timestamp(), clock_timestamp()
    FROM sessions s WHERE s.id = ${note.sessionId}::uuid
    ON CONFLICT (lower(title)) DO UPDATE SET title = excluded.title, kind = excluded.kind, content = excluded.content,
      tags = coalesce(${tags}::text[], k.tags), session_id = excluded.session_id,
      task_short_id = excluded.task_short_id, outcome = excluded.outcome, updated_at = excluded.updated_at
    RETURNING k.id, (xmax = 0) AS added`);
  const [row] = rows;
  if (row === undefined) throw new Error(`no task ${note.sessionId} to write knowledge for`);
  return row;
}

/** Which entities names stand for: a slug, or a bare name. A name without any row is of none, with several of many. */
export async function entitiesNamed(
  db: Reader,
  names: readonly string[],
): Promise<Array<{ named: string; id: string; slug: string }>> {
  if (names.length === 0) return [];
  return db.$queryRaw<Array<{ named: string; id: string; slug: string }>>(sql`
    SELECT n.named, e.id, e.slug FROM unnest(${[...names]}::text[]) AS n (named)
    JOIN entities e ON e.slug = n.named OR (strpos(n.named, ':') = 0 AND e.name = n.named)
    ORDER BY e.slug`);
}

/** Links a note to entities; links that are there stay. */
export async function linkNote(
  unit: Unit,
  id: string,
  entityIds: readonly string[],
): Promise<void> {
  if (entityIds.length === 0) return;
  await unit.db.$executeRaw(sql`
    INSERT INTO knowledge_about (knowledge_id, entity_id)
    SELECT ${id}::uuid, e FROM unnest(${[...entityIds]}::uuid[]) e ON CONFLICT DO NOTHING`);
}
