/** The 97.5th percentile of the normal distribution: an interval that is right in 95 of 100 cases. */
const Z = 1.96;

/**
 * The lower bound of Wilson's score interval at 95 % (K11): how often something succeeds at least, as far as its record tells. Between
 * 0 and 1; without any record 0. One success in one try gives 0.21, ten in ten 0.72: few tries are little proof. E. B. Wilson,
 * "Probable Inference, the Law of Succession, and Statistical Inference" (1927).
 *
 * Throws a RangeError for counts that cannot be.
 */
export function wilsonLowerBound(successes: number, tries: number): number {
  if (
    !Number.isSafeInteger(successes) ||
    !Number.isSafeInteger(tries) ||
    successes < 0 ||
    successes > tries
  ) {
    throw new RangeError(`${successes} successes of ${tries} tries cannot be`);
  }
  if (tries === 0) return 0;
  const rate = successes / tries;
  const square = Z * Z;
  const middle = rate + square / (2 * tries);
  const spread = Z * Math.sqrt((rate * (1 - rate) + square / (4 * tries)) / tries);
  return Math.max(0, (middle - spread) / (1 + square / tries));
}
