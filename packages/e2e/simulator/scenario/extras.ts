import { Random } from '../random.ts';
import type { RowPlan, Scenario } from './scenario.ts';

const HOUR_MS = 3_600_000;

/** None is the default one. */
const DOMAINS = ['', 'dom-1', 'dom-2'] as const;

/** The form of an odd response that lacks its n-th result. */
const lacksResult = (n: number) => 3 + 5 * n;

/**
 * Adds what only a few scenarios have. It is drawn from numbers of its own, so that the others stay as they were, with the failures that
 * their seeds are known for.
 */
export function addExtras(scenario: Scenario): void {
  const { seed, service, user, runs } = scenario;
  const random = new Random(seed, 5);
  const isScripted = service.kind === 'scripted';
  // A list of URLs has no other columns.
  const isTable = user.format !== 'urls';
  // Our own server knows no domains here. In another order, nobody can tell which of two results with one target is of which domain.
  user.hasDomains = random.chance(0.15) && isScripted && isTable && service.shape !== 3;
  if (user.hasDomains) {
    changeRows(scenario, withDomain);
    loseResults(scenario, random);
  }
  if (random.chance(0.1)) service.remarks = isScripted;
  if (random.chance(0.15)) {
    for (const run of runs) run.isLenient = random.chance(0.4);
    if (isTable) changeRows(scenario, maybeRefused);
  }
  // Longer than a service knows a key: a lost request can't be sent again then.
  if (random.chance(0.15)) user.maxWaitMs = 26 * HOUR_MS;
  for (const { stop } of runs) {
    if (stop !== undefined && random.chance(0.3)) stop.softMs = random.below(150_000);
  }
  if (random.chance(0.15) && !user.fromStdin) {
    user.namesResults = !user.inPlace && random.chance(0.6);
    for (const run of runs.slice(1)) run.losesJournal = random.chance(0.5);
    // A journal that is begun anew is another one than the one that is thrown away.
    for (const run of runs) run.restart = false;
  }
}

/** Changes the n-th row with each URL in the same way in every version of the file. */
function changeRows(
  { seed, runs }: Scenario,
  change: (row: RowPlan, random: Random) => RowPlan,
): void {
  const versions = new Map<readonly RowPlan[], RowPlan[]>();
  for (const run of runs) {
    const seen = new Map<number, number>();
    const rows =
      versions.get(run.rows) ??
      run.rows.map((row) => {
        const count = seen.get(row.url) ?? 0;
        seen.set(row.url, count + 1);
        return change(row, new Random(seed, row.url, count));
      });
    versions.set(run.rows, rows);
    run.rows = rows;
  }
}

/** Where results are missing, those of several domains must not be mixed up. */
function loseResults({ service, runs }: Scenario, random: Random): void {
  if (random.chance(0.3)) service.failsJobs = 'half-way';
  if (random.chance(0.3)) service.syncLinks = 1;
  for (const { faults } of runs) {
    const [request, form] = [random.between(1, 8), lacksResult(random.below(20))];
    if (random.chance(0.3)) faults.push({ request, lasts: 0, kind: 'odd', form });
  }
}

function withDomain(row: RowPlan, random: Random): RowPlan {
  const domain = random.pick(DOMAINS);
  return domain === '' ? row : { ...row, domain };
}

function maybeRefused(row: RowPlan, random: Random): RowPlan {
  return row.kind === 'good' && random.chance(0.2) ? { ...row, kind: 'refused' } : row;
}
