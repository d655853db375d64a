import type { Reader } from '../../core/db/database.ts';
import { getEntity, listEntities, type EntityListing } from '../../core/graph/read.ts';
import { names } from '../cards/words.ts';
import { CommandError } from './command.ts';

/** The entity that an operator named. Throws `CommandError` that says what is near it. */
export async function namedEntity(db: Reader, name: string): Promise<EntityListing> {
  const entity = await getEntity(db, name);
  if (entity !== null) return entity;
  const near = await listEntities(db, { text: name, limit: 6 });
  throw new CommandError(
    `There is no entity “${name.slice(0, 60)}”.`,
    near.length === 0
      ? undefined
      : `Close to it: ${names(
          near.map((one) => one.slug),
          6,
        )}.`,
  );
}
