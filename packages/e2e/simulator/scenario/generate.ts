import type { Variant } from '../kernel/command-line.ts';
import { Random } from '../kernel/random.ts';
import { addEdits } from './edits.ts';
import { addExtras } from './extras.ts';
import { addLosses } from './losses.ts';
import {
  FAULT_KINDS,
  type NetworkFault,
  type RowPlan,
  type RunPlan,
  type Scenario,
  type UserTraits,
} from './scenario.ts';

const HOUR_MS = 3_600_000;

/** Every so many seeds are played on our own server. */
const OWN_SERVICE_EVERY = 10;

/** What our own server leaves open to nobody. */
const OWN_SERVICE = {
  kind: 'own',
  hasUsage: true,
  hasIdempotency: true,
  statesQuota: true,
  namesBadEntries: true,
  namesLimit: true,
  oversize: 403,
  refusesSingly: false,
  remarks: false,
  saysWhenToPoll: true,
  shape: 0,
  failsJobs: undefined,
  losesJobs: false,
  forgetsResults: false,
  hasLookup: true,
} as const satisfies Partial<Scenario['service']>;

/**
 * The scenario that belongs to a seed.
 *
 * @param variant - what only some scenarios have, and may be left out
 */
export function generate(
  seed: number,
  { isPlain, hasLosses }: Variant = { isPlain: false, hasLosses: true },
): Scenario {
  const random = new Random(seed);
  const size = sizeOf(random);
  const service = serviceOf(random, size);
  const user = userOf(random, size, service.hasIdempotency);
  if (seed % OWN_SERVICE_EVERY === 0) {
    Object.assign(service, OWN_SERVICE);
    user.domain = undefined;
  }
  const runs: RunPlan[] = [];
  let rows = rowsOf(random, size, user);
  const count = size > 100 ? random.between(1, 2) : random.between(1, 4);
  for (let run = 0; run < count; run += 1) {
    // Other rows from standard input are another import, which knows nothing of the first one.
    if (run > 0 && !user.fromStdin && random.chance(0.6)) rows = edited(rows, random);
    runs.push(runOf(random, rows, run, user));
  }
  const scenario = { seed, service, user, runs };
  if (!isPlain) addExtras(scenario);
  if (hasLosses) addLosses(scenario);
  if (!isPlain) addEdits(scenario);
  return scenario;
}

/** Mostly a few rows, which find as much as many do, and are played in a fraction of the time. */
function sizeOf(random: Random): number {
  const kind = random.below(100);
  if (kind < 80) return random.between(1, 10);
  if (kind < 97) return random.between(10, 60);
  return kind < 99 ? random.between(95, 220) : random.between(1_000, 1_200);
}

function serviceOf(random: Random, size: number): Scenario['service'] {
  const isTight = random.chance(0.35);
  const hasIdempotency = random.chance(0.5);
  const namesLimit = random.chance(0.7);
  const oversize = random.chance(0.7) ? 403 : 413;
  // A size that no plan has can only be found out where the service says it, or refuses with a status of its own.
  const isSmall = (namesLimit || oversize === 413) && random.chance(0.4);
  const shape = random.pick([0, 0, 1, 2, 3] as const);
  return {
    kind: 'scripted',
    hasUsage: random.chance(0.5),
    hasIdempotency,
    statesQuota: random.chance(0.4),
    namesBadEntries: random.chance(0.6),
    namesLimit,
    oversize,
    // In another order, one cannot tell which of two equal targets was refused.
    refusesSingly: shape !== 3 && random.chance(0.2),
    remarks: false,
    syncLinks: random.chance(0.5) ? 100 : random.between(1, 4),
    batchSize: isSmall ? random.between(2, 12) : random.pick([100, 5_000, 10_000]),
    perMinute: isTight ? random.between(2, 6) : 60,
    perDay: random.chance(0.1) ? random.between(5, 20) : 10_000,
    links: random.chance(0.25) ? random.between(1, Math.max(2, size)) : 1_000_000,
    msPerLink: random.pick([1, 50, 400, 4_000]),
    jobWords: random.pick([
      ['processing', 'completed'],
      ['queued', 'done'],
      ['running', 'Completed'],
    ] as const),
    saysWhenToPoll: random.chance(0.5),
    shape,
    failsJobs: random.chance(0.15)
      ? random.pick(['half-way', 'half-way', 'at once'] as const)
      : undefined,
    // With idempotency it would answer with a job that it no longer has.
    losesJobs: !hasIdempotency && random.chance(0.3),
    forgetsResults: false,
    hasLookup: false,
  };
}

/** A user asks for idempotency only where the service has it: nothing else keeps a lost request from being sent twice then. */
function userOf(random: Random, size: number, hasIdempotency: boolean): UserTraits {
  const inPlace = random.chance(0.15);
  const idempotency = hasIdempotency && random.chance(0.7);
  const format = random.pick(
    inPlace ? (['csv', 'jsonl'] as const) : (['csv', 'csv', 'jsonl', 'urls'] as const),
  );
  return {
    format,
    fromStdin: !inPlace && random.chance(0.05),
    inPlace,
    batchSize: random.chance(0.3) ? 'auto' : random.between(1, Math.max(3, size >> 1)),
    concurrency: random.between(1, 4),
    requestsPerMinute: random.chance(0.2) ? random.between(4, 60) : undefined,
    maxWaitMs: idempotency
      ? random.pick([90_000, 5_000])
      : random.pick([90_000, 5_000, 26 * HOUR_MS]),
    maxRejects: random.chance(0.5) ? 'all' : 0,
    idempotency,
    onUnknown: random.pick(['stop', 'retry', 'skip'] as const),
    decides: random.pick(['retry', 'skip'] as const),
    domain: random.chance(0.2) ? 'dom-1' : undefined,
    hasDomains: false,
    namesResults: false,
    keepsResults: false,
    hasTable: false,
    importsResults: false,
    losesFiles: false,
    mounted: undefined,
    readsShort: false,
    hasTags: false,
    defaults: {},
    addTags: undefined,
    command: undefined,
    onSimilar: 'reuse',
  };
}

function rowOf(random: Random, size: number): RowPlan {
  const kind = random.below(100);
  return {
    url: random.below(Math.max(3, size)),
    title: random.below(3),
    kind: kind < 3 ? 'invalid' : kind < 9 ? 'refused' : 'good',
  };
}

/** A list of URLs is one by its lines alone, so that it has no other ones. */
function rowsOf(random: Random, size: number, { format }: UserTraits): RowPlan[] {
  const isClean = random.chance(0.5) || format === 'urls';
  return Array.from({ length: size }, () => {
    const row = rowOf(random, size);
    return isClean ? { ...row, kind: 'good' as const } : row;
  });
}

/** Good where all others are. */
function newRow(random: Random, rows: readonly RowPlan[]): RowPlan {
  const row = rowOf(random, rows.length);
  return rows.every(({ kind }) => kind === 'good') ? { ...row, kind: 'good' } : row;
}

/** The file as its owner has it the next day: grown, shrunk, edited or sorted. */
function edited(rows: readonly RowPlan[], random: Random): RowPlan[] {
  switch (random.below(5)) {
    case 0:
      return [...rows, ...Array.from({ length: random.between(1, 5) }, () => newRow(random, rows))];
    case 1:
      return rows.length < 2
        ? [...rows]
        : rows.filter(() => random.chance(0.7)).concat(rows.slice(0, 1));
    case 2:
      return rows.map((row) => (random.chance(0.2) ? { ...row, title: random.below(3) } : row));
    case 3:
      return rows.toSorted((a, b) => b.url - a.url);
    default:
      return rows.map((row) => (row.kind === 'good' ? row : { ...row, kind: 'good' as const }));
  }
}

function runOf(random: Random, rows: RowPlan[], run: number, user: UserTraits): RunPlan {
  const isRough = random.chance(0.75);
  const maybe = (probability: number) => isRough && random.chance(probability);
  // A folder that can't be synced is left alone: then a power cut may still take the results away.
  const diskFault = maybe(0.12)
    ? {
        step: stepOf(random),
        code: random.pick(['ENOSPC', 'EIO'] as const),
        stays: random.chance(0.5),
      }
    : undefined;
  return {
    pauseMs: random.pick([1_000, 60_000, HOUR_MS, 25 * HOUR_MS]),
    rows,
    dialect: undefined,
    encoding: undefined,
    faults: isRough ? faultsOf(random) : [],
    killAt: maybe(0.45)
      ? { step: stepOf(random), isAfter: random.chance(0.5), isPowerCut: random.chance(0.4) }
      : undefined,
    losesPowerAfter: diskFault === undefined && random.chance(0.15),
    diskFault,
    stop: maybe(0.1)
      ? {
          softMs: random.below(2_000),
          hardMs: random.chance(0.4) ? random.below(3_000) : undefined,
        }
      : undefined,
    restartsMs: maybe(0.12) ? [random.below(3_000), random.below(60_000)] : [],
    clockJump: maybe(0.06)
      ? { atMs: random.below(1_000), byMs: random.between(-48, 48) * HOUR_MS }
      : undefined,
    key: maybe(0.12) ? random.pick(['rotated', 'revoked', 'forbidden'] as const) : 'same',
    isLenient: false,
    losesJournal: false,
    losses: [],
    copiesRows: false,
    onSimilar: undefined,
    links: maybe(0.1) ? random.between(1, rows.length + 2) : undefined,
    othersLinks: maybe(0.08) ? random.between(1, 5) : 0,
    secondMs: !user.fromStdin && maybe(0.08) ? random.below(200) : undefined,
    editMs: maybe(0.05) ? random.below(300) : undefined,
    onUnknown: maybe(0.2) ? random.pick(['stop', 'retry', 'skip'] as const) : undefined,
    dryRun: !user.fromStdin && maybe(0.05),
    restart: run > 0 && !user.inPlace && maybe(0.03),
    limit: maybe(0.06) ? random.between(1, 5) : undefined,
  };
}

/** Early steps and late ones: half of the runs have fewer than a hundred. */
function stepOf(random: Random): number {
  return random.chance(0.7) ? random.between(1, 90) : random.between(1, 250);
}

function faultsOf(random: Random): NetworkFault[] {
  const isStorm = random.chance(0.08);
  return Array.from({ length: random.below(4) }, () => ({
    request: random.between(1, 8),
    lasts: isStorm ? random.between(3, 30) : random.chance(0.2) ? random.between(1, 4) : 0,
    kind: random.pick(FAULT_KINDS),
    form: random.below(1_000),
  }));
}
