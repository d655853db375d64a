import { z } from 'zod';
import { executionTrend } from '../executions/trend.ts';
import { asId, type EntityId } from '../ids.ts';
import { findEntity, oneOrAll } from './describe-entity.ts';
import { defineTool } from './tool.ts';

const MAX_DAYS = 90;

/** How commands ended over time. */
export const getTrendTool = defineTool({
  name: 'get_trend',
  description:
    'How commands ended on each of the last days, of the whole fleet or on one entity: succeeded and failed per day (UTC), days without any left out. Take it to see whether something fails more often than it did.',
  kind: 'read',
  input: z.strictObject({
    slug: oneOrAll,
    days: z.int().min(1).max(MAX_DAYS).default(30),
  }),
  entity: ({ slug }) => slug,
  async handler({ db }, { slug, days }) {
    const entity = slug === undefined ? undefined : await findEntity(db, slug);
    const row =
      entity === undefined
        ? undefined
        : await db.entity.findUniqueOrThrow({
            where: { slug: entity.slug },
            select: { id: true },
          });
    const all = await executionTrend(db, {
      timeZone: 'UTC',
      days,
      ...(row === undefined ? {} : { entityId: asId<EntityId>(row.id) }),
    });
    const busy = all.filter(({ succeeded, failed }) => succeeded + failed > 0);
    const sum = (of: 'succeeded' | 'failed'): number =>
      busy.reduce((total, day) => total + day[of], 0);
    return {
      ok: true,
      value: { days, succeeded: sum('succeeded'), failed: sum('failed'), by_day: busy },
      ...(entity === undefined ? {} : { entity: entity.slug }),
    };
  },
});
