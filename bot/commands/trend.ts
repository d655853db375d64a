import { executionTrend, TREND_DAYS, type TrendDay } from '../../core/executions/trend.ts';
import { asId, type EntityId } from '../../core/ids.ts';
import { answerTo } from '../cards/replies.ts';
import { rich } from '../cards/rich.ts';
import { count } from '../cards/words.ts';
import { shortDate } from '../pictures/trend-svg.ts';
import type { Command } from './command.ts';
import { namedEntity } from './named-entity.ts';
import { pictureOrWords } from './picture.ts';

/** `!trend`: a picture of the last 30 days: what succeeded and what failed, of all commands or on one entity. */
export const trendCommand: Command = {
  name: 'trend',
  takes: [
    {
      name: 'name',
      what: 'a slug such as host:web-1, or a name; all of the fleet if left out',
      required: false,
    },
  ],
  does: `Draws how commands ended on each of the last ${TREND_DAYS} days.`,
  needs: 'viewer',
  async run({ context: { unit, view, pictures }, args }) {
    const name = args['name'];
    const entity = name === undefined ? undefined : await namedEntity(unit.db, name);
    const row =
      entity === undefined
        ? undefined
        : await unit.db.entity.findUniqueOrThrow({
            where: { slug: entity.slug },
            select: { id: true },
          });
    const days = await executionTrend(unit.db, {
      timeZone: view.timeZone,
      ...(row === undefined ? {} : { entityId: asId<EntityId>(row.id) }),
    });
    const where = entity === undefined ? '' : ` on ${entity.slug}`;
    const words = trendWords(days, where);
    if (words === undefined)
      return answerTo(rich`No command has ended${where} in the last ${TREND_DAYS} days.`);
    const title = `Commands${entity === undefined ? '' : ` on ${entity.name}`}, last ${TREND_DAYS} days`;
    return pictureOrWords('trend.png', words, () => pictures.trend({ title, days }));
  },
};

function trendWords(days: readonly TrendDay[], where: string): string | undefined {
  const succeeded = days.reduce((sum, day) => sum + day.succeeded, 0);
  const failed = days.reduce((sum, day) => sum + day.failed, 0);
  if (succeeded + failed === 0) return undefined;
  const total = `${count(succeeded + failed, 'command')} ended${where} in the last ${TREND_DAYS} days: ${succeeded} succeeded, ${failed} failed.`;
  const worst = days.reduce((most, day) => (day.failed > most.failed ? day : most));
  return worst.failed === 0
    ? total
    : `${total} Most failures on ${shortDate(worst.day)}: ${worst.failed}.`;
}
