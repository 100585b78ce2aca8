import { Random } from '../kernel/random.ts';
import { REDIRECT_CELLS, TAG_CELLS } from './files.ts';
import {
  type CommandTraits,
  type Dialect,
  ENCODINGS,
  FOREIGN_KEYS,
  OWN_KEYS,
  type RowPlan,
  type RunPlan,
  type Scenario,
} from './scenario.ts';

const HOUR_MS = 3_600_000;

/** None is the default one. */
const DOMAINS = ['', 'dom-1', 'dom-2'] as const;

/** The form of an odd response that lacks its n-th result. */
const lacksResult = (n: number) => 3 + 5 * n;

/** The form of a 429 that asks for a wait of 40,000 seconds. */
const WAIT_11_HOURS = 11;

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
  if (random.chance(0.15) && isTable) changeRules(scenario, random);
  if (random.chance(0.15)) waitForLong(scenario, random);
  if (random.chance(0.08) && isScripted) slowJobs(scenario, random);
  for (const { stop } of runs) {
    if (stop !== undefined && random.chance(0.3)) stop.softMs = random.below(150_000);
  }
  if (random.chance(0.15) && !user.fromStdin) {
    user.namesResults = !user.inPlace && random.chance(0.6);
    user.keepsResults = true;
    for (const run of runs.slice(1)) run.losesJournal = random.chance(0.5);
    // A journal that is begun anew is another one than the one that is thrown away.
    for (const run of runs) run.restart = false;
  }
  // A domain means nothing beside a short link of another service.
  if (random.chance(0.4) && user.format === 'jsonl' && !user.hasDomains) {
    const keys = user.inPlace ? OWN_KEYS : [...OWN_KEYS, ...FOREIGN_KEYS];
    const withKeys = (row: RowPlan, own: Random) =>
      own.chance(0.2) ? row : { ...row, keys: own.pick(keys) };
    changeRows(scenario, withKeys, 1);
  }
  // From standard input it would be another input, of which nothing is known.
  if (random.chance(0.25) && user.format === 'csv' && !user.fromStdin) {
    for (const run of runs) if (random.chance(0.7)) run.dialect = dialectOf(random);
  }
  changeDisk(scenario, random);
  changeTexts(scenario, new Random(seed, 8));
  killAtTheEnd(scenario, new Random(seed, 9));
  if (!user.fromStdin) user.command = commandOf(new Random(seed, 6));
}

/** Texts that are no plain words, and what a link has beside its title. */
function changeTexts(scenario: Scenario, random: Random): void {
  const { user, runs } = scenario;
  const isTable = user.format !== 'urls';
  if (random.chance(0.25))
    changeRows(scenario, (row) => ({ ...row, isOdd: isTable || row.url % 3 === 0 }));
  if (random.chance(0.2) && isTable) {
    user.hasTags = true;
    const withTags = (row: RowPlan, own: Random) => ({
      ...row,
      tags: own.below(TAG_CELLS.length),
      // It means nothing beside a short link of another service, as a domain does.
      redirect: row.keys === 'a short link' ? 0 : own.below(REDIRECT_CELLS.length),
    });
    changeRows(scenario, withTags, 3);
  }
  // What an import writes into its own input is UTF-8.
  if (random.chance(0.15) && !user.inPlace && !user.fromStdin) {
    for (const run of runs) if (random.chance(0.7)) run.encoding = random.pick(ENCODINGS);
  }
  if (!random.chance(0.1)) return;
  user.defaults = random.pick([{ tags: ['usual', 'ü'] }, { redirect_type: 307 }, {}]);
  user.addTags = random.chance(0.5) ? ['all', 'a'] : undefined;
}

/** One of eight users is looked at from the command line on, which takes as long as the import itself. */
function commandOf(random: Random): CommandTraits | undefined {
  if (!random.chance(1 / 8)) return undefined;
  return {
    isJson: random.chance(0.4),
    isQuiet: random.chance(0.15),
    isVerbose: random.chance(0.15),
    isColoured: random.chance(0.3),
    hasSummary: random.chance(0.3),
    hasConfig: random.chance(0.3),
    isOpen: random.chance(0.3),
  };
}

/** A disk, and a system, of the less common kinds. */
function changeDisk({ user, runs }: Scenario, random: Random): void {
  user.readsShort = random.chance(0.2);
  if (random.chance(user.inPlace ? 0.4 : 0.05) && !user.fromStdin) {
    user.mounted = random.pick(['EBUSY', 'EXDEV'] as const);
  }
  for (const { diskFault } of runs) {
    if (diskFault === undefined || random.chance(0.5)) continue;
    diskFault.code = random.pick(['EIO', 'EIO', 'EIO', 'EMFILE'] as const);
    if (diskFault.code === 'EIO') {
      diskFault.only = random.pick(['fsync', 'commit kept', 'commit kept unsynced'] as const);
    }
  }
}

function dialectOf(random: Random): Dialect {
  return {
    delimiter: random.pick([',', ';', '\t'] as const),
    lineEnd: random.pick(['\n', '\r\n'] as const),
    hasMark: random.chance(0.5),
    urlName: random.pick(['url', 'Long URL'] as const),
    isReversed: random.chance(0.5),
    hasNotes: random.chance(0.5),
  };
}

/**
 * Changes the n-th row with each URL in the same way in every version of the file.
 *
 * @param salts - for numbers that no other change draws
 */
export function changeRows(
  { seed, runs }: Scenario,
  change: (row: RowPlan, random: Random) => RowPlan,
  ...salts: readonly number[]
): void {
  const versions = new Map<readonly RowPlan[], RowPlan[]>();
  for (const run of runs) {
    const seen = new Map<number, number>();
    const rows =
      versions.get(run.rows) ??
      run.rows.map((row) => {
        const count = seen.get(row.url) ?? 0;
        seen.set(row.url, count + 1);
        return change(row, new Random(seed, row.url, count, ...salts));
      });
    versions.set(run.rows, rows);
    run.rows = rows;
  }
}

/** Where results are missing, those of several domains must not be mixed up, nor by a run that continues. */
function loseResults({ service, runs }: Scenario, random: Random): void {
  if (random.chance(0.3)) service.failsJobs = 'half-way';
  if (random.chance(0.5)) service.syncLinks = 1;
  for (const run of runs) {
    const [request, form] = [random.between(1, 5), lacksResult(random.below(20))];
    if (random.chance(0.4)) run.faults.push({ request, lasts: 0, kind: 'odd', form });
    if (random.chance(0.3)) run.killAt = killedInBetween(random);
  }
}

/** Waits that are longer than a service knows a key: a lost request can't be sent again after them. */
function waitForLong({ user, service, runs }: Scenario, random: Random): void {
  user.maxWaitMs = 26 * HOUR_MS;
  user.idempotency ||= service.hasIdempotency && random.chance(0.7);
  for (const [index, run] of runs.entries()) {
    const lost = random.pick(['lost after', 'silent after'] as const);
    // The response to a request is lost, however often it is sent; the next run begins with it.
    const [kind, request] = index % 2 === 0 ? [lost, random.between(1, 3)] : (['429', 1] as const);
    const lasts = random.between(2, 8);
    if (random.chance(0.6)) run.faults.unshift({ request, lasts, kind, form: WAIT_11_HOURS });
  }
}

/** Jobs that take longer than a program waits for them, and may be gone when the next one looks, or their first results. */
function slowJobs({ seed, service, runs }: Scenario, random: Random): void {
  service.msPerLink = HOUR_MS / random.between(2, 8);
  service.syncLinks = 1;
  service.losesJobs = !service.hasIdempotency;
  // Where no word says that a job is done, the client would wait for the results for ever.
  const saysDone = /^completed$/i.test(service.jobWords[1]) && service.shape !== 2;
  service.forgetsResults = saysDone && new Random(seed, 10).chance(0.7);
  for (const run of runs) if (random.chance(0.5)) run.restartsMs = [random.below(200)];
}

/** At a step between the first request and the record of its response, most likely. */
function killedInBetween(random: Random): RunPlan['killAt'] {
  return { step: random.between(20, 70), isAfter: random.chance(0.5), isPowerCut: false };
}

/** Just before or after the few operations that put results in place: most runs have a hundred others before. */
function killAtTheEnd({ user, runs }: Scenario, random: Random): void {
  const isMounted = user.mounted !== undefined;
  if (!random.chance(isMounted ? 0.4 : 0.1)) return;
  for (const [index, run] of runs.entries()) {
    if (random.chance(0.5)) continue;
    const only = random.pick(['fsync', 'ftruncate', 'rename', 'rm'] as const);
    const [step, isAfter] = [random.between(1, only === 'fsync' ? 4 : 2), random.chance(0.5)];
    run.killAt = { step, only, isAfter, isPowerCut: random.chance(0.7) };
    // A file that was cut is restored by the next run, unless somebody edits it before.
    const next = isMounted && random.chance(0.7) ? runs[index + 1] : undefined;
    const { rows, dialect, encoding } = run;
    if (next !== undefined) Object.assign(next, { rows, dialect, encoding });
  }
}

/** Where the rules change, a batch of which links were refused must not be sent again with them, nor without the others. */
function changeRules(scenario: Scenario, random: Random): void {
  const { service, user, runs } = scenario;
  changeRows(scenario, maybeRefused);
  user.idempotency ||= service.hasIdempotency && random.chance(0.7);
  if (service.kind === 'scripted' && random.chance(0.7)) {
    service.namesBadEntries = true;
    service.refusesSingly = false;
  }
  if (random.chance(0.5)) user.onUnknown = random.pick(['stop', 'skip'] as const);
  for (const [index, run] of runs.entries()) {
    run.isLenient = random.chance(index === 0 ? 0.2 : 0.6);
    // The first requests ask for the usage, and get the refusal.
    const request = random.between(2, 4);
    const kind = random.pick(['lost after', 'silent after'] as const);
    if (random.chance(0.4)) run.faults.push({ request, lasts: 8, kind, form: 0 });
    if (random.chance(0.4)) run.killAt = killedInBetween(random);
  }
}

function withDomain(row: RowPlan, random: Random): RowPlan {
  const domain = random.pick(DOMAINS);
  return domain === '' ? row : { ...row, domain };
}

export function maybeRefused(row: RowPlan, random: Random): RowPlan {
  return row.kind === 'good' && random.chance(0.2) ? { ...row, kind: 'refused' } : row;
}
