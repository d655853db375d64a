import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { readLog } from './conversation-log.ts';
import { LANGUAGES, readIntent } from './intent.ts';
import { lexiconOf, shorten } from './lexicon.ts';
import { cpuMs } from '../../../test/support/cpu-time.ts';

const approving = readLog().filter(({ verdict }) => verdict === 'assent' || verdict === 'confirm');
const anApproval = fc.constantFrom(...approving);
const aPlace = fc.double({ min: 0, max: 1, noNaN: true });

/** Puts words between two words of a text, or before or behind it. */
function insertWords(text: string, words: string, place: number): string {
  const parts = text.split(/(?<=\s)/u);
  const at = Math.round(place * parts.length);
  return `${parts.slice(0, at).join('')} ${words} ${parts.slice(at).join('')}`;
}

/** Puts characters anywhere into a text. */
function insertCharacters(text: string, characters: string, place: number): string {
  const points = [...text];
  const at = Math.round(place * points.length);
  return points.slice(0, at).join('') + characters + points.slice(at).join('');
}

const refused = { assent: false, confirm: false };

describe('A5: what must never be read as an approval', () => {
  test('negation anywhere beats assent, in every language', () => {
    for (const language of LANGUAGES) {
      const negations = [...lexiconOf([language]).negations];
      const lines = approving.filter(({ languages }) => languages.includes(language));
      fc.assert(
        fc.property(
          fc.constantFrom(...lines),
          fc.constantFrom(...negations),
          aPlace,
          ({ text, languages }, negation, place) => {
            expect(readIntent(insertWords(text, negation, place), languages)).toMatchObject({
              ...refused,
              negation: true,
            });
          },
        ),
        { numRuns: 500 },
      );
    }
  });

  test('every negated verb negates, with a straight, curly or wrong apostrophe or none', () => {
    const verbs =
      'do does did ca wo would should could is are was were have has had need must ai'.split(' ');
    for (const verb of verbs) {
      for (const apostrophe of ["'", '’', '‘', 'ʼ', '′', '`', '´', '＇', '', ' ']) {
        const word = `${verb}n${apostrophe}t`;
        for (const text of [
          `I ${word} approve, yes`,
          `yes ${word}`,
          `${word} go ahead`,
          `I confirm ${word}`,
        ]) {
          expect([text, readIntent(text)]).toMatchObject([text, { ...refused, negation: true }]);
        }
      }
    }
  });

  test.each([
    'if',
    'unless',
    'until',
    'but',
    'only',
    'maybe',
    'tomorrow',
    'instead',
    'except',
    'before',
    'later',
  ])('an approval with "%s" in it grants nothing', (word) => {
    for (const { text, languages } of approving) {
      expect([text, readIntent(`${text} ${word}`, languages)]).toMatchObject([text, refused]);
      expect([text, readIntent(`${word} ${text}`, languages)]).toMatchObject([text, refused]);
    }
  });

  test('a question mark anywhere makes it a question', () => {
    fc.assert(
      fc.property(
        anApproval,
        fc.constantFrom('?', '¿', '？', '❓', ' ?'),
        aPlace,
        ({ text, languages }, mark, place) => {
          expect(readIntent(insertCharacters(text, mark, place), languages)).toMatchObject({
            ...refused,
            question: true,
          });
        },
      ),
      { numRuns: 1000 },
    );
  });

  test('a word in no list costs the approval; after "I confirm" it may only be a name', () => {
    const letters = fc.string({
      unit: fc.constantFrom(...'abcdefghijklmnopqrstuvwxyz'),
      minLength: 3,
      maxLength: 10,
    });
    fc.assert(
      fc.property(anApproval, letters, aPlace, ({ text, languages }, word, place) => {
        const known = LANGUAGES.some((language) => {
          const lexicon = lexiconOf([language]);
          return [word, shorten(word)].some(
            (spelling) => lexicon.isKnown(spelling) || lexicon.meanings.has(spelling),
          );
        });
        fc.pre(!known);
        const intent = readIntent(insertWords(text, word, place), languages);
        if (intent.confirm) expect(intent.reference?.names).toContain(word);
        else expect(intent.assent).toBe(false);
      }),
      { numRuns: 3000 },
    );
  });

  test('an invisible character anywhere costs the approval', () => {
    const invisible = fc.constantFrom(
      '\u200b',
      '\u200c',
      '\u200d',
      '\u200e',
      '\u202e',
      '\u2060',
      '\ufeff',
      '\u00ad',
      '\u034f',
      '\u0336',
      '\u{e0041}',
      '\0',
      '\ufe0f',
    );
    fc.assert(
      fc.property(anApproval, invisible, aPlace, ({ text, languages }, character, place) => {
        const changed = insertCharacters(text, character, place);
        fc.pre(
          character !== '\ufe0f' ||
            !/[\p{Extended_Pictographic}\p{Emoji_Modifier}]\ufe0f/u.test(changed),
        );
        expect(readIntent(changed, languages)).toMatchObject(refused);
      }),
      { numRuns: 3000 },
    );
  });

  test('a letter of another script that looks alike costs the approval', () => {
    const lookalikes: Record<string, string> = {
      a: 'а',
      c: 'с',
      e: 'е',
      i: 'і',
      o: 'о',
      p: 'р',
      s: 'ѕ',
      x: 'х',
      y: 'у',
    };
    for (const { text, languages } of approving) {
      for (const [latin, other] of Object.entries(lookalikes)) {
        if (!text.includes(latin)) continue;
        const intent = readIntent(text.replace(latin, other), languages);
        // In the name of a target it stays a name, and one that no card bears.
        if (intent.assent) expect(intent.reference?.names.join()).toContain(other);
      }
    }
  });

  test('quoting an approval takes it back', () => {
    for (const { text, languages } of approving) {
      for (const quoted of [
        `"${text}"`,
        `“${text}”`,
        `« ${text} »`,
        `'${text}'`,
        `> ${text}`,
        `you said ${text}`,
        `he wrote: ${text}`,
        `type ${text}`,
      ]) {
        expect([quoted, readIntent(quoted, languages)]).toMatchObject([quoted, refused]);
      }
    }
  });

  test('letters around a word make it another word', () => {
    for (const word of [
      'yes',
      'ok',
      'go',
      'sure',
      'yep',
      'approved',
      'proceed',
      'confirm',
      'confirmed',
    ]) {
      for (const other of [
        `${word}terday`,
        `un${word}`,
        `${word}ish`,
        `x${word}`,
        `${word}x`,
        `${word}_x`,
        `${word}.x`,
        `x-${word}`,
        `${word}@x`,
        `/${word}`,
        `$${word}`,
      ]) {
        expect([other, readIntent(other)]).toMatchObject([other, refused]);
      }
    }
  });

  test.each([
    ['de', ['ja', 'mach das', 'passt', 'ich bestätige', 'genehmigt']],
    ['es', ['sí', 'dale', 'adelante', 'confirmo', 'hazlo']],
    ['fr', ['oui', 'vas-y', "d'accord", 'je confirme', 'on y va']],
  ] as const)('words of %s approve nothing while it is not on', (language, words) => {
    const others = LANGUAGES.filter((other) => other !== language);
    for (const word of words) {
      expect([word, readIntent(word, others)]).toMatchObject([word, refused]);
      expect([word, readIntent(word, [language]).assent]).toEqual([word, true]);
    }
  });

  test('a yes longer than any person would write is none', () => {
    expect(readIntent('yes '.repeat(2000))).toMatchObject(refused);
    expect(readIntent(`no ${'yes '.repeat(2000)}`)).toMatchObject({ ...refused, denial: true });
  });
});

describe('A3, A4: what must stay an approval', () => {
  test('case, spaces, full stops and exclamation marks change nothing', () => {
    for (const { text, languages, verdict } of approving) {
      for (const same of [text.toUpperCase(), `  ${text}\n`, `${text}!`]) {
        const intent = readIntent(same, languages);
        expect([same, intent.assent, intent.confirm]).toEqual([same, true, verdict === 'confirm']);
      }
    }
  });

  test('a typed confirmation always holds the word itself, and approves too', () => {
    const words = fc.constantFrom(...approving.flatMap(({ text }) => text.split(/\s+/u)));
    fc.assert(
      fc.property(fc.array(words, { minLength: 1, maxLength: 6 }), (parts) => {
        const text = parts.join(' ');
        const intent = readIntent(text, LANGUAGES);
        if (intent.confirm) {
          expect(text).toMatch(/confirm|bestätig|bestatig|bestaetig/i);
          expect(intent.assent).toBe(true);
        }
        if (intent.assent)
          expect(intent).toMatchObject({
            negation: false,
            question: false,
            partial: false,
            conditional: false,
            denial: false,
            bare: true,
          });
      }),
      { numRuns: 3000 },
    );
  });
});

describe('robustness', () => {
  test('any text at all is read', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary' }), (text) => {
        expect(readIntent(text, LANGUAGES).assent).toBeTypeOf('boolean');
      }),
    );
  });

  test.each([
    'yes ',
    'a',
    '.',
    '!.',
    'no ',
    '👍',
    "'",
    '- ',
    '\n',
    '> ',
    'go-',
    'n’',
    '…',
    '*',
    '\u200b',
    'si ',
  ])('a megabyte of %j is read in no time', (piece) => {
    const text = piece.repeat(1_048_576 / piece.length);
    expect(cpuMs(() => readIntent(`${text}x`, LANGUAGES))).toBeLessThan(2000);
  });
});
