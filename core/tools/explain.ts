import { z } from 'zod';
import { blastRadius } from '../graph/blast-radius.ts';
import { tasksInvolving } from '../graph/involve.ts';
import { listRelations } from '../graph/read.ts';
import { asId, type EntityId } from '../ids.ts';
import { formatDuration } from '../text/duration.ts';
import { describeEntity, findEntity } from './describe-entity.ts';
import { defineTool } from './tool.ts';

const RECENT = 10;
const RECENT_TASKS = 5;

/** All that is known about one entity, in one call. */
export const explainTool = defineTool({
  name: 'explain',
  description:
    'All that is known about one entity in one call: facts, relations, what depends on it, the last commands on it and how they ended, the last tasks that had to do with it, and the titles of what was written about it. Take it before you diagnose; get_entity is shorter.',
  kind: 'read',
  input: z.strictObject({
    slug: z.string().min(1).describe('Slug, or a name that only one entity has.'),
  }),
  entity: ({ slug }) => slug,
  async handler({ db }, { slug }) {
    const entity = await findEntity(db, slug);
    const { id } = await db.entity.findUniqueOrThrow({
      where: { slug: entity.slug },
      select: { id: true },
    });
    const [relations, { version: _version, ...blast }, executions, knowledge, tasks] =
      await Promise.all([
        listRelations(db, entity.slug),
        blastRadius(db, asId<EntityId>(id)),
        db.execution.findMany({
          where: { entityId: id },
          orderBy: { createdAt: 'desc' },
          take: RECENT,
          select: { id: true, purpose: true, status: true, exitCode: true, createdAt: true },
        }),
        db.knowledge.findMany({
          where: { about: { some: { entityId: id } } },
          orderBy: { updatedAt: 'desc' },
          take: RECENT,
          select: { title: true, kind: true, outcome: true },
        }),
        tasksInvolving(db, asId<EntityId>(id), RECENT_TASKS),
      ]);
    const now = Date.now();
    return {
      ok: true,
      value: {
        ...describeEntity(entity),
        relations,
        blast_radius: blast,
        recent_executions: executions.map((execution) => ({
          execution_id: execution.id,
          purpose: execution.purpose,
          status: execution.status,
          ...(execution.exitCode === null ? {} : { exit_code: execution.exitCode }),
          requested: `${formatDuration(now - execution.createdAt.getTime())} ago`,
        })),
        recent_tasks: tasks.map(({ since, ...task }) => ({
          ...task,
          first_looked_at_it: `${formatDuration(now - since.getTime())} ago`,
        })),
        knowledge,
      },
      entity: entity.slug,
    };
  },
});
