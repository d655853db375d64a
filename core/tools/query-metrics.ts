import { z } from 'zod';
import { listSeries, readSeries } from '../signals/read.ts';
import { METRICS_KEPT_DAYS } from '../signals/sweep.ts';
import { findEntity } from './describe-entity.ts';
import { defineTool } from './tool.ts';

const MAX_POINTS = 60;
const DEFAULT_HOURS = 24;

/** The figures that checks keep (S1). */
export const queryMetricsTool = defineTool({
  name: 'query_metrics',
  description: `Figures that the checks kept of an entity, up to ${METRICS_KEPT_DAYS} days back. Without a name: which series there are, with their newest, least and most value. With one: the series over time, in at most ${MAX_POINTS} pieces with average, least and most. Names are such as "disk.percent", "disk.percent:/srv", "memory.percent", "load.per_processor", "http.ms", "certificate.days".`,
  kind: 'read',
  input: z.strictObject({
    slug: z.string().min(1).describe('Slug, or a name that only one entity has.'),
    name: z.string().min(1).optional().describe('A series. Without it all are listed.'),
    hours: z
      .int()
      .min(1)
      .max(METRICS_KEPT_DAYS * 24)
      .default(DEFAULT_HOURS),
  }),
  entity: ({ slug }) => slug,
  async handler({ db }, { slug, name, hours }) {
    const entity = await findEntity(db, slug);
    const { id: entityId } = await db.entity.findUniqueOrThrow({
      where: { slug: entity.slug },
      select: { id: true },
    });
    const series = await listSeries(db, entityId, hours);
    const shown = series.map(({ lastAt, points, ...rest }) => ({
      ...rest,
      last_at: lastAt.toISOString(),
      points,
    }));
    if (name === undefined)
      return { ok: true, value: { hours, series: shown }, entity: entity.slug };
    const summary = shown.find((one) => one.name === name);
    if (summary === undefined) {
      const names = series.map((one) => one.name);
      return {
        ok: false,
        value: {
          error: `There is no series "${name}" of ${entity.slug} in the last ${hours} hours.`,
          hint: names.length === 0 ? 'There is none at all.' : `There are: ${names.join(', ')}.`,
        },
        entity: entity.slug,
      };
    }
    const buckets = await readSeries(db, { entityId, name, hours, buckets: MAX_POINTS });
    const rounded = (value: number): number => Math.round(value * 100) / 100;
    return {
      ok: true,
      value: {
        hours,
        ...summary,
        over_time: buckets.map(({ from, average, least, most }) => ({
          from: from.toISOString(),
          average: rounded(average),
          least: rounded(least),
          most: rounded(most),
        })),
      },
      entity: entity.slug,
    };
  },
});
