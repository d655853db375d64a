import { lexiconOf } from './lexicon.ts';
import { LANGUAGES, type ActionGroup } from './lists.ts';
import { parse } from './parse.ts';
import type { Reference } from './reference.ts';
import { fold, tokenize } from './tokens.ts';

/** Programs whose name says what they do in a word that is in no list. */
const PROGRAMS: Readonly<Record<string, ActionGroup>> = {
  rm: 'delete',
  rmdir: 'delete',
  wipefs: 'delete',
  shred: 'delete',
  mkfs: 'delete',
  lvremove: 'delete',
  vgremove: 'delete',
  userdel: 'delete',
  dropdb: 'delete',
  poweroff: 'shutdown',
  halt: 'shutdown',
  mv: 'move',
  cp: 'move',
};

/**
 * Which of the waiting cards a message means, as their indices in order. `cards` has for each what
 * it shows in words: target slug, short id, purpose and command, joined by spaces. A card is meant
 * if it holds every name and every action of the reference; kinds of things ("the container")
 * count only where several cards wait. A number ("both") that is not the number of cards means
 * none of them. Without a reference all are meant.
 */
export function whichFit(reference: Reference | undefined, cards: readonly string[]): number[] {
  const indices = [...cards.keys()];
  if (reference === undefined) return indices;
  const { scope } = reference;
  if (typeof scope === 'number' && scope !== cards.length) return [];
  return indices.filter((index) => fits(reference, cards[index] ?? '', cards.length > 1));
}

function fits(reference: Reference, card: string, several: boolean): boolean {
  const words = wordsOf(card);
  if (!reference.names.every((name) => words.has(fold(name)))) return false;
  const actions = actionsOf(card);
  if (!reference.actions.every((action) => actions.has(action))) return false;
  return !several || reference.nouns.every((noun) => words.has(noun));
}

/** Every word of a card, whole and by its parts, so that "old" and "lxc:old" both name `lxc:old`. */
function wordsOf(card: string): ReadonlySet<string> {
  const whole = card.split(/[\s,;()"'`]+/u).map(fold);
  const parts = whole.flatMap((word) => word.split(/[^\p{L}\p{N}_-]+/u));
  const trimmed = whole.map((word) => word.replace(/^[.:]+|[.:]+$/gu, ''));
  return new Set([...whole, ...trimmed, ...parts]);
}

function actionsOf(card: string): ReadonlySet<ActionGroup> {
  const lexicon = lexiconOf(LANGUAGES);
  const { tokens } = tokenize(
    card.replace(/[^\p{L}\p{N}' -]+/gu, ' '),
    lexicon.languages,
    lexicon.isKnown,
  );
  const found = new Set<ActionGroup>();
  for (const item of parse(tokens, lexicon)) {
    if (item.kind === 'action') found.add(item.group);
    const program = PROGRAMS[item.tokens[0]?.text ?? ''];
    if (program !== undefined) found.add(program);
  }
  return found;
}
