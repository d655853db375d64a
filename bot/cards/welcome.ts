import { cardOf, type Card } from './card.ts';
import { code, list, para, rich, strong } from './rich.ts';
import { CONFIRMATION } from './words.ts';

/** What newcomers can ask at once, whatever the fleet is. */
const EXAMPLES = [
  'how is the fleet?',
  'check the disks on all hosts',
  'restart nginx on web-1 if it is down',
] as const;

/** The card at the top of the lobby: how to begin. It never changes, so that an old version of it is no lie (C17). */
export function welcomeCard(): Card {
  return cardOf([
    para(
      strong('Write here what you want done: each request gets a room of its own.'),
      'For instance:',
    ),
    list(EXAMPLES.map((example) => rich`“${example}”`)),
    para(
      rich`Looking is free. A change waits for you as a card in its room: ✅ runs it, ❌ drops it.`,
      rich`What destroys something takes more than a tap: reply “${CONFIRMATION}” to its card.`,
    ),
    para(
      rich`The room list is the board: ⏳ works, ❗ needs you, ✅ is done. ${code('!help')} lists the commands.`,
    ),
  ]);
}
