/** Plays that a shrinking may take, and how long: a scenario of a thousand rows takes a second or more for each. */
const MAX_PLAYS = 3_000;
const MAX_MS = 120_000;

/**
 * Leaves out parts of a scenario for as long as it still fails in the same way, or until that takes too long.
 *
 * @param smaller - the same with a part less, the largest parts first
 * @param fails - plays a scenario; its failure, undefined where it passes
 */
export async function shrink<Scenario>(
  scenario: Scenario,
  failure: string,
  smaller: (scenario: Scenario) => Iterable<Scenario>,
  fails: (scenario: Scenario) => Promise<string | undefined>,
): Promise<Scenario> {
  const kind = kindOf(failure);
  let best = scenario;
  let plays = 0;
  const until = performance.now() + MAX_MS;
  for (let isSmaller = true; isSmaller; ) {
    isSmaller = false;
    for (const candidate of smaller(best)) {
      plays += 1;
      if (plays > MAX_PLAYS || performance.now() > until) return best;
      if (kindOf(await fails(candidate)) !== kind) continue;
      best = candidate;
      isSmaller = true;
      break;
    }
  }
  return best;
}

/** A failure without its names and numbers. */
function kindOf(failure: string | undefined): string | undefined {
  return failure?.split('\n', 1)[0]?.replace(/[\d{][^ ]*/g, 'N');
}

/** A list without a half of it, without a quarter, and so on until a single item. */
export function* withoutParts<T>(items: readonly T[]): Generator<T[]> {
  for (let size = Math.ceil(items.length / 2); size >= 1; size = size === 1 ? 0 : (size + 1) >> 1) {
    for (let first = 0; first < items.length; first += size) yield items.toSpliced(first, size);
  }
}
