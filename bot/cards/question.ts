import type { UserId } from '../../core/ids.ts';
import { cardOf, fitting, type Card } from './card.ts';
import { em, join, para, rich, say, strong } from './rich.ts';
import type { QuestionState } from './state.ts';
import { clock, type View } from './view.ts';
import { label, nameOf, slug } from './words.ts';

/** The reaction for each option; further options are answered in words. */
export const OPTION_KEYS = ['1️⃣', '2️⃣', '3️⃣', '4️⃣', '5️⃣', '6️⃣', '7️⃣', '8️⃣', '9️⃣', '🔟'] as const;

// How many options each form of the card lists, and with how many characters of each.
const EXTENTS = [
  { options: 20, characters: 120 },
  { options: 10, characters: 50 },
] as const;

/** A question of the agent's, and later its answer (C5). */
export function questionCard(
  question: QuestionState,
  view: View,
  callFor: readonly UserId[] = [],
): Card {
  return fitting(EXTENTS.map((extent) => () => questionForm(question, view, callFor, extent)));
}

function questionForm(
  question: QuestionState,
  view: View,
  callFor: readonly UserId[],
  extent: (typeof EXTENTS)[number],
): Card {
  const open = question.status === 'open';
  const mark = { open: '❔', answered: '☑️', cancelled: '🚫' }[question.status];
  const options = question.options.slice(0, extent.options).map((option, index) => {
    const key = OPTION_KEYS[index] ?? `${index + 1}.`;
    const words = rich`${key} ${label(option, extent.characters)}`;
    return !open && option === question.answer ? strong(words) : words;
  });
  return cardOf(
    [
      para(strong(rich`${mark} ${say(label(question.prompt, 600))}`)),
      question.why === null || question.why.trim() === ''
        ? undefined
        : para(em(label(question.why, 400))),
      question.entities.length === 0
        ? undefined
        : para(
            rich`About ${join(
              question.entities.slice(0, 8).map((entity) => slug(entity)),
              ', ',
            )}`,
          ),
      para(...options),
      para(...closing(question, view)),
    ],
    open ? { mentions: callFor, msgtype: 'm.text' } : {},
  );
}

function closing(question: QuestionState, view: View): ReturnType<typeof rich>[] {
  switch (question.status) {
    case 'open':
      return question.options.length > 0
        ? [rich`Tap a number, or reply in your own words.`]
        : [rich`Reply in your own words.`];
    case 'answered': {
      const when = question.answeredAt === null ? '' : `, ${clock(question.answeredAt, view)}`;
      return [
        rich`${nameOf(question.answeredBy)} answered: ${strong(label(question.answer ?? '', 400))}${when}`,
      ];
    }
    case 'cancelled':
      return [rich`No longer asked.`];
  }
}
