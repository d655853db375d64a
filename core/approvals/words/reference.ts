import type { ActionGroup } from './lists.ts';
import { textOf, type Item } from './parse.ts';

/**
 * What a message names beyond its yes: "yes, restart nginx on web-1". Who applies the message must
 * check it with `whichFit` (reference.ts) and grant nothing where it does not fit.
 */
export interface Reference {
  /** Targets, ids, hosts and services, in lower case as written. */
  readonly names: readonly string[];
  /** What is to be done. */
  readonly actions: readonly ActionGroup[];
  /** Kinds of things: "container". They tell cards apart only where several wait. */
  readonly nouns: readonly string[];
  /** How many are meant: "both" is 2. */
  readonly scope?: number | 'all';
}

/** What the items name, as a part of an intent; an empty object if nothing. */
export function withReference(items: readonly Item[]): { readonly reference?: Reference } {
  const names = items.filter((item) => item.kind === 'name' || item.kind === 'service');
  const actions = items.flatMap((item) => (item.kind === 'action' ? [item.group] : []));
  const nouns = items.filter((item) => item.kind === 'noun').map(textOf);
  const scope = items.flatMap((item) => (item.kind === 'scope' ? [item.scope] : []))[0];
  if (names.length + actions.length + nouns.length === 0 && scope === undefined) return {};
  return {
    reference: {
      names: names.map((item) => item.tokens.map((token) => token.raw.toLowerCase()).join(' ')),
      actions: [...new Set(actions)],
      nouns,
      ...(scope === undefined ? {} : { scope }),
    },
  };
}
