import { stat } from 'node:fs/promises';
import type { Usage } from '@shortlink/sdk';
import { InputError, inputError, type Row } from '@shortlink/tables/basics';
import { plural } from '../../format.ts';
import { type Ask, askService, decideSimilar } from '../check/ask-service.ts';
import { filesBeside, readBeside, renamedHint } from '../check/beside.ts';
import type { Checked, ImportSource } from '../check/check-input.ts';
import { announce } from '../check/compare-rows.ts';
import { planSending, retrieveUsage } from '../check/forecast.ts';
import { refuseUnknown } from '../check/named-links.ts';
import type { Comparison } from '../check/read-evidence.ts';
import { wasCut } from '../journal/database.ts';
import type { Journal } from '../journal/journal.ts';
import { ownLink } from '../map/result-columns.ts';
import { type Forecast, type ImportDeps, type ImportSettings, NO_SERVICE } from '../types.ts';
import type { SentBatch } from './batch-recorder.ts';
import { type SendResult, sendRows } from './send-rows.ts';
import { settleOpenBatches } from './settle-open.ts';

/** A batch that fails three times would fail again. */
const ROUNDS = 3;

export interface SendNewRows extends Ask {
  source: ImportSource;
  checked: Checked;
  found: Comparison;
}

/** What is known of the rows when sending has ended. */
export interface Sent extends Pick<ServiceTraits, 'canAsk'> {
  /** The counts are of rows, except `gone`, and `batches` that got a response. */
  counts: ReturnType<typeof countsOf> & { batches: number };
  found: Comparison;
  /** The batches of new rows of the last round, in the order of the rows. */
  batches: readonly SentBatch[];
  forecast: Forecast | undefined;
  failure: { error: unknown } | undefined;
}

/** What the service is like, as far as it reports that. */
export interface ServiceTraits {
  usage: Usage | undefined;
  /** Whether it can be asked which links exist, and has any. */
  canAsk: boolean;
  idempotency: boolean;
}

/** Where nothing is to be created, nobody needs the service: a run waits so long for it at most, and asks only once whose links files name. */
const MAX_ASK_MS = 2_000;
const asked = new WeakSet<ImportDeps['client']>();

/** Some of the links that files name, in lists: of each the service has to know one. What the journal knows is one list. */
function linksToProve({ evidence, journal, settings: { baseUrl, restart } }: Ask) {
  if (restart || baseUrl === NO_SERVICE) return [];
  if (!journal.hasLinks()) return evidence.named.samplesFor(baseUrl);
  const links = journal.someUrls().map((short_url) => ({ short_url, name: journal.path }));
  return links.length > 0 ? [links] : [];
}

const NO_TRAITS: ServiceTraits = { usage: undefined, canAsk: false, idempotency: false };

/**
 * What the service is like: asked where rows may be sent to it, or, if it can be reached, where it may say whose links are. Throws an
 * InputError where it knows none of those that files name.
 */
export async function traitsIfNeeded(ask: Ask, found: Comparison): Promise<ServiceTraits> {
  const { settings, deps } = ask;
  const isOpen = found.new + found.unknown > 0;
  const unproved = isOpen || !asked.has(deps.client) ? linksToProve(ask) : [];
  if (!isOpen && unproved.length === 0 && !(settings.inPlace && found.hasFormer)) return NO_TRAITS;
  if (unproved.length > 0) asked.add(deps.client);
  const stops = [deps.signal, deps.stopSignal, AbortSignal.timeout(MAX_ASK_MS)];
  const options = isOpen ? {} : { maxRetries: 0, signal: AbortSignal.any(stops) };
  try {
    const usage = await retrieveUsage(deps, options);
    const lists = (feature: string) => usage?.features?.includes(feature) === true;
    const { idempotency = lists('idempotency'), restart } = settings;
    const canAsk = lists('lookup') && !restart;
    if (canAsk) await refuseUnknown(unproved, settings.baseUrl, deps, options);
    return { usage, canAsk, idempotency };
  } catch (error) {
    if (isOpen || isRefusal(error)) throw error;
    return NO_TRAITS;
  }
}

/** Finds out from the service, or else from files beside the input, which of the rows that seem to be new have links. */
export async function findOut(
  ask: SendNewRows,
  { canAsk, usage }: ServiceTraits,
  found: Comparison,
): Promise<Comparison> {
  const { journal, settings, deps } = ask;
  const isOpen = found.new + found.unknown > 0;
  // Where a service leaves counts out, they are 0 here. Each account has a key, by which it is asked.
  const isEmpty = usage?.links.used === 0 && usage.api_keys.used > 0 && found.unknown === 0;
  if (canAsk && !isEmpty && (isOpen || (settings.inPlace && found.hasFormer))) {
    await askService(ask);
    return await decideSimilar(ask, 'Only the service knows of them');
  }
  const isAsked = isOpen && !canAsk && !settings.restart && settings.onSimilar !== 'create';
  if (!isAsked) return found;
  const paths = await filesBeside(settings, journal, deps);
  const names = await readBeside(paths, ask);
  refuseMoved(ask);
  const how = `${names.join(', ')} names them`;
  const hint = ` Or name the results that count: --known FILE.${await renamedHint(names, settings.file)}`;
  const after = paths.length === 0 ? found : await decideSimilar(ask, how, hint);
  await refuseCut(after, journal, settings);
  return after;
}

/** Nothing but a file of 0 bytes has known the links of these rows, if there are any. */
async function refuseCut(
  { existing, unknown }: Comparison,
  journal: Journal,
  { output, usualNames }: ImportSettings,
) {
  if (existing + unknown > 0 || !journal.isEmpty) return;
  const results = usualNames?.output ? await stat(output).catch(() => undefined) : undefined;
  const cut = wasCut(journal.db) ? journal.path : results?.size === 0 && output;
  if (!cut) return;
  throw inputError(
    `${cut} has lost its content, as on a full disk, and with it the links that it has named`,
    'Restore it from a copy. If these rows were never imported, remove it, or run with --on-similar create.',
  );
}

function refuseMoved({ evidence, source: { input } }: SendNewRows): void {
  const { lines, first } = evidence.moved();
  if (lines === 0) return;
  throw inputError(
    `${plural(lines, 'row of', 'rows of')} ${input.name} ${lines === 1 ? 'asks' : 'ask'} for links that other rows name, as if a column had been sorted by itself (${first}), so nothing was sent`,
    'Put what belongs together into one row again. To create other links: --on-similar create.',
  );
}

/**
 * Decides what earlier requests have created, then sends the new rows: up to three times where batches without a response may be sent again,
 * or the service can be asked.
 *
 * @throws InputError where links could be those of rows or others, and nobody has decided: no new row was sent
 */
export async function sendNewRows(input: SendNewRows): Promise<Sent> {
  const { evidence, journal, settings, deps } = input;
  let { found } = input;
  let service = NO_TRAITS;
  let forecast: Forecast | undefined;
  let result: SendResult | undefined;
  let failure: Sent['failure'];
  let batches = 0;
  let unknownBefore = 0;
  const isStopped = () => failure !== undefined || deps.signal.aborted || deps.stopSignal.aborted;
  for (let round = 1; ; round += 1) {
    const isFirst = round === 1;
    result = undefined;
    try {
      if (isFirst) service = await traitsIfNeeded(input, found);
      // Where the service can be asked, nothing is sent again that it may have carried out.
      const onUnknown = service.canAsk ? 'skip' : settings.onUnknown;
      const settled = await settleOpenBatches({
        ...input,
        ...service,
        settings: { ...settings, onUnknown },
      });
      failure = settled.failure;
      if (settled.comparison !== undefined) found = settled.comparison;
      if (!isStopped() && isFirst) found = await findOut(input, service, found);
      else if (!isStopped() && service.canAsk) {
        // Links that other rows could have are those of this run itself by now. A look-up that fails may have taken the rows apart.
        await askAgain(input).finally(async () => {
          if (!deps.signal.aborted) found = await evidence.compare();
        });
      }
    } catch (error) {
      if (isFirst && isRefusal(error)) throw error;
      if (![deps.signal.reason, deps.stopSignal.reason].includes(error)) failure = { error };
    }
    if (isFirst) {
      const mayAdopt = evidence.knowsMore(settings.inPlace);
      // Rows may have links that were found before a failure.
      if (mayAdopt && isStopped()) await evidence.compare();
      if (mayAdopt) found = await evidence.adopt(settings.inPlace);
      announce(found, deps);
      unknownBefore = found.unknown;
    }
    // What this run itself has left open could be sent again under its key: the other rows need not wait.
    const mustDecide = isFirst && settings.onUnknown === 'stop' && found.unknown > 0;
    if (found.new === 0 || mustDecide || isStopped()) break;
    forecast ??= planSending(found.new, service.usage, settings, deps);
    // What the plan or `--limit` keeps back is kept back in every round.
    const links = found.new - forecast.unsent;
    if (links <= 0) break;
    deps.onEvent({ type: 'sending', existing: found.existing, links });
    const plan = { links, batchSize: forecast.batchSize, idempotency: service.idempotency };
    result = await sendRows({ ...input, ...plan, skips: hasLinkOrReject({ ...input, found }) });
    failure = result.failure;
    batches += result.counts.batches;
    const isOpen = result.batches.some(({ id }) => {
      const batch = journal.batch(id);
      return batch.isOpen || (service.canAsk && batch.unanswered > 0);
    });
    const mayRepeat = settings.onUnknown === 'retry' || service.idempotency || service.canAsk;
    if (!isOpen || !mayRepeat || round === ROUNDS || isStopped()) break;
    found = await evidence.compare();
  }
  const counts = { ...countsOf(input, found, result, unknownBefore), batches };
  const { canAsk } = service;
  return { counts, found, batches: result?.batches ?? [], forecast, failure, canAsk };
}

/** Once requests of this run are in doubt, links that a part of the look-up has found are theirs. */
async function askAgain(ask: Ask): Promise<void> {
  await askService(ask).catch((error: unknown) => {
    ask.evidence.forgetFound();
    throw error;
  });
}

function hasLinkOrReject({ source, checked, found }: SendNewRows) {
  return (row: Row, number: number): boolean =>
    checked.rejectedRows.has(number) ||
    found.matched.has(number) ||
    (checked.claims > 0 &&
      ownLink(row, source.layout) !== undefined &&
      !found.disowned.has(number));
}

/** Whether the user has to decide something before anything is sent. */
function isRefusal(error: unknown): boolean {
  return error instanceof InputError && error.code !== 'system';
}

/** Every row has exactly one of these outcomes, or is rejected. */
function countsOf(
  { checked }: SendNewRows,
  found: Comparison,
  result: SendResult | undefined,
  unknownBefore: number,
) {
  const { created: sent = 0, failed = 0, unknown = 0 } = result?.counts ?? {};
  const have = found.existing + sent;
  const created = found.created + sent;
  const doubtful = found.unknown + unknown;
  const unsent = checked.rows - checked.rejected - have - doubtful - failed;
  return {
    new: created + failed + unsent + Math.max(0, doubtful - unknownBefore),
    created,
    existing: have - created,
    failed,
    unknown: doubtful,
    unsent,
    changed: found.changed,
    gone: found.gone,
  };
}
