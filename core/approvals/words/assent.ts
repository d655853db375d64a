import { isGlue, isNamed, isPassive, isYes, textOf, type Item } from './parse.ts';
import { withReference, type Reference } from './reference.ts';

/** Joins a second demand to a yes, in all four languages. */
const CONNECTORS = new Set('and & then und dann y e entonces et puis'.split(' '));
/** Yes, but only where nothing else is said: in Spanish and French "y" is a common word. */
const ALONE = new Set(['y', 'yy', 'ye']);

/** What an approval names, or null if the items do not approve. They hold no negation. */
export function readAssent(items: readonly Item[]): { readonly reference?: Reference } | null {
  if (items.length === 1 && ALONE.has(textOf(items[0] as Item))) return {};
  const core = items.findIndex(isYes);
  if (core < 0 || !items.slice(0, core).every(mayStandBefore)) return null;
  const rest = items.slice(core + 1);
  if (!rest.every((item) => isYes(item) || isNamed(item) || mayStandBefore(item) || isGlue(item))) {
    return null;
  }
  const strong = items.some((item) => item.kind === 'yes');
  const acts = rest.some((item) => item.kind === 'action');
  if (!strong) {
    // "ok thanks" ends a talk as often as it approves, and "ok the server" begins a new one.
    if (items.some((item) => item.kind === 'thanks')) return null;
    // So do "fine work" and "ok the plan".
    if (!acts && items.some((item) => pointsAtThing(item) || item.kind === 'object')) return null;
  }
  return acts && addsAnotherAction(items) ? null : withReference(rest);
}

/** "the plan" of "the plan looks good", "you can" of "you can go ahead". */
function mayStandBefore(item: Item): boolean {
  return isPassive(item) || item.kind === 'permit' || item.kind === 'object';
}

function pointsAtThing(item: Item): boolean {
  return ['name', 'service', 'noun', 'preposition'].includes(item.kind);
}

/** "yes and restart web-2" asks for more than what waits; "go ahead and restart it" does not. */
function addsAnotherAction(items: readonly Item[]): boolean {
  const action = items.findIndex((item) => item.kind === 'action');
  const core = items.findLastIndex((item, at) => at < action && isYes(item));
  const joined = items.slice(core + 1, action).some((item) => CONNECTORS.has(textOf(item)));
  return joined && !textOf(items[core] as Item).startsWith('go');
}
