import type { BenchServices } from './services.ts';
import type { Ratio, Summary } from './stats.ts';

/** What a figure must reach. */
export type Goal = { readonly atMost: number } | { readonly atLeast: number };

/** One figure of a benchmark. */
export interface Figure {
  /** What it is, in a few words. */
  readonly name: string;
  readonly value: number;
  readonly unit: '×' | '%' | 'ms' | 's' | 'MiB';
  /** None for a figure that only says what the others stand on. */
  readonly goal?: Goal;
  /** For a ratio: how far noise moves it. */
  readonly range?: Ratio;
  /** The measurements behind it, by side. */
  readonly sides?: Readonly<Record<string, Summary>>;
}

/** What a run of the benchmarks is given. */
export interface BenchContext {
  readonly services: BenchServices;
  /** Fewer and smaller: shows that it works, not what it comes to. */
  readonly quick: boolean;
  say(line: string): void;
}

/** One benchmark of design 11. */
export interface Benchmark {
  readonly id: string;
  readonly title: string;
  run(context: BenchContext): Promise<Figure[]>;
}

/** Whether a figure reaches its goal; undefined without one. */
export function reaches({ value, goal }: Pick<Figure, 'value' | 'goal'>): boolean | undefined {
  if (goal === undefined) return undefined;
  return 'atMost' in goal ? value <= goal.atMost : value >= goal.atLeast;
}
