import { withoutParts } from '../kernel/shrink.ts';
import type { RowPlan, RunPlan, Scenario, UserTraits } from './scenario.ts';

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

/** Scenarios with a part less, the largest parts first. */
export function* smaller(scenario: Scenario): Generator<Scenario> {
  const { runs, user, service } = scenario;
  const withRuns = (changed: RunPlan[]) => ({ ...scenario, runs: changed });
  for (const index of runs.keys()) if (runs.length > 1) yield withRuns(runs.toSpliced(index, 1));
  const urls = [...new Set(runs.flatMap(({ rows }) => rows.map(({ url }) => url)))];
  for (const left of withoutParts(urls)) {
    const isLeft = ({ url }: RowPlan) => left.includes(url);
    const lessRows = runs.map((run) => ({ ...run, rows: run.rows.filter(isLeft) }));
    if (lessRows.every(({ rows }) => rows.length > 0)) yield withRuns(lessRows);
  }
  for (const [index, run] of runs.entries()) {
    const withRun = (changed: Partial<RunPlan>) =>
      withRuns(runs.with(index, { ...run, ...changed }));
    for (const faults of withoutParts(run.faults)) yield withRun({ faults });
    for (const losses of withoutParts(run.losses)) yield withRun({ losses });
    for (const [name, quiet] of Object.entries(QUIET)) {
      const now = run[name as keyof typeof QUIET];
      if (JSON.stringify(now) !== JSON.stringify(quiet)) yield withRun({ [name]: quiet });
    }
    for (const rows of withoutParts(run.rows)) if (rows.length > 0) yield withRun({ rows });
  }
  const withUser = (changed: Partial<UserTraits>) => ({
    ...scenario,
    user: { ...user, ...changed },
  });
  if (user.command !== undefined) yield withUser({ command: undefined });
  if (user.concurrency > 1) yield withUser({ concurrency: 1 });
  if (user.requestsPerMinute !== undefined) yield withUser({ requestsPerMinute: undefined });
  if (service.shape !== 0) yield { ...scenario, service: { ...service, shape: 0 } };
}
