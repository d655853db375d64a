/**
 * What the demo model says of itself to someone who does not write in Latin letters: Nomos takes no answer that is wholly in
 * another script than the operator's.
 */
const GREETINGS: ReadonlyArray<readonly [RegExp, string]> = [
  [
    /[\p{Script=Hiragana}\p{Script=Katakana}]/u,
    '私はデモ用のモデルです。英語の短い依頼だけを理解します。',
  ],
  [/\p{Script=Hangul}/u, '저는 데모 모델입니다. 짧은 영어 요청만 이해합니다.'],
  [/\p{Script=Han}/u, '我是演示模型，只懂几句简短的英文请求。'],
  [
    /\p{Script=Cyrillic}/u,
    'Я демонстрационная модель и понимаю только короткие просьбы на английском.',
  ],
  [/\p{Script=Arabic}/u, 'أنا نموذج تجريبي ولا أفهم إلا طلبات قصيرة بالإنجليزية.'],
  [
    /\p{Script=Greek}/u,
    'Είμαι ένα μοντέλο επίδειξης και καταλαβαίνω μόνο σύντομες εντολές στα αγγλικά.',
  ],
];

/** A line in the script of these words; undefined for Latin ones. */
export function greetingFor(words: string): string | undefined {
  return GREETINGS.find(([script]) => script.test(words))?.[1];
}
