import type { Row } from './section.ts';

/** What one measurement found, by the column it goes into; the name ends with the unit. */
export type Sample = Readonly<Record<string, number>>;

/** One of the things that are compared. */
export interface Contender {
  name: string;
  /** Does the work once and resolves to its figures. */
  measure: () => Promise<Sample>;
}

export interface RoundsOptions {
  /** Rounds that count. */
  rounds: number;
  /** Rounds before those, which don't count and warm up compilers and caches. @default 1 */
  warmups?: number | undefined;
  /** No round begins after this many milliseconds, once there are {@link MIN_ROUNDS}. @default 120_000 */
  budgetMs?: number | undefined;
  /** Which column is compared, and with which contenders. @default nothing is compared */
  ratio?: { of: string; to: readonly string[] } | undefined;
}

/** A median needs at least so many rounds. */
export const MIN_ROUNDS = 3;

const DEFAULT_BUDGET_MS = 120_000;

/**
 * Measures contenders in turns, A B C A B C, so that other work of the machine slows all of them equally. A ratio is taken
 * within each round, and the median of these ratios counts, since it varies far less than the figures themselves.
 */
export async function interleave(
  contenders: readonly Contender[],
  { rounds, warmups = 1, budgetMs = DEFAULT_BUDGET_MS, ratio }: RoundsOptions,
): Promise<Row[]> {
  for (let round = 0; round < warmups; round += 1) await oneRound(contenders);
  const endsAt = performance.now() + budgetMs;
  const done: Map<string, Sample>[] = [];
  while (done.length < rounds && (done.length < MIN_ROUNDS || performance.now() < endsAt)) {
    done.push(await oneRound(contenders));
  }
  return contenders.map(({ name }) => ({
    name,
    figures: {
      ...figuresOf(samplesOf(done, name)),
      ...(ratio && ratiosOf(done, name, ratio)),
    },
  }));
}

async function oneRound(contenders: readonly Contender[]): Promise<Map<string, Sample>> {
  const samples = new Map<string, Sample>();
  for (const { name, measure } of contenders) samples.set(name, await measure());
  return samples;
}

function samplesOf(rounds: readonly Map<string, Sample>[], name: string): Sample[] {
  return rounds.flatMap((round) => {
    const sample = round.get(name);
    return sample === undefined ? [] : [sample];
  });
}

/** Contenders of one comparison may have different columns. */
function figuresOf(samples: readonly Sample[]): Record<string, Figure> {
  const columns = Object.keys(samples[0] ?? {});
  return Object.fromEntries(
    columns.map((column) => [column, summarize(samples.flatMap((sample) => sample[column] ?? []))]),
  );
}

function ratiosOf(
  rounds: readonly Map<string, Sample>[],
  name: string,
  { of, to }: NonNullable<RoundsOptions['ratio']>,
): Record<string, Figure> {
  return Object.fromEntries(
    to.flatMap((floor) => {
      const ratios = rounds.flatMap((round) => {
        const own = round.get(name)?.[of];
        const other = round.get(floor)?.[of];
        return own === undefined || other === undefined ? [] : own / other;
      });
      // A contender may lack the column, as one that sends no request does.
      return ratios.length === 0 ? [] : [[`to ${floor}`, summarize(ratios)]];
    }),
  );
}

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
