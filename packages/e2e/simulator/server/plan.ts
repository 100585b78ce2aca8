import type { PlanLimits } from '@shortlink/sdk/wire';
import { Random } from '../kernel/random.ts';

/** How often each kind of action is in a history. */
const WEIGHTS = {
  link: 24,
  batch: 10,
  job: 6,
  poll: 14,
  foreignPoll: 2,
  lookup: 11,
  duplicate: 12,
  rush: 5,
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

export type ActionKind = keyof typeof WEIGHTS | 'failover';

/** The share of histories in which a standby takes over, if there can be one. */
const STANDBY_SHARE = 0.25;

/** The share of histories in which the operator looks at everything in the end: that takes as long as all the rest. */
const REVIEWED_SHARE = 0.25;

/** What goes on while a standby takes over, as often as in every history or oftener. */
const BUSY = { ...WEIGHTS, kill: 2, wait: 0, pass: 0, start: 0, revoke: 0, limits: 0 };

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
  /** Whether the database has a standby, which takes over. */
  hasStandby: boolean;
  /** Whether the operator looks at everything in the end. */
  isReviewed: boolean;
}

const MIDDLE = Date.UTC(2026, 10, 20, 10, 20, 30, 500);

/** What the clock of an instance differs from the true time by, at most. */
export const MOST_SKEW_MS = 1_500;

/** Just before the end of a minute, of a day, and of a month and year. */
const EDGES = [
  Date.UTC(2026, 10, 20, 10, 21) - 900,
  Date.UTC(2026, 10, 21) - 1_200,
  Date.UTC(2027, 0, 1) - 700,
];

/**
 * The plan of a seed.
 *
 * @param mayHaveStandby - whether its database is one that can have a standby
 */
export function makePlan(seed: number, mayHaveStandby: boolean): Plan {
  const plan = makeCommonPlan(new Random(seed));
  const random = new Random(seed, 2);
  const isReviewed = random.chance(REVIEWED_SHARE);
  if (!mayHaveStandby || !random.chance(STANDBY_SHARE)) return { ...plan, isReviewed };
  const { actions } = plan;
  const at = random.between(Math.floor(actions.length / 4), actions.length);
  return {
    ...plan,
    isReviewed,
    hasStandby: true,
    actions: actions.toSpliced(at, 0, ...makeFailover(random)),
  };
}

/** A failover with what clients do between its steps: most of it while the standby is cut off, and once it has taken over. */
function makeFailover(random: Random): Action[] {
  return [2, 6, 6, 8].flatMap((most) => [
    makeAction(random, { failover: 1 }),
    ...Array.from({ length: random.between(most >> 1, most) }, () => makeAction(random, BUSY)),
  ]);
}

function makeAction<Kind extends ActionKind>(
  random: Random,
  weights: Readonly<Record<Kind, number>>,
): Action {
  return {
    kind: random.weighted(weights),
    which: random.between(0, 1_000_000),
    size: random.between(0, 1_000_000),
    isIdempotent: random.chance(0.5),
  };
}

function makeCommonPlan(random: Random): Plan {
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
      random.chance(0.2) ? random.between(-MOST_SKEW_MS, MOST_SKEW_MS) : 0,
    ),
    isFaulty: !isQuiet && random.chance(0.4),
    actions: Array.from({ length: random.between(5, 45) }, () => makeAction(random, weights)),
    workers: random.chance(0.3) ? random.between(2, 3) : 0,
    hasStandby: false,
    isReviewed: false,
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
