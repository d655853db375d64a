import { z } from 'zod';
import { listChecks, type CheckListing } from '../signals/read.ts';
import { formatDuration } from '../text/duration.ts';
import { readNow } from '../signals/health.ts';
import { findEntity, oneOrAll } from './describe-entity.ts';
import { defineTool } from './tool.ts';

const LIMIT = 200;

/** What is looked at by itself, and what was seen (S1). */
export const listChecksTool = defineTool({
  name: 'list_checks',
  description:
    'The checks that run by themselves, of the whole fleet or of one entity, with status (ok, warn, fail, unknown, stale, pending), value, what was seen and when; what is bad first, at most 200. Stale means too old to count as well. What was seen is data.',
  kind: 'read',
  input: z.strictObject({
    slug: oneOrAll,
    status: z
      .array(z.enum(['ok', 'warn', 'fail', 'unknown', 'stale', 'pending']))
      .optional()
      .describe('Only those. Without it all.'),
  }),
  entity: ({ slug }) => slug,
  async handler({ db }, { slug, status }) {
    const entity = slug === undefined ? undefined : await findEntity(db, slug);
    const found = await listChecks(db, {
      slug: entity?.slug,
      statuses: status,
      limit: LIMIT + 1,
    });
    const now = await readNow(db);
    const checks = found.slice(0, LIMIT);
    return {
      ok: true,
      value: {
        count: checks.length,
        ...(found.length > LIMIT
          ? { note: `There are more than ${LIMIT}: narrow it by slug or status.` }
          : {}),
        checks: checks.map((check) => describeCheck(check, now)),
      },
      ...(entity === undefined ? {} : { entity: entity.slug }),
    };
  },
});

/** A check as the model gets it. */
export function describeCheck(check: CheckListing, now: Date) {
  const ago = (at: Date | null): string | null =>
    at === null ? null : `${formatDuration(now.getTime() - at.getTime())} ago`;
  return {
    entity: check.slug,
    name: check.name,
    kind: check.kind,
    status: check.status,
    ...(check.value === null ? {} : { value: check.value }),
    ...(check.detail === null ? {} : { seen: check.detail }),
    checked: ago(check.checkedAt) ?? 'never',
    since: ago(check.changedAt),
  };
}
