import { z } from 'zod';
import type { Exchange } from '../history.ts';
import { quoted } from '../../text/label.ts';

const outcomeShape = z.looseObject({
  execution_id: z.string().optional(),
  status: z.string().optional(),
  exit_code: z.int().optional(),
});

/**
 * What is told of steps that the window has no room for: how many of what, and of the newest of them a line each. Undefined
 * when there is none.
 */
export function leftOutText(exchanges: readonly Exchange[], maxLines: number): string | undefined {
  if (exchanges.length === 0) return undefined;
  const count = (kind: Exchange['kind']): number =>
    exchanges.filter((exchange) => exchange.kind === kind).length;
  const lines = exchanges.flatMap(linesOf);
  const shown = maxLines <= 0 ? [] : lines.slice(-maxLines);
  return [
    `${exchanges.length} messages are left out here for want of room: ${count('operator')} of the operator, ${count('answer')} answers of yours with their results, ${count('note')} notes. What is true now stands in the state below; get_execution_status reads results again.${shown.length === 0 ? '' : ' In short:'}`,
    ...(lines.length > shown.length && shown.length > 0
      ? [`- … ${lines.length - shown.length} lines more …`]
      : []),
    ...shown.map((line) => `- ${line}`),
  ].join('\n');
}

function linesOf(exchange: Exchange): string[] {
  switch (exchange.kind) {
    case 'operator':
      return [`the operator: ${quoted(exchange.text, 120)}`];
    case 'note':
      return [`a note: ${quoted(exchange.text.split('\n', 1)[0] ?? '', 120)}`];
    case 'answer':
      return [
        ...(exchange.text === '' ? [] : [`you: ${quoted(exchange.text, 120)}`]),
        ...exchange.calls.map(
          (call) => `you called ${call.name} ${quoted(call.arguments, 80)}${outcome(call.result)}`,
        ),
      ];
  }
}

function outcome(result: string): string {
  const read = outcomeShape.safeParse(parsed(result));
  if (!read.success) return '';
  const { execution_id, status, exit_code } = read.data;
  const words = [
    ...(execution_id === undefined ? [] : [execution_id]),
    ...(status === undefined ? [] : [status]),
    ...(exit_code === undefined ? [] : [`exit code ${exit_code}`]),
  ];
  return words.length === 0 ? '' : `: ${words.map((word) => word.slice(0, 40)).join(', ')}`;
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    // Cut or foreign text: it says nothing of an outcome.
    return undefined;
  }
}
