import type { ImportSettings, ImportSummary } from '../../../cli/src/import/types.ts';
import type { MadeLink } from '../../../sdk/test/scripted-service/service.ts';
import type { Ended } from '../program.ts';
import { contentOf } from '../scenario/files.ts';
import type { RunPlan, UserTraits } from '../scenario/scenario.ts';
import type { Exchange } from '../world/network.ts';
import { isExplained, refusalOf } from './end-rules.ts';
import { Counts, isCreate, pairOfLink, pairOfRow } from './ledger.ts';
import type { ReportedRow } from './result-rules.ts';

interface SummaryToCheck {
  summary: ImportSummary;
  settings: ImportSettings;
  plan: RunPlan;
  user: UserTraits;
  events: Ended['events'];
  /** Requests of this program. */
  own: readonly Exchange[];
  exitCode: number;
  /** Links that the journal has known for certain since before the run; undefined where some are in doubt. */
  before: readonly MadeLink[] | undefined;
  /** Links that this run's requests have made. */
  madeNow: number;
  /** Whether a request may have been sent again without the service knowing it. */
  mayRepeat: boolean;
  /** Whether the journal had batches that are not settled when the run began. */
  hadBatches: boolean;
}

/** Checks the numbers, the forecast and the exit code of a run, whether or not it has written results. */
export function checkSummary(check: SummaryToCheck): void {
  const { summary, settings, plan, own, user } = check;
  const { created, existing, rejected, failed, unknown, unsent, rows, requests } = summary;
  const { stopped } = summary;
  if (stopped?.reason !== 'interrupted') {
    const sum = created + existing + rejected + failed + unknown + unsent;
    if (rows !== plan.rows.length || sum !== rows)
      throw new Error(`${plan.rows.length} rows are summed up as ${JSON.stringify(summary)}`);
    const invalid = plan.rows.filter(({ kind }) => kind === 'invalid').length;
    if (rejected !== invalid)
      throw new Error(`${rejected} of ${invalid} invalid rows are rejected`);
  }
  // The command leaves out those that read the usage, which count against no quota.
  const counted = user.command && own.filter(({ path }) => !path.endsWith('/usage'));
  const { length } = counted ?? own;
  if (requests !== length) throw new Error(`the summary says ${requests} requests of ${length}`);
  if (settings.maxRejects === 0 && rejected > 0 && own.some(isCreate))
    throw new Error('links are sent although rows are rejected');
  if (settings.limit !== undefined && !check.mayRepeat && check.madeNow > settings.limit)
    throw new Error(`${check.madeNow} links are made with --limit ${settings.limit}`);
  // Where a batch was lost and sent again, there may be more links, but no more rows have one.
  if (settings.limit !== undefined && !check.hadBatches && created > settings.limit)
    throw new Error(`${created} rows are created with --limit ${settings.limit}`);
  checkExitCode(check);
  checkForecast(check);
  checkCompared(check);
}

const HOPELESS = 20;

/** Of each exit code, what a run must have seen. */
function checkExitCode({ summary, plan, own, exitCode }: SummaryToCheck): void {
  const { rejected, failed, unknown, unsent, stopped } = summary;
  const left = summary.dryRun || plan.limit !== undefined ? 0 : unsent;
  const isRefused = (words: RegExp, ...statuses: number[]) =>
    own.some(({ received }) => {
      return received && statuses.includes(received.status) && words.test(received.body);
    });
  const isRefusal = refusalOf({ summary, error: undefined }) !== undefined;
  if (isRefusal && (exitCode !== 2 || own.some(isCreate)))
    throw new Error(`exit code ${exitCode} after a refusal: ${stopped?.message}`);
  // A service that refuses this many single links with one message is taken to refuse all.
  const isHopeless = failed >= HOPELESS && isRefused(/(?:)/, 400, 413);
  const isRight: Readonly<Record<number, boolean | undefined>> = {
    0: stopped === undefined && rejected + failed + unknown + left === 0,
    1: stopped !== undefined,
    2:
      stopped !== undefined &&
      (rejected > 0 || isRefusal || isHopeless || isExplained(stopped.error)),
    3: stopped === undefined && rejected + failed > 0 && unknown + left === 0,
    4: isRefused(/(?:)/, 401, 403),
    5: isRefused(/upgrade/, 403) || isRefused(/"links"/, 200),
    6: isRefused(/(?:)/, 429) || own.some(({ received }) => received?.headers['ratelimit']),
    7: unknown > 0,
    130: plan.stop !== undefined,
  };
  if (isRight[exitCode] !== true)
    throw new Error(`exit code ${exitCode} after ${JSON.stringify(summary)}`);
}

/** What will be sent is what is new, as far as `--limit` and the plan allow. */
function checkForecast({ summary, settings, own, user }: SummaryToCheck): void {
  const { forecast } = summary;
  if (forecast === undefined) return;
  // A response that can't be read is asked for again.
  const usage = own.findLast(({ path, received }) => path.endsWith('/usage') && received);
  const room = roomIn(usage?.received?.body ?? '');
  const news = forecast.links + forecast.unsent;
  const links = Math.min(news, settings.limit ?? news, room ?? news);
  const size = user.batchSize === 'auto' ? 10_000 : user.batchSize;
  const isRight =
    forecast.links === links &&
    forecast.room === room &&
    forecast.batchSize <= size &&
    forecast.requests >= Math.ceil(links / forecast.batchSize) &&
    (!summary.dryRun || news === summary.unsent);
  if (!isRight) throw new Error(`the forecast of ${summary.unsent} is ${JSON.stringify(forecast)}`);
}

/** Links that the plan has room for, by what the usage says. */
function roomIn(body: string): number | undefined {
  try {
    const { used, limit } =
      (JSON.parse(body) as { links?: Record<string, number | null> }).links ?? {};
    return typeof limit === 'number' ? Math.max(0, limit - (used ?? 0)) : undefined;
  } catch {
    return undefined;
  }
}

/** What is said to exist before anything is sent: known exactly where no link is in doubt. */
function checkCompared({ events, before, plan, user, summary, own }: SummaryToCheck): void {
  const compared = events.find((event) => event.type === 'compared');
  // Rows of a file that is filled in place name their links themselves, and not only by target and title.
  if (compared !== undefined && compared.changed > compared.existing)
    throw new Error(`${compared.changed} of ${compared.existing} existing rows have changed`);
  if (compared === undefined || before === undefined || user.inPlace || user.importsResults) return;
  const [rows, sameRows] = [new Counts(), new Counts()];
  for (const row of plan.rows) {
    if (row.kind === 'invalid') continue;
    const pair = pairOfRow(row, user);
    rows.add(pair);
    sameRows.add(`${pair}\n${contentOf(row, user)}`);
  }
  const [links, sameLinks] = [new Counts(), new Counts()];
  for (const link of before) {
    links.add(pairOfLink(link));
    sameLinks.add(`${pairOfLink(link)}\n${link.content}`);
  }
  const existing = rows.shared(links);
  const expected = {
    existing,
    changed: existing - sameRows.shared(sameLinks),
    gone: before.length - existing,
  };
  const said = { existing: compared.existing, changed: compared.changed, gone: compared.gone };
  if (JSON.stringify(said) !== JSON.stringify(expected)) {
    throw new Error(`compared as ${JSON.stringify(said)}, and it is ${JSON.stringify(expected)}`);
  }
  if (own.some(isCreate) || summary.stopped?.reason === 'interrupted') return;
  if (summary.changed !== expected.changed || summary.gone !== expected.gone)
    throw new Error(`the summary says ${summary.changed} changed, ${summary.gone} gone`);
}

/** Checks the summary against the results that it speaks of. */
export function checkAgreement(
  reported: readonly ReportedRow[],
  summary: ImportSummary,
  { onUnknown, limit }: ImportSettings,
  { wasKnown, isNew }: Record<'wasKnown' | 'isNew', (link: MadeLink) => boolean>,
): void {
  const { created, existing, rejected, failed, unknown, unsent, stopped } = summary;
  const said = { created: created + existing, rejected, failed, unknown, unsent };
  const tally = { created: 0, rejected: 0, failed: 0, unknown: 0, unsent: 0 };
  const links: MadeLink[] = [];
  for (const { status, link } of reported) {
    tally[status] += 1;
    if (link !== undefined) links.push(link);
  }
  if (JSON.stringify(said) !== JSON.stringify(tally)) {
    throw new Error(
      `the summary says ${JSON.stringify(said)}, the results ${JSON.stringify(tally)}`,
    );
  }
  // A link that was in doubt may count as either.
  const [known, fresh] = [links.filter(wasKnown).length, links.filter(isNew).length];
  if (existing < known || created < fresh) {
    throw new Error(
      `${created} created and ${existing} existing, of ${fresh} that are new and ${known} that were known`,
    );
  }
  if (stopped !== undefined) return;
  if (unsent > 0 && limit === undefined)
    throw new Error('rows are left although nothing stopped the run');
  if (unknown > 0 && onUnknown !== 'skip') throw new Error('unknown rows do not stop the run');
}
