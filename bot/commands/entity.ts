import { z } from 'zod';
import { blastLevels, blastRadius } from '../../core/graph/blast-radius.ts';
import { listRelations } from '../../core/graph/read.ts';
import { asId, type EntityId } from '../../core/ids.ts';
import { listChecks } from '../../core/signals/read.ts';
import { affects } from '../cards/approval.ts';
import { cardOf, fitting } from '../cards/card.ts';
import { list, para, rich, strong } from '../cards/rich.ts';
import { clock } from '../cards/view.ts';
import { label, slug } from '../cards/words.ts';
import type { Command } from './command.ts';
import { namedEntity } from './named-entity.ts';

/** A mark for each status of a check. */
const CHECK_MARK: Readonly<Record<string, string>> = {
  ok: '✅',
  warn: '⚠️',
  fail: '❌',
  stale: '⌛',
  pending: '🕒',
};

const scalar = z.union([z.string(), z.number(), z.boolean()]);

/** `!entity`: one thing of the fleet graph: state, health, checks, facts, relations, what depends on it (P8, S1). */
export const entityCommand: Command = {
  name: 'entity',
  takes: [{ name: 'name', what: 'a slug such as host:web-1, or a name', required: true }],
  does: 'Shows one entity of the fleet: state, health, facts, relations, what depends on it.',
  needs: 'viewer',
  async run({ context: { unit, view }, args }) {
    const name = args['name'] ?? '';
    const entity = await namedEntity(unit.db, name);
    const row = await unit.db.entity.findUniqueOrThrow({
      where: { slug: entity.slug },
      select: { id: true },
    });
    const [relations, blast, checks] = await Promise.all([
      listRelations(unit.db, entity.slug),
      blastRadius(unit.db, asId<EntityId>(row.id)),
      listChecks(unit.db, { slug: entity.slug, limit: 30 }),
    ]);
    const checked = entity.checkedAt === null ? '' : ` (checked ${clock(entity.checkedAt, view)})`;
    return fitting(
      [30, 8].map(
        (most) => () =>
          cardOf([
            para(
              strong(rich`${label(entity.name, 80)} · ${label(entity.type, 30)}`),
              rich`${slug(entity.slug)} · ${label(entity.state, 30)} · health ${label(entity.health, 30)}${checked}`,
            ),
            list(
              checks
                .slice(0, most)
                .map(
                  (check) =>
                    rich`${CHECK_MARK[check.status] ?? '❔'} ${label(check.name, 40)}: ${label(check.detail ?? check.status, 120)}${check.status === 'stale' ? ' (stale)' : ''}`,
                ),
            ),
            list(
              Object.entries(entity.attributes)
                .slice(0, most)
                .map(([key, value]) => rich`${label(key, 40)}: ${label(factOf(value), 120)}`),
            ),
            list(
              relations.slice(0, most).map(({ direction, type, slug: other }) => {
                // `runs_on` reads as it is meant: "runs on host:web-1", "service:nginx@web-1 runs on it".
                const verb = label(type.replaceAll('_', ' '), 40);
                return direction === 'out'
                  ? rich`${verb} ${slug(other)}`
                  : rich`${slug(other)} ${verb} it`;
              }),
            ),
            para(affects(blastLevels(blast))),
          ]),
      ),
    );
  },
};

function factOf(value: unknown): string {
  const plain = scalar.safeParse(value);
  if (plain.success) return String(plain.data);
  const many = z.array(scalar).safeParse(value);
  return many.success ? many.data.join(', ') : JSON.stringify(value);
}
