import type { PlanLimits } from '@shortlink/sdk/wire';
import type { Random } from '../kernel/random.ts';

/** How often each kind of action is in a history. */
const WEIGHTS = {
  link: 24,
  batch: 10,
  job: 6,
  poll: 14,
  foreignPoll: 2,
  lookup: 8,
  unnumber: 3,
  duplicate: 12,
  conflict: 3,
  badBatch: 4,
  correct: 5,
  move: 3,
  follow: 10,
  wait: 8,
  pass: 8,
  kill: 4,
  stop: 2,
  start: 4,
  revoke: 1,
  limits: 2,
  faults: 3,
} as const;

export type ActionKind = keyof typeof WEIGHTS;

/** One thing that a client, the operator or the machine does. Its numbers choose among what there is when its turn comes. */
export interface Action {
  kind: ActionKind;
  /** Which account, create or job: counted over those that exist then. */
  which: number;
  /** How many links, or how long. */
  size: number;
  isIdempotent: boolean;
}

/** What a history begins with, and all that is done in it. */
export interface Plan {
  startsAt: number;
  accounts: { limits: Partial<PlanLimits>; keys: number }[];
  /** What the clock of each first instance differs from the true time by, in milliseconds. */
  skews: number[];
  actions: Action[];
  /** Whether the disk fails from the beginning. */
  isFaulty: boolean;
  /** How many instances one process starts and replaces. 0: each is started by itself. */
  workers: number;
}

const MIDDLE = Date.UTC(2026, 10, 20, 10, 20, 30, 500);

/** Just before the end of a minute, of a day, and of a month and year. */
const EDGES = [
  Date.UTC(2026, 10, 20, 10, 21) - 900,
  Date.UTC(2026, 10, 21) - 1_200,
  Date.UTC(2027, 0, 1) - 700,
];

export function makePlan(random: Random): Plan {
  // Without crashes and faults the oracle knows every number exactly.
  const isQuiet = random.chance(0.4);
  const weights = isQuiet ? { ...WEIGHTS, kill: 0, faults: 0 } : WEIGHTS;
  return {
    startsAt: random.chance(0.5) ? MIDDLE : random.pick(EDGES),
    accounts: Array.from({ length: random.between(1, 2) }, () => ({
      limits: makeLimits(random),
      keys: random.between(1, 2),
    })),
    skews: Array.from({ length: random.between(1, 3) }, () =>
      random.chance(0.2) ? random.between(-1_500, 1_500) : 0,
    ),
    isFaulty: !isQuiet && random.chance(0.4),
    actions: Array.from({ length: random.between(5, 45) }, () => ({
      kind: random.weighted(weights),
      which: random.between(0, 1_000_000),
      size: random.between(0, 1_000_000),
      isIdempotent: random.chance(0.5),
    })),
    workers: random.chance(0.3) ? random.between(2, 3) : 0,
  };
}

export function makeLimits(random: Random): Partial<PlanLimits> {
  const perhaps = (share: number, least: number, most: number) =>
    random.chance(share) ? random.between(least, most) : null;
  return {
    requests_per_minute: perhaps(0.6, 2, 12),
    requests_per_day: perhaps(0.3, 5, 25),
    requests_per_month: perhaps(0.3, 5, 30),
    links: random.chance(0.3) ? random.between(1, 12) : perhaps(0.4, 100, 400),
    batch_size: random.pick([10_000, 10_000, 4, 120]),
  };
}

/** One of the items, by a number of any size; undefined where there are none. */
export function choose<T>(items: readonly T[], which: number): T | undefined {
  return items.length === 0 ? undefined : items[which % items.length];
}
