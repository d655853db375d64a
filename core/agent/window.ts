import type { ModelMessage } from './model/types.ts';
import { headAndTail } from '../text/clip.ts';
import { attachmentMessages } from './attachments.ts';
import type { Exchange, History } from './history.ts';
import { jsonWithoutTags, note, withoutTags } from './prompt.ts';
import { shrinkNote, shrinkResult } from './shrink.ts';
import { leftOutText } from './summary/lines.ts';

/** Characters to a token, as an estimate that needs no tokenizer. */
const CHARACTERS_PER_TOKEN = 4;
/** A line about what is left out for each so many tokens of the window, up to a number. */
const TOKENS_PER_LINE = 500;
const MOST_LINES = 16;
/** The summary takes at most this part of the window. */
const SUMMARY_SHARE = 1 / 6;
/** What gives way, gives way in steps of so many: between two steps the prefix stays the same and caches hold. */
const STEP = 5;

/** About how many tokens these messages are. */
export function estimateTokens(messages: readonly ModelMessage[]): number {
  const characters = messages.reduce(
    (sum, message) => sum + message.content.length + callsLength(message) + picturesLength(message),
    0,
  );
  return Math.ceil(characters / CHARACTERS_PER_TOKEN);
}

/**
 * The conversation as it is sent: the summary of what is older, what was before this pass with its results shrunk to lines,
 * everything of this pass (L5). Over `maxTokens`, first results of this pass shrink, oldest first; then what was before goes, then the oldest answers of this
 * pass; what the operator said in this pass stays, at last cut. The model is told what is missing, in short.
 */
export function fitWindow(history: History, maxTokens: number): ModelMessage[] {
  const own = history.own.length;
  for (let shrunk = 0; shrunk < own; shrunk = Math.min(shrunk + STEP, own)) {
    const messages = render(history, { dropped: 0, shrunk, gone: 0 }, maxTokens);
    if (estimateTokens(messages) <= maxTokens) return messages;
  }
  const before = history.before.length;
  for (let dropped = 0; dropped < before; dropped = Math.min(dropped + STEP, before)) {
    const messages = render(history, { dropped, shrunk: own - 1, gone: 0 }, maxTokens);
    if (estimateTokens(messages) <= maxTokens) return messages;
  }
  for (let gone = 0; gone < own; gone += STEP) {
    const messages = render(history, { dropped: before, shrunk: own - 1, gone }, maxTokens);
    if (estimateTokens(messages) <= maxTokens) return messages;
  }
  return cutToFit(
    render(history, { dropped: before, shrunk: own - 1, gone: Math.max(0, own - STEP) }, maxTokens),
    maxTokens,
  );
}

/** What gives way: `dropped` of what was before, results of the first `shrunk` of this pass, answers of the first `gone`. */
interface Cut {
  dropped: number;
  shrunk: number;
  gone: number;
}

function render(history: History, cut: Cut, maxTokens: number): ModelMessage[] {
  const goneBefore = history.before.slice(0, cut.dropped);
  const goneOwn = history.own.slice(0, cut.gone).filter((exchange) => exchange.kind === 'answer');
  const lines = Math.min(MOST_LINES, Math.floor(maxTokens / TOKENS_PER_LINE));
  const telling = [
    summaryWithin(history.summary, maxTokens),
    leftOutText([...goneBefore, ...goneOwn], lines),
  ];
  return [
    ...telling.flatMap((text) =>
      text === undefined ? [] : [{ role: 'user' as const, content: note(text) }],
    ),
    ...history.before.slice(cut.dropped).flatMap((exchange) => toMessages(exchange, true)),
    ...history.own
      .map((exchange, index) => ({ exchange, index }))
      .filter(({ exchange, index }) => index >= cut.gone || exchange.kind !== 'answer')
      .flatMap(({ exchange, index }) => toMessages(exchange, index < cut.shrunk)),
  ];
}

function toMessages(exchange: Exchange, old: boolean): ModelMessage[] {
  switch (exchange.kind) {
    case 'operator':
      return [
        { role: 'user', content: withoutTags(exchange.text) },
        ...attachmentMessages(exchange.attachments ?? [], old),
      ];
    case 'note':
      return [{ role: 'user', content: note(old ? shrinkNote(exchange.text) : exchange.text) }];
    case 'answer':
      return [
        {
          role: 'assistant',
          content: exchange.text,
          ...(exchange.calls.length === 0
            ? {}
            : {
                toolCalls: exchange.calls.map(({ id, name, arguments: args }) => ({
                  id,
                  name,
                  arguments: args,
                })),
              }),
        },
        ...exchange.calls.map((call) => ({
          role: 'tool' as const,
          toolCallId: call.id,
          content: jsonWithoutTags(old ? shrinkResult(call.name, call.result) : call.result),
        })),
      ];
  }
}

function summaryWithin(summary: string | undefined, maxTokens: number): string | undefined {
  if (summary === undefined) return undefined;
  return headAndTail(summary, Math.floor(maxTokens * CHARACTERS_PER_TOKEN * SUMMARY_SHARE)).text;
}

// The last resort: every text longer than its share loses its middle.
function cutToFit(messages: readonly ModelMessage[], maxTokens: number): ModelMessage[] {
  const share = Math.max(256, Math.floor((maxTokens * CHARACTERS_PER_TOKEN) / messages.length));
  return messages.map((message) => {
    const content = headAndTail(message.content, share).text;
    return message.role === 'user' ? { role: 'user', content } : { ...message, content };
  });
}

// About what endpoints count for one, in characters.
const PICTURE_CHARACTERS = 1_200 * CHARACTERS_PER_TOKEN;

function picturesLength(message: ModelMessage): number {
  return message.role === 'user' ? (message.pictures?.length ?? 0) * PICTURE_CHARACTERS : 0;
}

function callsLength(message: ModelMessage): number {
  if (message.role !== 'assistant') return 0;
  return (message.toolCalls ?? []).reduce(
    (sum, call) => sum + call.name.length + call.arguments.length,
    0,
  );
}
