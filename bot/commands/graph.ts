import { getEntity } from '../../core/graph/read.ts';
import { answerTo } from '../cards/replies.ts';
import { rich } from '../cards/rich.ts';
import type { Session } from '../../core/db/rows.ts';
import { entityGraph, taskGraph, type LoadedGraph } from '../pictures/load-graph.ts';
import { CommandError, type Command, type CommandCall } from './command.ts';
import { namedEntity } from './named-entity.ts';
import { pictureOrWords } from './picture.ts';

/** `!graph`: a picture of what depends on an entity, or of what a task touched. */
export const graphCommand: Command = {
  name: 'graph',
  takes: [
    {
      name: 'name',
      what: 'a slug such as host:web-1, a name, or a task’s short id; in a task’s room its own task if left out',
      required: false,
    },
  ],
  does: 'Draws what depends on an entity, or what a task has touched.',
  needs: 'viewer',
  async run(call) {
    const { context, args } = call;
    const name = args['name'];
    const session = await meantTask(call, name);
    let loaded: LoadedGraph | undefined;
    if (session !== undefined) {
      loaded = await taskGraph(context.unit.db, session);
      if (loaded === undefined)
        return answerTo(rich`Task ${session.shortId} has touched nothing of the fleet yet.`);
    } else {
      if (name === undefined) {
        throw new CommandError(
          '!graph needs to know what to draw.',
          'Write !graph and an entity such as host:web-1 or a task’s short id, or !graph in a task’s room.',
        );
      }
      const entity = await namedEntity(context.unit.db, name);
      loaded = await entityGraph(context.unit.db, entity);
      if (loaded === undefined)
        return answerTo(rich`${entity.slug} is connected with nothing in the fleet graph.`);
    }
    const { picture, words } = loaded;
    return pictureOrWords('graph.png', words, () => context.pictures.graph(picture));
  },
};

// An entity may be called like a short id; a task can always be named as task:<short id>.
async function meantTask(
  call: CommandCall,
  name: string | undefined,
): Promise<Session | undefined> {
  const { db } = call.context.unit;
  if (name === undefined) return call.taskIfAny();
  const shortId = name.toLowerCase().replace(/^task:/, '');
  if (shortId === name.toLowerCase() && (await getEntity(db, name)) !== null) return undefined;
  return (await db.session.findUnique({ where: { shortId } })) ?? undefined;
}
