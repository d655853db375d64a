import { isGlue, isNamed, isPassive, isYes, textOf, type Item } from './parse.ts';
import { withReference, type Reference } from './reference.ts';

/** Joins a second demand to a yes, in all four languages. */
const CONNECTORS = new Set('and & then und dann y e entonces et puis'.split(' '));

/** "y" is yes and "n" is no, but only where nothing else is said. */
function isLoneYes(items: readonly Item[]): boolean {
  return items.length === 1 && /^(?:y|ye|ya|yy)$/.test(items[0]?.tokens[0]?.text ?? '');
}

/** What an approval names, or null if the items do not approve. They hold no negation. */
export function readAssent(items: readonly Item[]): { readonly reference?: Reference } | null {
  if (isLoneYes(items)) return {};
  const core = items.findIndex((item) => isYes(item));
  if (core < 0) return null;
  if (!items.slice(0, core).every((item) => isPassive(item) || item.kind === 'object')) return null;
  const rest = items.slice(core + 1);
  if (
    !rest.every(
      (item) =>
        isNamed(item) ||
        isPassive(item) ||
        isGlue(item) ||
        item.kind === 'yes' ||
        item.kind === 'ok',
    )
  )
    return null;

  const strong = items.some((item) => item.kind === 'yes');
  const acts = rest.some((item) => item.kind === 'action');
  // "ok thanks" closes a talk as often as it approves, and "ok the server" begins a new one.
  if (!strong && items.some((item) => item.kind === 'thanks')) return null;
  if (!strong && !acts && rest.some((item) => isNamed(item) || item.kind === 'preposition'))
    return null;
  if (acts && addsAnotherAction(items)) return null;
  return withReference(rest);
}

/** "yes and restart web-2" asks for more than what waits; "go ahead and restart it" does not. */
function addsAnotherAction(items: readonly Item[]): boolean {
  const action = items.findIndex((item) => item.kind === 'action');
  const core = items.findLastIndex((item, at) => at < action && isYes(item));
  const joined = items.slice(core + 1, action).some((item) => CONNECTORS.has(textOf(item)));
  return joined && !textOf(items[core] as Item).startsWith('go');
}
