/** The figures that summarise several measurements of one thing. */
export interface Figure {
  median: number;
  min: number;
  max: number;
}

/** @throws RangeError without values, since there is no median of nothing */
export function summarize(values: readonly number[]): Figure {
  const sorted = values.toSorted((a, b) => a - b);
  return {
    median: percentile(sorted, 0.5),
    min: percentile(sorted, 0),
    max: percentile(sorted, 1),
  };
}

/**
 * The value below which this part of the values lies, between neighbours where it falls between two.
 *
 * @param sorted ascending
 * @param part from 0 to 1
 */
export function percentile(sorted: ArrayLike<number>, part: number): number {
  const position = (sorted.length - 1) * part;
  const below = sorted[Math.floor(position)];
  const above = sorted[Math.ceil(position)];
  if (below === undefined || above === undefined) throw new RangeError('no values');
  return below + (above - below) * (position - Math.floor(position));
}
