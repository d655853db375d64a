/** What a tap on a card means. Which of them a card takes is the card's business. */
export type ReactionMeaning =
  | 'approve'
  | 'deny'
  | 'stop'
  | 'retry'
  | 'continue'
  | 'seen'
  | 'mute'
  | 'task'
  | 'option';

const MEANINGS: ReadonlyMap<string, ReactionMeaning> = new Map([
  ['\u2705', 'approve'], // ✅
  ['\u2714', 'approve'], // ✔
  ['\u{1f44d}', 'approve'], // 👍
  ['\u274c', 'deny'], // ❌
  ['\u2716', 'deny'], // ✖
  ['\u{1f44e}', 'deny'], // 👎
  ['\u{1f6d1}', 'stop'], // 🛑
  ['\u{1f501}', 'retry'], // 🔁
  ['\u25b6', 'continue'], // ▶
  ['\u{1f440}', 'seen'], // 👀
  ['\u{1f515}', 'mute'], // 🔕
  ['\u{1f916}', 'task'], // 🤖
]);

const KEYCAP = /^([1-9])\ufe0f?\u20e3$/u;
const TEN = '\u{1f51f}';
const DRESSING = /[\ufe0e\ufe0f]?[\u{1f3fb}-\u{1f3ff}]?[\ufe0e\ufe0f]?$/u;

/**
 * What the key of a reaction means, or null for any other key (A2, C5, C7, C9, S2, T5). An emoji
 * with a variation selector or a skin tone is the same one as without; anything more, such as two
 * emoji or one with a word behind it, means nothing.
 */
export function reactionMeaning(key: string): ReactionMeaning | null {
  if (reactionOption(key) !== null) return 'option';
  return MEANINGS.get(key.replace(DRESSING, '')) ?? null;
}

/** The number of the option that a keycap stands for, 1 to 10, or null for any other key (C5). */
export function reactionOption(key: string): number | null {
  const digit = KEYCAP.exec(key)?.[1];
  if (digit !== undefined) return Number(digit);
  return key.replace(DRESSING, '') === TEN ? 10 : null;
}
