/**
 * Finds where lines end. Asked for ever later places it looks at each character once, so that many
 * questions about one long line stay cheap.
 */
export function lineEnds(text: string): (from: number) => number {
  let start = 0;
  let end = -1;
  return (from) => {
    if (from >= start && from <= end) return end;
    const found = text.indexOf('\n', from);
    start = from;
    end = found < 0 ? text.length : found;
    return end;
  };
}
