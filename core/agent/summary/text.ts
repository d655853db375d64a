import { headAndTail } from '../../text/clip.ts';

/** The longest summary, in bytes: about 1,500 tokens. */
export const SUMMARY_BYTES = 6_000;

/** One part of a summary, in the order of time. */
export interface SummarySection {
  readonly title: string;
  /** The very first line, where it is worth keeping whatever follows: what the task began with. */
  readonly first?: string | undefined;
  readonly newest: readonly string[];
  /** How many there are in all. */
  readonly total: number;
}

/** A summary's text: bounded, and always the same for the same input. Sections without lines are left out. */
export function summaryText(head: string, sections: readonly SummarySection[]): string {
  const text = [head, ...sections.flatMap(sectionLines)].join('\n');
  return headAndTail(text, SUMMARY_BYTES).text;
}

function sectionLines({ title, first, newest, total }: SummarySection): string[] {
  if (total === 0) return [];
  const begin = first === undefined ? [] : [first];
  const hidden = total - begin.length - newest.length;
  return [
    `${title}:`,
    ...begin.map((line) => `- ${line}`),
    ...(hidden > 0 ? [`- … ${hidden} more …`] : []),
    ...newest.map((line) => `- ${line}`),
  ];
}
