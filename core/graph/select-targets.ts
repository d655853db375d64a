import { z } from 'zod';
import type { Reader } from '../db/database.ts';
import { NomosError } from '../errors.ts';

/** Which machines and containers are meant: all that fit every part that is given. */
export interface TargetSelector {
  type?: string | undefined;
  state?: string | undefined;
  tag?: string | undefined;
}

const states = z.array(z.object({ name: z.string(), runnable: z.boolean() }));
const tagged = z.looseObject({ tags: z.array(z.string()).catch([]).default([]) });

/**
 * The slugs of the machines and containers that a selector picks, in order of slug; those that no command is sent to are left
 * out. Throws `no_targets` when there are none, and `selector_empty` for a selector without any part.
 */
export async function selectTargets(db: Reader, selector: TargetSelector): Promise<string[]> {
  // Nothing said is not everything meant.
  if (Object.values(selector).every((part) => part === undefined || part.trim() === '')) {
    throw new NomosError(
      'selector_empty',
      'model',
      'The selector says nothing, so it picks nothing.',
      {
        hint: 'Give type, state or tag; for all hosts {"type":"host"}.',
      },
    );
  }
  const found = await db.entity.findMany({
    where: {
      typeOf: { reach: { not: 'none' } },
      ...(selector.type === undefined ? {} : { type: selector.type }),
      ...(selector.state === undefined ? {} : { state: selector.state }),
    },
    select: { slug: true, state: true, attributes: true, typeOf: { select: { states: true } } },
    orderBy: { slug: 'asc' },
  });
  const slugs = found
    .filter(({ state, typeOf }) =>
      states.parse(typeOf.states).some(({ name, runnable }) => name === state && runnable),
    )
    .filter(
      ({ attributes }) =>
        selector.tag === undefined || tagged.parse(attributes).tags.includes(selector.tag),
    )
    .map(({ slug }) => slug);
  if (slugs.length === 0) {
    throw new NomosError('no_targets', 'model', 'No machine or container fits this selector.', {
      fields: { ...selector },
      hint: 'list_entities shows types, states and tags.',
    });
  }
  return slugs;
}
