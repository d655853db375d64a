import type { Database } from '../../core/db/database.ts';
import type { MatrixOutbox } from '../../core/db/rows.ts';
import { tellNotSaid } from './room-trouble.ts';
import type { WaitingRow } from './select.ts';

/** Rows looked at per lane: enough to find an urgent one behind the edits of a lane's cards. */
const LOOKAHEAD = 60;
/** The homeserver keeps transaction ids for 30 minutes at least. */
const TXN_KEPT = '30 minutes';

/** A pending row with what its turn depends on. */
export interface QueuedRow extends WaitingRow {
  paceMs: number;
}

/** The first pending rows of each lane but those in `busy`, by lane, in order of id. */
export async function pendingRows(
  database: Database,
  busy: readonly string[],
): Promise<Map<string, QueuedRow[]>> {
  const rows = await database.read.$queryRaw<
    Array<{
      id: bigint;
      lane: string;
      kind: string;
      priority: number;
      card_key: string | null;
      wait_ms: number;
      pace_ms: number;
    }>
  >`
    SELECT id, lane, kind::text, priority, card_key,
      coalesce(extract(epoch FROM not_before - now()) * 1000, 0)::float8 AS wait_ms,
      coalesce((content->>'paceMs')::float8, 0) AS pace_ms
    FROM (
      SELECT *, row_number() OVER (PARTITION BY lane ORDER BY id) AS place
      FROM matrix_outbox WHERE state = 'pending' AND NOT lane = ANY(${[...busy]})
    ) AS lanes
    WHERE place <= ${LOOKAHEAD} ORDER BY lane, id`;
  return Map.groupBy(
    rows.map((row): QueuedRow => ({
      id: row.id,
      lane: row.lane,
      kind: row.kind,
      priority: row.priority,
      cardKey: row.card_key,
      waitMs: row.wait_ms,
      paceMs: row.pace_ms,
    })),
    (row) => row.lane,
  );
}

/** A row that is about to be tried. */
export interface ClaimedRow {
  row: MatrixOutbox;
  /** The first try ever: nothing of it can be in the room. */
  first: boolean;
  /** So long since the first try that the homeserver may have forgotten the transaction id. */
  stale: boolean;
}

/** Writes down that a row is about to be tried; undefined if it was replaced or marked meanwhile. */
export async function claimRow(database: Database, id: bigint): Promise<ClaimedRow | undefined> {
  return database.write(async (unit) => {
    const [claimed] = await unit.db.$queryRaw<Array<{ first: boolean; stale: boolean }>>`
      UPDATE matrix_outbox AS o SET attempts = o.attempts + 1, first_tried_at = coalesce(o.first_tried_at, now())
      FROM (SELECT id, first_tried_at AS tried FROM matrix_outbox WHERE id = ${id} FOR UPDATE) AS before
      WHERE o.id = before.id AND o.state = 'pending'
      RETURNING before.tried IS NULL AS first,
        coalesce(now() - before.tried > ${TXN_KEPT}::text::interval, false) AS stale`;
    if (claimed === undefined) return undefined;
    const row = await unit.db.matrixOutbox.findUniqueOrThrow({ where: { id } });
    return { row, ...claimed };
  });
}

/**
 * Gives a row back untried: the homeserver did not take it, so a newer edit may still replace it, and it is encrypted anew
 * for those who are in the room by then. The making of a room is several requests, of which one may have been taken: that
 * stays tried.
 */
export async function unclaimRow(
  database: Database,
  claimed: ClaimedRow,
  waitMs: number,
): Promise<void> {
  await database.write(
    async ({ db }) => db.$executeRaw`
      UPDATE matrix_outbox SET attempts = attempts - 1,
        first_tried_at = CASE WHEN ${claimed.first} AND kind <> 'room' THEN NULL ELSE first_tried_at END,
        sealed = CASE WHEN ${claimed.first} THEN NULL ELSE sealed END,
        not_before = CASE WHEN ${waitMs}::float8 > 0 THEN now() + make_interval(secs => ${waitMs}::float8 / 1000) END
      WHERE id = ${claimed.row.id} AND state = 'pending'`,
  );
}

/** Lets a row wait before its next try. */
export async function postponeRow(
  database: Database,
  id: bigint,
  waitMs: number,
  error: string,
): Promise<void> {
  await database.write(
    async ({ db }) => db.$executeRaw`
      UPDATE matrix_outbox SET not_before = now() + make_interval(secs => ${waitMs}::float8 / 1000), error = ${error}
      WHERE id = ${id} AND state = 'pending'`,
  );
}

/** Gives a row up, and says so in the audit log, and in the lobby where people would miss it. */
export async function failRow(database: Database, row: MatrixOutbox, error: string): Promise<void> {
  await database.write(async (unit) => {
    const failed = await unit.db.matrixOutbox.updateMany({
      where: { id: row.id, state: 'pending' },
      data: { state: 'failed', error },
    });
    if (failed.count === 0) return;
    // The room shows an older form of the card: the next drawing edits it, though nothing has changed since.
    if (row.kind === 'edit' && row.cardKey !== null) {
      await unit.db.matrixCard.updateMany({
        where: { cardKey: row.cardKey },
        data: { contentHash: '', updatedAt: new Date() },
      });
    }
    unit.audit({
      actor: 'system',
      action: 'outbox.failed',
      subject: row.txnId,
      data: { lane: row.lane, kind: row.kind, cardKey: row.cardKey, error },
    });
    await tellNotSaid(unit, row, error);
  });
}
