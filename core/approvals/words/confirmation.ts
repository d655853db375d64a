import { isGlue, isNamed, isPassive, isYes, type Item } from './parse.ts';
import { withReference, type Reference } from './reference.ts';
import type { Tokens } from './tokens.ts';

/** What follows the confirming words. */
export interface Confirmation {
  readonly confirmRest: string;
  readonly reference?: Reference;
}

const DESTROYING =
  /^(?:delet|destroy|remov|wip|eras|purg|drop|nuk|prun|format|truncat|uninstall|borr|elimin|destru|lösch|loesch|losch|entfern|zerstor|supprim|effac|detrui)/u;
const NOUN_FORM = /(?:tion|al|ung|sion|ión|ion|do|ment|ure|age)$/u;

/** What a typed confirmation is about, or null if the items are none. They hold no negation. */
export function readConfirmation(items: readonly Item[], cut: Tokens): Confirmation | null {
  if (cut.trailing) return null;
  const at = items.findIndex((item) => item.kind === 'confirm' || item.kind === 'confirmAlone');
  const found = items[at];
  if (found === undefined) return null;
  if (!items.slice(0, at).every((item) => isYes(item) || isPassive(item))) return null;
  const rest = items.slice(at + 1);
  if (found.kind === 'confirmAlone') {
    const alone = items.every((item) => item === found || isYes(item));
    return alone ? { confirmRest: '' } : null;
  }
  const named: Item[] = [];
  for (const [index, item] of rest.entries()) {
    const name = item.kind === 'unknown' && nameInConfirmation(rest, index);
    if (name) named.push({ ...item, kind: 'name' });
    else if (item.kind === 'confirm' || isYes(item) || isPassive(item)) continue;
    else if (isNamed(item) || isGlue(item)) named.push(item);
    else return null;
  }
  const words = named.flatMap((item) => item.tokens.map((token) => token.raw));
  return { confirmRest: words.join(' '), ...withReference(named) };
}

/**
 * Whether an unknown word after "I confirm" is read as the name of something: right after a
 * preposition ("the deletion of 135 in strong"), a noun for a thing ("the container strong") or a
 * destroying verb ("destroy strong"). Elsewhere it may be a statement ("I confirm the server
 * crashed") and the message confirms nothing. Two unknown words side by side never are a name.
 */
function nameInConfirmation(rest: readonly Item[], index: number): boolean {
  const item = rest[index];
  if (item?.tokens.length !== 1 || item.tokens[0]?.kind !== 'word') return false;
  if (rest[index + 1]?.kind === 'unknown') return false;
  if (!rest.some((other) => other.kind === 'action' || other.kind === 'name')) return false;
  let before = index - 1;
  while (before >= 0 && rest[before]?.kind === 'object') before -= 1;
  const previous = rest[before];
  if (previous === undefined || item.tokens[0].afterBreak) return false;
  const text = previous.tokens.map((token) => token.text).join(' ');
  if (previous.kind === 'preposition') return true;
  return previous.kind === 'action' && DESTROYING.test(text) && !NOUN_FORM.test(text);
}
