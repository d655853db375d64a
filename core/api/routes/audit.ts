import { z } from 'zod';
import { verifyAudit } from '../../audit/verify.ts';
import { count, pageSize, plainText, rowId } from '../fields.ts';
import { lookRoute, type Route } from '../route.ts';
import type { SessionId } from '../../ids.ts';

const listQuery = z.strictObject({
  session: rowId<SessionId>('task').optional(),
  actor: plainText(255).optional().describe('An operator, `agent`, `system` or `stranger`.'),
  action: plainText(100)
    .optional()
    .describe('Such as `approval.decided`; ending in a dot, all that begin so.'),
  limit: pageSize({ max: 500, otherwise: 100 }),
  before: count({ min: 1, max: Number.MAX_SAFE_INTEGER })
    .optional()
    .describe('The `next` of the page before.'),
});
const entry = z.object({
  id: z.bigint(),
  at: z.date(),
  actor: z.string(),
  action: z.string(),
  sessionId: z.string().nullable(),
  subject: z.string().nullable(),
  data: z.unknown().describe('What else there is to know, by name.'),
  hash: z.string().describe('SHA-256 over this entry and the hash of the one before.'),
});

/** The audit log (A8, R15): its entries, and its own check. */
export const auditRoutes: readonly Route[] = [
  lookRoute({
    path: '/api/v1/audit',
    tag: 'record',
    summary: 'The audit log, the newest first',
    query: listQuery,
    answer: z.object({ entries: z.array(entry), next: z.bigint().nullable() }),
    async handle({ deps, query }) {
      const { session, actor, action, limit, before } = query;
      const rows = await deps.database.read.auditEntry.findMany({
        where: {
          ...(session === undefined ? {} : { sessionId: session }),
          ...(actor === undefined ? {} : { actor }),
          ...(action === undefined
            ? {}
            : { action: action.endsWith('.') ? { startsWith: action } : action }),
          ...(before === undefined ? {} : { id: { lt: BigInt(before) } }),
        },
        orderBy: { id: 'desc' },
        take: limit + 1,
      });
      const entries = rows.slice(0, limit);
      return {
        entries: entries.map(({ prevHash: _before, ...row }) => row),
        next: rows.length > limit ? (entries.at(-1)?.id ?? null) : null,
      };
    },
  }),
  lookRoute({
    path: '/api/v1/audit/verify',
    tag: 'record',
    summary: 'Whether the audit log is whole',
    notes: 'Reads the whole log: for a look now and then, not for a probe.',
    answer: z.object({
      ok: z.boolean(),
      entries: z.number(),
      broken: z.unknown().describe('Where it breaks first and how; null when it is whole.'),
    }),
    async handle({ deps }) {
      const { entries, broken } = await verifyAudit(deps.database);
      return { ok: broken === null, entries, broken };
    },
  }),
];
