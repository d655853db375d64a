import { lexiconOf } from './lexicon.ts';
import { LANGUAGES, type Language } from './lists.ts';
import { parse } from './parse.ts';
import { withReference, type Reference } from './reference.ts';
import { tokenize } from './tokens.ts';

/**
 * What a message names, whatever it says about it: targets, ids, services, actions, kinds of things. Undefined for one that
 * names nothing, such as "yes please" or "no, not yet".
 */
export function namedIn(
  text: string,
  languages: readonly Language[] = ['en'],
): Reference | undefined {
  const known = LANGUAGES.filter((language) => language === 'en' || languages.includes(language));
  const lexicon = lexiconOf(known);
  const { tokens } = tokenize(text, lexicon.languages, lexicon.isKnown);
  const { reference } = withReference(parse(tokens, lexicon));
  if (reference === undefined) return undefined;
  const { names, actions, nouns } = reference;
  return names.length + actions.length + nouns.length === 0 ? undefined : reference;
}
