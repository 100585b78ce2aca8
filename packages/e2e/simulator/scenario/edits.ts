import { Random } from '../kernel/random.ts';
import { changeRows } from './extras.ts';
import { REDIRECT_CELLS, TAG_CELLS } from './files.ts';
import { editTargets, withoutForeignKeys } from './losses.ts';
import type { RowPlan, Scenario } from './scenario.ts';

/** For numbers that nothing else draws. */
const SALT = 25;

/**
 * Other results than those that most scenarios have, and other edits. They are drawn from numbers of their own, so that the rest stays as it
 * was.
 */
export function addEdits(scenario: Scenario): void {
  const { seed, user, runs } = scenario;
  const random = new Random(seed, SALT);
  if (user.fromStdin || user.format === 'urls') return;
  user.hasTable = user.format === 'jsonl' && !user.inPlace && random.chance(0.3);
  if (runs.length === 1) return;
  if (!user.inPlace && random.chance(0.1)) {
    user.importsResults = true;
    user.keepsResults = true;
    changeRows(scenario, withoutForeignKeys);
    for (const run of runs) {
      run.encoding = undefined;
      run.copiesRows = user.losesFiles && random.chance(0.4);
    }
    if (user.losesFiles) editTargets(scenario);
  }
  if (random.chance(0.1)) editCells(scenario, random);
}

/** Before one of the runs, tags and redirect types of some rows are edited. */
function editCells(scenario: Scenario, random: Random): void {
  const { seed, user, runs } = scenario;
  if (!user.hasTags) {
    user.hasTags = true;
    changeRows(scenario, (row) => ({ ...row, tags: 1, redirect: 0 }));
  }
  const first = random.between(1, runs.length - 1);
  const versions = new Map<readonly RowPlan[], RowPlan[]>();
  for (const run of runs.slice(first)) {
    const rows =
      versions.get(run.rows) ??
      run.rows.map((row, index) => {
        const own = new Random(seed, SALT, index);
        if (!own.chance(0.3)) return row;
        const redirect = row.keys === 'a short link' ? 0 : own.below(REDIRECT_CELLS.length);
        return own.chance(0.5)
          ? { ...row, redirect }
          : { ...row, tags: own.below(TAG_CELLS.length) };
      });
    versions.set(run.rows, rows);
    run.rows = rows;
  }
}
