import { createHash } from 'node:crypto';
import { sql, type Database, type JsonInput, type Reader, type Unit } from '../db/database.ts';
import type { Runbook } from '../db/rows.ts';
import { NomosError, NotFoundError } from '../errors.ts';
import { newId } from '../ids.ts';
import type { Operator } from '../operators.ts';
import { roleCovers } from '../operators.ts';
import { parseRunbook, type RunbookFile } from './runbook-file.ts';

/** What loading runbook files changed. */
export interface RunbookReport {
  added: string[];
  updated: string[];
  /** Changed here since they were loaded: the file's own version was left aside. */
  kept: string[];
  /** Of earlier loads, and in no file any more: they stay. */
  gone: string[];
}

/** A runbook as lists show it, with how often it was taken into a plan and how those tasks ended. */
export interface RunbookListing {
  slug: string;
  title: string;
  summary: string;
  origin: string;
  status: string;
  /** Tasks in which it was proposed as a plan. */
  used: number;
  /** Those of them that ended in success. */
  succeeded: number;
  updatedAt: Date;
}

/**
 * Brings the runbooks in line with their files (K10). Loading them twice changes nothing; one that was changed here since it was
 * loaded is kept as it is and reported, and so is what no file names any more.
 */
export async function loadRunbooks(
  database: Database,
  files: readonly RunbookFile[],
): Promise<RunbookReport> {
  return database.write(async (unit) => {
    // Of several processes that start at once, one after the other.
    await unit.db.$executeRaw`SELECT pg_advisory_xact_lock(hashtext('nomos.runbooks'))`;
    const report: RunbookReport = { added: [], updated: [], kept: [], gone: [] };
    const rows = new Map((await unit.db.runbook.findMany()).map((row) => [row.slug, row]));
    for (const file of files) {
      const row = rows.get(file.slug);
      const hash = hashOf(file.body);
      if (row === undefined) {
        await unit.db.runbook.create({
          data: {
            id: newId(),
            slug: file.slug,
            origin: 'file',
            status: 'active',
            fileHash: hash,
            ...columns(file),
          },
        });
        report.added.push(file.slug);
      } else if (hashOf(row.body) === hash) {
        if (row.fileHash !== hash)
          await unit.db.runbook.update({ where: { id: row.id }, data: { fileHash: hash } });
      } else if (row.fileHash === hashOf(row.body)) {
        await unit.db.runbook.update({
          where: { id: row.id },
          data: { ...columns(file), fileHash: hash, updatedAt: new Date() },
        });
        report.updated.push(file.slug);
      } else report.kept.push(file.slug);
    }
    const named = new Set(files.map(({ slug }) => slug));
    report.gone = [...rows.values()]
      .filter((row) => row.origin === 'file' && !named.has(row.slug))
      .map(({ slug }) => slug)
      .toSorted();
    return report;
  });
}

/** Runbooks by their slugs; those that may be used, or, with `offered`, those too that wait for an operator's word. */
export async function listRunbooks(
  db: Reader,
  options: { offered?: boolean } = {},
): Promise<RunbookListing[]> {
  const statuses = options.offered === true ? ['active', 'offered'] : ['active'];
  return db.$queryRaw<RunbookListing[]>(sql`
    WITH plans AS (
      SELECT DISTINCT t.arguments->'runbook'->>'name' AS slug, t.session_id FROM tool_calls t
      WHERE t.name = 'propose_plan' AND t.arguments->'runbook' IS NOT NULL AND t.state = 'done'
    )
    SELECT b.slug, b.title, b.summary, b.origin, b.status, b.updated_at AS "updatedAt",
      count(s.id)::int AS used, (count(s.id) FILTER (WHERE s.outcome = 'success'))::int AS succeeded
    FROM runbooks b
    LEFT JOIN plans ON plans.slug = b.slug
    LEFT JOIN sessions s ON s.id = plans.session_id
    WHERE b.status = ANY (${statuses}::text[])
    GROUP BY b.id ORDER BY b.slug`);
}

/** The slug that a name stands for as people and models write it. */
export function runbookSlug(name: string): string {
  return name
    .trim()
    .toLowerCase()
    .replaceAll(/[\s_]+/g, '-');
}

/**
 * The runbook of this name, read. Throws `runbook_unknown` with the names that there are; one that only waits for an operator's word
 * is not known yet unless it is asked for with `offered`.
 */
export async function findRunbook(
  db: Reader,
  name: string,
  options: { offered?: boolean } = {},
): Promise<{ row: Runbook; runbook: RunbookFile }> {
  const slug = runbookSlug(name);
  const row = await db.runbook.findUnique({ where: { slug } });
  const known = row?.status === 'active' || (options.offered === true && row?.status === 'offered');
  if (row === null || !known) {
    const all = await db.runbook.findMany({
      where: { status: 'active' },
      orderBy: { slug: 'asc' },
      select: { slug: true },
    });
    throw new NomosError(
      'runbook_unknown',
      'model',
      `There is no runbook "${name.slice(0, 60)}".`,
      {
        fields: { name },
        hint:
          all.length === 0
            ? 'There are none.'
            : `There are: ${all.map((one) => one.slug).join(', ')}.`,
      },
    );
  }
  return { row, runbook: parseRunbook(row.body, `runbook ${row.slug}`, row.slug) };
}

/**
 * Stores a runbook as an operator wrote it, in the place of the one of this name or as a new one. Throws `YamlFileError`, and
 * `decision_not_allowed` for one that is offered: only a decision makes that one a runbook (K11).
 */
export async function writeRunbook(
  unit: Unit,
  args: { slug: string; body: string; by: string },
): Promise<{ added: boolean }> {
  const file = parseRunbook(args.body, args.slug, args.slug);
  // The name is locked besides the row, which a first one does not have yet.
  await unit.db
    .$executeRaw`SELECT pg_advisory_xact_lock(hashtext(${`nomos_runbook ${args.slug}`}))`;
  await unit.db.$queryRaw`SELECT id FROM runbooks WHERE slug = ${args.slug} FOR UPDATE`;
  const row = await unit.db.runbook.findUnique({ where: { slug: args.slug } });
  if (row?.status === 'offered') {
    throw new NomosError(
      'decision_not_allowed',
      'operator',
      `The runbook ${args.slug} is offered and waits for a decision.`,
      { hint: 'Keep or drop it first; then it can be changed.' },
    );
  }
  const decided = { status: 'active', decidedBy: args.by, decidedAt: new Date() };
  const id = row?.id ?? newId();
  if (row === null) {
    await unit.db.runbook.create({
      data: { id, slug: args.slug, origin: 'file', ...decided, ...columns(file) },
    });
  } else {
    await unit.db.runbook.update({
      where: { id },
      data: { ...decided, ...columns(file), updatedAt: new Date() },
    });
  }
  unit.emit({ type: 'runbook.changed', refId: id });
  unit.audit({
    actor: args.by,
    action: row === null ? 'runbook.added' : 'runbook.changed',
    subject: args.slug,
    data: { hash: hashOf(args.body), before: row === null ? null : hashOf(row.body) },
  });
  return { added: row === null };
}

/** What came of a word on an offered runbook. */
export type RunbookDecision =
  | { kind: 'active' | 'refused'; slug: string }
  | { kind: 'already'; slug: string; status: string; by: string | null; at: Date | null }
  | { kind: 'not_allowed'; why: string };

/**
 * An operator's word on a runbook that was offered (K11): the only way in which one that was learned becomes one. It counts once;
 * whoever comes later is told. Throws `not_found`.
 */
export async function decideRunbook(
  unit: Unit,
  args: {
    id: string;
    verdict: 'approve' | 'deny';
    operator: Operator;
    means: 'tap' | 'command' | 'api';
    eventId?: string | undefined;
  },
): Promise<RunbookDecision> {
  const { id, verdict, operator, means, eventId } = args;
  await unit.db.$queryRaw`SELECT id FROM runbooks WHERE id = ${id}::uuid FOR UPDATE`;
  const row = await unit.db.runbook.findUnique({ where: { id } });
  if (row === null) throw new NotFoundError('runbook', id);
  const { slug } = row;
  if (row.status !== 'offered') {
    return { kind: 'already', slug, status: row.status, by: row.decidedBy, at: row.decidedAt };
  }
  if (!roleCovers(operator.role, 'approver')) {
    return { kind: 'not_allowed', why: 'You are a viewer; this needs an approver.' };
  }
  const status = verdict === 'approve' ? 'active' : 'refused';
  await unit.db.runbook.update({
    where: { id },
    data: { status, decidedBy: operator.userId, decidedAt: new Date(), updatedAt: new Date() },
  });
  unit.emit({ type: 'runbook.changed', refId: id });
  unit.audit({
    actor: operator.userId,
    action: status === 'active' ? 'runbook.approved' : 'runbook.refused',
    subject: slug,
    data: { means, event: eventId ?? null, hash: hashOf(row.body) },
  });
  return { kind: status, slug };
}

/** What of a runbook stands in columns of its own. */
export function columns({ title, summary, body, parameters }: RunbookFile): {
  title: string;
  summary: string;
  body: string;
  parameters: JsonInput;
} {
  return { title, summary, body, parameters: { ...parameters } };
}

function hashOf(body: string): string {
  return createHash('sha256').update(body).digest('hex');
}
