import type { RowPlan, RunPlan, Scenario } from './scenario.ts';

/** Plays that a shrinking may take. */
const MAX_PLAYS = 3_000;

/** What a run is where nothing happens to it. */
const QUIET = {
  dialect: undefined,
  encoding: undefined,
  killAt: undefined,
  losesPowerAfter: false,
  diskFault: undefined,
  stop: undefined,
  restartsMs: [],
  clockJump: undefined,
  key: 'same',
  isLenient: false,
  losesJournal: false,
  losses: [],
  copiesRows: false,
  onSimilar: undefined,
  links: undefined,
  othersLinks: 0,
  secondMs: undefined,
  editMs: undefined,
  onUnknown: undefined,
  dryRun: false,
  restart: false,
  limit: undefined,
} as const satisfies Partial<RunPlan>;

/** The last run once more, under the rules that the service has by then, and nothing happens to it. */
export function quietly(plan: RunPlan): RunPlan {
  const { isLenient } = plan;
  return {
    ...plan,
    ...QUIET,
    rows: withoutFormer(plan.rows),
    isLenient,
    restartsMs: [],
    losses: [],
    pauseMs: 3_700_000,
    faults: [],
  };
}

/** The rows of a file once their cells are those of what is written in it now. */
export function withoutFormer(rows: RowPlan[]): RowPlan[] {
  if (rows.every(({ was }) => was === undefined)) return rows;
  return rows.map((row) => ({ ...row, was: undefined }));
}

/**
 * Leaves out runs, faults and rows for as long as the scenario still fails in the same way.
 *
 * @param fails - plays a scenario; the kind of its failure, undefined where it passes
 */
export async function shrink(
  scenario: Scenario,
  fails: (scenario: Scenario) => Promise<string | undefined>,
): Promise<Scenario> {
  const kind = await fails(scenario);
  let best = scenario;
  let plays = 0;
  for (let isSmaller = true; isSmaller; ) {
    isSmaller = false;
    for (const candidate of smaller(best)) {
      plays += 1;
      if (plays > MAX_PLAYS) return best;
      if ((await fails(candidate)) !== kind) continue;
      best = candidate;
      isSmaller = true;
      break;
    }
  }
  return best;
}

/** Scenarios with a part less, the largest parts first. */
function* smaller(scenario: Scenario): Generator<Scenario> {
  const { runs, user, service } = scenario;
  if (runs.length > 1) {
    for (const index of runs.keys()) yield { ...scenario, runs: runs.toSpliced(index, 1) };
  }
  const urls = [...new Set(runs.flatMap(({ rows }) => rows.map(({ url }) => url)))];
  for (let size = urls.length >> 1; size >= 1; size >>= 1) {
    for (let first = 0; first < urls.length; first += size) {
      const left = new Set(urls.toSpliced(first, size));
      const lessRows = runs.map((run) => ({
        ...run,
        rows: run.rows.filter(({ url }) => left.has(url)),
      }));
      if (lessRows.every(({ rows }) => rows.length > 0)) yield { ...scenario, runs: lessRows };
    }
  }
  for (const [index, run] of runs.entries()) {
    const withRun = (changed: RunPlan) => ({ ...scenario, runs: runs.with(index, changed) });
    for (const fault of run.faults.keys()) {
      yield withRun({ ...run, faults: run.faults.toSpliced(fault, 1) });
    }
    for (const loss of run.losses.keys()) {
      yield withRun({ ...run, losses: run.losses.toSpliced(loss, 1) });
    }
    for (const [name, quiet] of Object.entries(QUIET)) {
      const now = run[name as keyof typeof QUIET];
      if (JSON.stringify(now) !== JSON.stringify(quiet)) yield withRun({ ...run, [name]: quiet });
    }
    for (const row of run.rows.keys()) {
      if (run.rows.length > 1) yield withRun({ ...run, rows: run.rows.toSpliced(row, 1) });
    }
  }
  if (user.concurrency > 1) yield { ...scenario, user: { ...user, concurrency: 1 } };
  if (user.requestsPerMinute !== undefined) {
    yield { ...scenario, user: { ...user, requestsPerMinute: undefined } };
  }
  if (service.shape !== 0) yield { ...scenario, service: { ...service, shape: 0 } };
}
