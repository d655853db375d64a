/** What a row of measurements comes to. */
export interface Summary {
  readonly n: number;
  readonly median: number;
  readonly p95: number;
  readonly min: number;
  readonly max: number;
  /** Half of the samples lie within this share of the median: (third quartile − first) / median. */
  readonly spread: number;
}

/** A ratio of two sides that were measured in turn. */
export interface Ratio {
  /** Median of the one over median of the other. */
  readonly value: number;
  /** First and third quartile of the ratios of neighbours: how far the noise of the machine moves it. */
  readonly low: number;
  readonly high: number;
}

/**
 * The value below which a share of the samples lies, between neighbours by straight line. `share` from 0 to 1. Throws a
 * RangeError for no samples or another share.
 */
export function quantile(samples: readonly number[], share: number): number {
  if (samples.length === 0) throw new RangeError('there is no quantile of nothing');
  if (!(share >= 0 && share <= 1)) throw new RangeError(`a share is 0 to 1, not ${share}`);
  const sorted = samples.toSorted((a, b) => a - b);
  const at = (sorted.length - 1) * share;
  const below = sorted[Math.floor(at)] ?? NaN;
  const above = sorted[Math.ceil(at)] ?? NaN;
  return below + (above - below) * (at - Math.floor(at));
}

/** Sums up one side. Throws a RangeError for no samples. */
export function summarise(samples: readonly number[]): Summary {
  const median = quantile(samples, 0.5);
  return {
    n: samples.length,
    median,
    p95: quantile(samples, 0.95),
    min: Math.min(...samples),
    max: Math.max(...samples),
    spread: (quantile(samples, 0.75) - quantile(samples, 0.25)) / median,
  };
}

/** The ratio of two sides measured in turn: the n-th of one beside the n-th of the other. Throws for sides of two lengths. */
export function ratio(side: readonly number[], against: readonly number[]): Ratio {
  if (side.length !== against.length)
    throw new RangeError(`${side.length} samples against ${against.length}`);
  const each = side.map((value, at) => value / (against[at] ?? NaN));
  return {
    value: quantile(side, 0.5) / quantile(against, 0.5),
    low: quantile(each, 0.25),
    high: quantile(each, 0.75),
  };
}

/** Measures several sides in turn, `rounds` times, after `warmUps` rounds that do not count. Milliseconds or whatever they give. */
export async function inTurn<K extends string>(
  sides: Readonly<Record<K, () => Promise<number> | number>>,
  rounds: { readonly rounds: number; readonly warmUps: number },
): Promise<Record<K, number[]>> {
  const names = Object.keys(sides) as K[];
  const found = Object.fromEntries(names.map((name) => [name, [] as number[]])) as Record<
    K,
    number[]
  >;
  for (let round = -rounds.warmUps; round < rounds.rounds; round++) {
    // Another one goes first each time, so that none always follows the same one.
    for (let at = 0; at < names.length; at++) {
      const name = names[(at + round + rounds.warmUps) % names.length];
      if (name === undefined) continue;
      const value = await sides[name]();
      if (round >= 0) found[name].push(value);
    }
  }
  return found;
}

/** How long something takes, in milliseconds. */
export async function timed(work: () => unknown): Promise<number> {
  const from = performance.now();
  await work();
  return performance.now() - from;
}
