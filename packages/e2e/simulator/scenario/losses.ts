import { Random } from '../kernel/random.ts';
import { changeRows, maybeRefused } from './extras.ts';
import {
  FOREIGN_KEYS,
  type Loss,
  type NetworkFault,
  type RowPlan,
  type RunPlan,
  type Scenario,
  type UserTraits,
} from './scenario.ts';
import { quietly, withoutFormer } from './shrink.ts';

const MINUTE_MS = 60_000;

type Chance = readonly [weight: number, of: Loss['of'], how: readonly Loss['how'][]];

/** What can happen to each file, and how often. */
const LOSSES: readonly Chance[] = [
  [9, 'journal', ['delete', 'delete', 'delete', 'cut', 'empty', 'rename', 'copy', 'restore']],
  [5, 'results', ['delete', 'delete', 'cut', 'empty', 'rename', 'copy', 'restore']],
  [6, 'input', ['delete', 'cut', 'rename', 'rename', 'copy', 'copy', 'restore']],
  [1, 'rejects', ['delete', 'cut', 'empty', 'restore']],
  [3, 'folder', ['delete', 'rename', 'copy', 'restore']],
  [3, 'machine', ['delete']],
];

/**
 * Loses files of a scenario between its runs. It is drawn from numbers of its own, so that the others stay as they were. From standard
 * input, every content is an import of its own.
 */
export function addLosses(scenario: Scenario): void {
  const { seed, user } = scenario;
  const random = new Random(seed, 7);
  user.onSimilar = random.pick(['reuse', 'create']);
  if (random.chance(0.06) && user.format !== 'urls' && !user.fromStdin)
    cutBatches(scenario, random);
  if (!random.chance(0.3) || user.fromStdin) return;
  loseFiles(scenario, random);
}

function loseFiles(scenario: Scenario, random: Random): void {
  const { service, user, runs } = scenario;
  user.losesFiles = true;
  user.keepsResults = true;
  user.namesResults = false;
  if (service.kind === 'scripted' && random.chance(0.4)) {
    service.hasLookup = true;
    service.hasUsage = true;
  }
  const [last] = runs.slice(-1);
  // What is lost after a run without any trouble is all that decides then.
  const more = runs.length === 1 ? random.between(1, 2) : random.below(2);
  for (let count = 0; count < more && last !== undefined; count += 1) runs.push(calm(last, random));
  // Rows that are equal, or equal but for their titles: what one of them has must not be taken for another one's.
  if (random.chance(0.4)) crowd(scenario, random);
  if (service.hasLookup && random.chance(0.25)) sendLate(scenario, random);
  for (const [index, run] of runs.entries()) {
    // A journal that is begun anew is another one than one that is lost.
    run.restart = false;
    run.losesJournal = false;
    run.copiesRows = user.inPlace && random.chance(0.4);
    const isLate = runs[index - 1]?.faults.some(({ kind }) => kind === 'slow') === true;
    if (index === 0 || !random.chance(isLate ? 0.3 : 0.75)) continue;
    const count = random.chance(0.3) ? 2 : 1;
    run.losses = Array.from({ length: count }, () => lossOf(random, index));
    // Of a request that arrives later still, nobody could know once its record is lost.
    run.pauseMs = Math.max(run.pauseMs, MINUTE_MS);
    if (random.chance(0.1)) run.onSimilar = random.pick(['reuse', 'create']);
  }
  if (user.inPlace) editTargets(scenario);
  if (service.hasLookup) askInParts(scenario, new Random(scenario.seed, 27));
}

/** A look-up of several requests, since one target has many links, ends at the second one. The next run has the same files, with edited titles. */
function askInParts({ runs }: Scenario, random: Random): void {
  const [asking, next] = runs.slice(-2);
  if (!random.chance(0.1) || asking === undefined || next === undefined) return;
  // Each request finds three links of a target at most.
  if (asking.rows.length > 60) return;
  const isMany = (index: number) => index % 2 === 0;
  asking.rows = asking.rows.map((row, index) => (isMany(index) ? { ...row, url: 0 } : row));
  const calmly = { ...quietly(asking), onSimilar: undefined };
  const machine = { of: 'machine', how: 'delete', kept: 0, since: 0 } as const;
  const fault = { request: 3, lasts: 30, kind: 'refused', form: 0 } as const;
  const titled = asking.rows.map((row, index) =>
    isMany(index) ? row : { ...row, title: random.below(3) },
  );
  runs.splice(-2, 2, calmly, { ...calmly, losses: [machine], faults: [fault] });
  runs.push({ ...calmly, rows: titled, onSimilar: 'create' });
}

/** Before one of the runs, other targets are written over some in the file, which keeps the cells beside them. */
export function editTargets({ seed, runs }: Scenario): void {
  const random = new Random(seed, 11);
  const first = random.between(1, runs.length);
  if (first >= runs.length || !random.chance(0.5)) return;
  const versions = new Map<readonly RowPlan[], RowPlan[]>();
  for (const run of runs.slice(first)) {
    const urls = run.rows.map(({ url }) => url);
    const rows =
      versions.get(run.rows) ??
      run.rows.map((row, index) => {
        const own = new Random(seed, 12, index);
        if (!own.chance(0.25)) return row;
        const url = own.chance(0.3) ? own.pick(urls) : 1_000 + index;
        return { ...row, url, was: row.url };
      });
    versions.set(run.rows, withoutFormer(rows));
    run.rows = rows;
  }
}

/** Requests that arrive when their sender is gone, and the next run has begun: a look-up finds nothing of them yet. */
function sendLate({ seed, service, user, runs }: Scenario, random: Random): void {
  service.hasIdempotency = service.kind === 'own';
  user.idempotency = false;
  for (const [index, run] of runs.slice(0, -1).entries()) {
    const next = runs[index + 1];
    if (next === undefined || !random.chance(0.6)) continue;
    const request = random.between(2, 4);
    run.faults = [{ request, lasts: random.between(0, 4), kind: 'slow', form: 0 }];
    run.stop = { softMs: random.between(100, 4_000), hardMs: random.below(1_000) };
    run.killAt = undefined;
    next.pauseMs = 1_000;
    refuseFirst(run, user, new Random(seed, 26, index));
  }
}

/** The request that arrives late was refused before, and is sent again as soon as the service wants it. */
function refuseFirst(run: RunPlan, user: UserTraits, random: Random): void {
  const [slow] = run.faults;
  if (slow === undefined || run.stop === undefined || !random.chance(0.4)) return;
  const seconds = random.pick([27, 41, 48]);
  user.maxWaitMs = Math.max(user.maxWaitMs, 2 * MINUTE_MS);
  run.stop.softMs += seconds * 1_000;
  const refused: NetworkFault = { ...slow, lasts: 0, kind: '429', form: seconds - 1 };
  run.faults = [refused, { ...slow, request: slow.request + 1 }];
}

/** The same rows once more, or with some titles edited, and nothing happens but the loss. */
function calm(plan: RunPlan, random: Random): RunPlan {
  const edits = random.chance(0.3);
  const rows = plan.rows.map((row) => {
    return edits && random.chance(0.3) ? { ...row, title: random.below(3) } : row;
  });
  const pauseMs = random.pick([1_000, 60_000, 3_600_000, 25 * 3_600_000]);
  return { ...quietly(plan), rows: edits ? rows : plan.rows, pauseMs };
}

function lossOf(random: Random, index: number): Loss {
  const total = LOSSES.reduce((sum, [weight]) => sum + weight, 0);
  let left = random.below(total);
  const [, of, how] = LOSSES.find(([weight]) => {
    left -= weight;
    return left < 0;
  }) ?? [0, 'journal' as const, ['delete' as const]];
  return { of, how: random.pick(how), kept: random.below(1_000), since: random.below(index) };
}

/** Fewer targets for as many rows, in every version of the file. */
function crowd(scenario: Scenario, random: Random): void {
  const targets = random.between(1, 4);
  changeRows(scenario, (row) => ({ ...row, url: row.url % targets }));
}

/**
 * Several rows of one target in a file that is filled in place, in batches that a bad entry, a quota or a job cuts: what the file says of
 * one row must not be taken for another.
 */
function cutBatches(scenario: Scenario, random: Random): void {
  const { service, user, runs } = scenario;
  user.inPlace = true;
  user.maxRejects = 'all';
  user.namesResults = false;
  user.batchSize = random.between(2, 6);
  user.onUnknown = random.pick(['stop', 'stop', 'skip'] as const);
  if (service.kind === 'scripted') {
    service.namesBadEntries = true;
    service.refusesSingly = false;
    service.syncLinks = random.between(1, 3);
    service.perMinute = random.between(2, 5);
  }
  service.msPerLink = random.pick([400, 4_000, 60_000]);
  user.maxWaitMs = 5_000;
  crowd(scenario, random);
  changeRows(scenario, withoutForeignKeys);
  changeRows(scenario, maybeRefused, 2);
  for (const run of runs) {
    run.restart = false;
    run.encoding = undefined;
    run.limit = random.chance(0.2) ? random.between(1, 4) : run.limit;
    if (random.chance(0.3)) run.stop = { softMs: random.below(3_000), hardMs: undefined };
  }
}

/** Where the import writes into the file, no short link of another service can stand. */
export function withoutForeignKeys(row: RowPlan): RowPlan {
  return FOREIGN_KEYS.some((keys) => keys === row.keys) ? { ...row, keys: undefined } : row;
}
