import type { ModelAnswer } from './model/types.ts';

/** Why an answer cannot be used (L4), in words that can be told to the model and to the operator. */
export type Unusable =
  | 'it was empty'
  | 'it was a refusal without a reason'
  | 'it was in another script than the operator writes in'
  | 'it was a tool call written out as text, which makes no call';

/**
 * Judges an answer without tool calls: empty, a known boilerplate refusal, or in another script than the operator writes
 * in, or a call of one of `toolNames` that was written out instead of made. `operatorTexts` are what the operator wrote in this
 * task. Undefined means that it can be used.
 */
export function unusable(
  answer: ModelAnswer,
  operatorTexts: readonly string[],
  toolNames: readonly string[] = [],
): Unusable | undefined {
  if (answer.toolCalls.length > 0) return undefined;
  const text = answer.text.trim();
  if (text === '')
    return answer.finish === 'filtered' ? 'it was a refusal without a reason' : 'it was empty';
  if (answer.finish === 'filtered' || isBoilerplate(text))
    return 'it was a refusal without a reason';
  if (isWrittenCall(text, toolNames))
    return 'it was a tool call written out as text, which makes no call';
  return otherScript(text, operatorTexts)
    ? 'it was in another script than the operator writes in'
    : undefined;
}

// A refusal with a reason is long, or says what it is about: only short stock phrases count.
const MAX_BOILERPLATE = 240;
const BOILERPLATE = [
  /^(i['’]?m|i am) (really |very )?sorry,? but (i|as an)\b.{0,80}\b(can['’]?t|cannot|can not|unable|not able|won['’]?t)\b/i,
  /^(sorry|apologies|i apologi[sz]e),? (but )?i (can['’]?t|cannot|am unable|am not able|won['’]?t)\b/i,
  /^i (can['’]?t|cannot|can not|am unable to|am not able to|won['’]?t) (help|assist|comply|fulfil|fulfill|do that|continue|provide|engage)\b/i,
  /^as an? (ai|artificial|large language|language) /i,
  /^(您好|你好|抱歉|对不起|很抱歉)?[，, ]*(我)?(无法|不能)(给到|回答|提供|协助|满足)/,
];

function isBoilerplate(text: string): boolean {
  return text.length <= MAX_BOILERPLATE && BOILERPLATE.some((pattern) => pattern.test(text));
}

/** What small models put around a call that they write out. */
const WRAPPING =
  /^(?:```[a-z_]*\s*|<\|?(?:tool_call|function_call|python_tag)s?\|?>\s*)+|(?:\s*```|\s*<\/\|?(?:tool_call|function_call)s?\|?>)+$/gi;

// Only a text that is nothing else: an answer may quote a call.
function isWrittenCall(text: string, toolNames: readonly string[]): boolean {
  const bare = text.replace(WRAPPING, '').trim();
  if (!/^[[{]/.test(bare)) return false;
  let value: unknown;
  try {
    value = JSON.parse(bare);
  } catch {
    // Not JSON alone: it is an answer in words.
    return false;
  }
  const calls: unknown[] = Array.isArray(value) ? value : [value];
  return calls.length > 0 && calls.every((call) => namesTool(call, toolNames));
}

function namesTool(call: unknown, toolNames: readonly string[]): boolean {
  if (typeof call !== 'object' || call === null) return false;
  const { name, tool, function: called } = call as Record<string, unknown>;
  const nested =
    typeof called === 'object' && called !== null && 'name' in called ? called.name : called;
  return [name, tool, nested].some((one) => typeof one === 'string' && toolNames.includes(one));
}

const SCRIPTS = {
  latin: /\p{Script=Latin}/gu,
  cyrillic: /\p{Script=Cyrillic}/gu,
  greek: /\p{Script=Greek}/gu,
  han: /\p{Script=Han}/gu,
  kana: /[\p{Script=Hiragana}\p{Script=Katakana}]/gu,
  hangul: /\p{Script=Hangul}/gu,
  arabic: /\p{Script=Arabic}/gu,
  hebrew: /\p{Script=Hebrew}/gu,
  devanagari: /\p{Script=Devanagari}/gu,
  thai: /\p{Script=Thai}/gu,
} as const;
type Script = keyof typeof SCRIPTS;

/** Letters of a foreign script that may stand in an answer as a name or a quotation. */
const QUOTED_LETTERS = 8;
const QUOTED_SHARE = 0.2;
const MOST = 0.5;
/** Below this an answer is too short to tell its script ("OK", "nginx: active"). */
const TELLING_LETTERS = 24;

function otherScript(answer: string, operatorTexts: readonly string[]): boolean {
  const theirs = countScripts(operatorTexts.join('\n'));
  const main = mainScript(theirs);
  if (main === undefined) return false;
  const ours = countScripts(prose(answer));
  const total = sum(ours);
  // Japanese is written with Han characters too.
  const own = ours[main] + (main === 'kana' ? ours.han : 0);
  // Latin is everywhere in this trade: names, units, commands. It is wrong only if it is all there is.
  if (main !== 'latin' && own === 0 && total >= TELLING_LETTERS) return true;
  const foreign = (Object.keys(ours) as Script[])
    .filter((script) => script !== 'latin' && script !== main && theirs[script] === 0)
    .reduce((letters, script) => letters + ours[script], 0);
  const allowed = main === 'kana' ? foreign - ours.han : foreign;
  return allowed > total * MOST || (allowed > QUOTED_LETTERS && allowed > total * QUOTED_SHARE);
}

// What is quoted as code is output, and in whatever script it was printed.
function prose(text: string): string {
  return text.replace(/```[\s\S]*?(```|$)/g, ' ').replace(/`[^`\n]*`/g, ' ');
}

// A single letter of another script among Latin ones is decisive: commands and names are Latin in every language.
function mainScript(counts: Record<Script, number>): Script | undefined {
  const others = (Object.keys(counts) as Script[]).filter(
    (script) => script !== 'latin' && counts[script] > 0,
  );
  if (counts.kana > 0) return 'kana';
  const most = others.toSorted((a, b) => counts[b] - counts[a])[0];
  if (most !== undefined && counts[most] * 4 >= counts.latin) return most;
  return counts.latin > 0 ? 'latin' : undefined;
}

function countScripts(text: string): Record<Script, number> {
  const counts = {} as Record<Script, number>;
  for (const script of Object.keys(SCRIPTS) as Script[])
    counts[script] = text.match(SCRIPTS[script])?.length ?? 0;
  return counts;
}

function sum(counts: Record<Script, number>): number {
  return Object.values(counts).reduce((total, count) => total + count, 0);
}
