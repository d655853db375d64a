import type { Reader } from '../../core/db/database.ts';
import type { Session } from '../../core/db/rows.ts';
import { blastRadius } from '../../core/graph/blast-radius.ts';
import { listRelations, type EntityListing } from '../../core/graph/read.ts';
import { edgesAmong, nodesOf, type GraphNode } from '../../core/graph/subgraph.ts';
import { asId, type EntityId, type SessionId } from '../../core/ids.ts';
import { taskDigest } from '../../core/tasks/digest.ts';
import { count, names } from '../cards/words.ts';
import { MAX_NODES, type GraphPicture, type Tone } from './state.ts';

/** What is to be drawn, and the same in words. */
export interface LoadedGraph {
  readonly picture: GraphPicture;
  readonly words: string;
}

/**
 * The blast radius of an entity (P8): what depends on it, directly and through others, nearest first. Where nothing does,
 * what it is connected with. Undefined for one that stands alone: a single box is no picture.
 */
export async function entityGraph(
  db: Reader,
  entity: EntityListing,
): Promise<LoadedGraph | undefined> {
  const { id } = await db.entity.findUniqueOrThrow({
    where: { slug: entity.slug },
    select: { id: true },
  });
  const blast = await blastRadius(db, asId<EntityId>(id));
  const tones = new Map<string, Tone>([[entity.slug, 'subject']]);
  for (const { slug, depth } of blast.names) tones.set(slug, depth === 1 ? 'near' : 'far');
  if (blast.total === 0) {
    for (const { slug } of await listRelations(db, entity.slug)) {
      if (!tones.has(slug)) tones.set(slug, 'plain');
    }
  }
  if (tones.size === 1) return undefined;
  const total = blast.total === 0 ? tones.size - 1 : blast.total;
  const drawn = firstOf(tones);
  const title =
    blast.total === 0
      ? `${entity.name}: nothing depends on it`
      : `${entity.name} and what depends on it`;
  const others = [...tones.keys()].slice(1);
  const words =
    blast.total === 0
      ? `Nothing is known to depend on ${entity.slug}. It is connected with ${names(others, 12)}.`
      : `${count(blast.total, 'thing')} ${blast.total === 1 ? 'depends' : 'depend'} on ${entity.slug}, ${blast.byDepth[0] ?? 0} of them directly: ${namesOf(others, total)}.`;
  return { picture: await pictureOf(db, title, drawn, total + 1), words };
}

/** What a task has touched: red where something failed, green where it changed something, white where it only looked. */
export async function taskGraph(db: Reader, session: Session): Promise<LoadedGraph | undefined> {
  const sessionId = asId<SessionId>(session.id);
  const [digest, ran] = await Promise.all([
    taskDigest(db, sessionId),
    db.execution.findMany({
      where: { sessionId, status: { in: ['completed', 'failed', 'unknown'] } },
      select: { targetSlug: true, status: true, risk: true },
    }),
  ]);
  const touched = digest.entities.filter((slug) => !slug.startsWith('task:'));
  if (touched.length === 0) return undefined;
  const failed = new Set(
    ran.filter(({ status }) => status !== 'completed').map(({ targetSlug }) => targetSlug),
  );
  const changed = new Set(
    ran
      .filter(({ status, risk }) => status === 'completed' && risk !== 'read_only')
      .map(({ targetSlug }) => targetSlug),
  );
  const toneOf = (slug: string): Tone =>
    failed.has(slug) ? 'bad' : changed.has(slug) ? 'good' : 'plain';
  const rank = (slug: string): number => ['bad', 'good', 'plain'].indexOf(toneOf(slug));
  // What matters is drawn, whatever has to be left out.
  const tones = new Map(
    touched.toSorted((a, b) => rank(a) - rank(b)).map((slug) => [slug, toneOf(slug)]),
  );
  const title = `Touched by task ${session.shortId}`;
  const parts = [
    `Task ${session.shortId} touched ${count(touched.length, 'thing')}: ${names(touched, 12)}.`,
    changed.size > 0 ? `Changed: ${names([...changed], 8)}.` : '',
    failed.size > 0 ? `Something failed on ${names([...failed], 8)}.` : '',
  ];
  return {
    picture: await pictureOf(db, title, firstOf(tones), touched.length),
    words: parts.filter((part) => part !== '').join(' '),
  };
}

function firstOf(tones: ReadonlyMap<string, Tone>): Map<string, Tone> {
  return new Map([...tones].slice(0, MAX_NODES));
}

// The names that came with the query may be fewer than there are.
function namesOf(known: readonly string[], total: number): string {
  const shown = known.slice(0, 12);
  return total > shown.length
    ? `${shown.join(', ')} and ${total - shown.length} more`
    : names(shown, 12);
}

async function pictureOf(
  db: Reader,
  title: string,
  tones: ReadonlyMap<string, Tone>,
  total: number,
): Promise<GraphPicture> {
  const slugs = [...tones.keys()];
  const [rows, edges] = await Promise.all([nodesOf(db, slugs), edgesAmong(db, slugs)]);
  const bySlug = new Map(rows.map((row) => [row.slug, row]));
  const nodes = slugs.flatMap((slug) => {
    const row = bySlug.get(slug);
    return row === undefined ? [] : [{ row, tone: tones.get(slug) ?? 'plain' }];
  });
  return {
    title,
    nodes: nodes.map(({ row, tone }) => ({
      slug: row.slug,
      name: row.slug.slice(row.slug.indexOf(':') + 1),
      type: row.type,
      note: noteOf(row),
      tone,
    })),
    edges,
    leftOut: total - nodes.length,
  };
}

const WELL: ReadonlySet<string> = new Set(['unknown', 'healthy', 'ok']);

function noteOf({ state: now, health }: GraphNode): string | undefined {
  if (now !== 'active') return now;
  return WELL.has(health) ? undefined : health;
}
