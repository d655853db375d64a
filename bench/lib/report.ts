import { availableParallelism, cpus, totalmem } from 'node:os';
import { reaches, type Benchmark, type Figure } from './benchmark.ts';

/** What a benchmark came to. */
export interface Outcome {
  readonly id: string;
  readonly title: string;
  readonly tookMs: number;
  readonly figures: readonly Figure[];
  /** Why it has no figures. */
  readonly error?: string;
}

/** The content of bench/results.json. */
export interface Results {
  readonly version: 1;
  readonly at: string;
  readonly quick: boolean;
  readonly machine: Readonly<Record<string, string | number>>;
  readonly outcomes: readonly Outcome[];
}

/** What the figures were measured on. Ratios hold elsewhere too; times do not. */
export function machine(): Results['machine'] {
  return {
    cores: availableParallelism(),
    processor: cpus()[0]?.model.trim() ?? 'unknown',
    memoryGiB: Math.round(totalmem() / 1024 ** 3),
    node: process.version,
  };
}

/** The outcomes of this run in the place of earlier ones of the same benchmarks, in order of their ids. */
export function merged(before: readonly Outcome[], now: readonly Outcome[]): Outcome[] {
  const all = new Map([...before, ...now].map((outcome) => [outcome.id, outcome]));
  return [...all.values()].toSorted((a, b) => numberOf(a) - numberOf(b));
}

const numberOf = ({ id }: Pick<Benchmark, 'id'>): number => Number(id.slice(1));

/** The results as a table for a page. */
export function page({ at, machine: on, outcomes }: Results): string {
  const rows = rowsOf(outcomes).map((cells) => `| ${cells.join(' | ')} |`);
  return [
    `${at.slice(0, 10)}, ${on['cores']} cores (${on['processor']}), ${on['memoryGiB']} GiB, Node ${on['node']}:`,
    '',
    `| ${HEAD.join(' | ')} |`,
    `|${'---|'.repeat(HEAD.length)}`,
    ...rows,
  ].join('\n');
}

/** The figures as a table for a terminal. */
export function table(outcomes: readonly Outcome[]): string {
  const rows = rowsOf(outcomes);
  const widths = HEAD.map((_, at) =>
    Math.max(...[HEAD, ...rows].map((row) => (row[at] ?? '').length)),
  );
  return [HEAD, ...rows]
    .map((row) =>
      row
        .map((cell, at) => cell.padEnd(widths[at] ?? 0))
        .join('  ')
        .trimEnd(),
    )
    .join('\n');
}

const HEAD: readonly string[] = ['', 'figure', 'measured', 'quartiles', 'goal', 'met'];

function rowsOf(outcomes: readonly Outcome[]): string[][] {
  return outcomes.flatMap(({ id, figures, error }) => [
    ...figures.map((figure, at) => [
      at === 0 ? id : '',
      figure.name,
      shown(figure.value, figure.unit),
      figure.range === undefined
        ? ''
        : `${shown(figure.range.low, '×')} to ${shown(figure.range.high, '×')}`,
      goalText(figure),
      { true: 'yes', false: 'NO', undefined: '' }[String(reaches(figure))] ?? '',
    ]),
    ...(error === undefined ? [] : [[id, `did not run: ${error}`, '', '', '', '']]),
  ]);
}

function goalText({ goal, unit }: Figure): string {
  if (goal === undefined) return '';
  return 'atMost' in goal ? `≤ ${shown(goal.atMost, unit)}` : `≥ ${shown(goal.atLeast, unit)}`;
}

function shown(value: number, unit: Figure['unit']): string {
  const digits =
    Math.abs(value) >= 100 ? 0 : Math.abs(value) >= 10 ? 1 : Math.abs(value) >= 1 ? 2 : 3;
  return `${value.toFixed(digits)} ${unit}`;
}
