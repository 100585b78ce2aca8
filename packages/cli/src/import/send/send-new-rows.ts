import { addRows, type Checked, type Source } from '../check/check-input.ts';
import { type Found, foundOf } from '../check/compare-rows.ts';
import { type Comparison, ExistingLinks } from '../check/existing-links.ts';
import { planSending } from '../check/forecast.ts';
import type { Journal } from '../journal/journal.ts';
import { ownLink } from '../map/result-columns.ts';
import type { Forecast, ImportDeps, ImportSettings } from '../types.ts';
import type { SentBatch } from './batch-recorder.ts';
import { type SendResult, sendRows } from './send-rows.ts';
import { settleOpenBatches } from './settle-open.ts';

/** Rounds that may follow the first one to send again what got no response: a batch that fails three times would fail again. */
const MAX_REPEATS = 2;

/** What is known of the rows before the new ones are sent. */
export interface SendNewRows {
  source: Source;
  checked: Checked;
  found: Found;
  existing: ExistingLinks | undefined;
  journal: Journal;
  settings: ImportSettings;
  deps: ImportDeps;
}

/** What is known of every row when sending has ended. */
export interface Sent {
  counts: {
    created: number;
    existing: number;
    failed: number;
    unknown: number;
    unsent: number;
    changed: number;
    gone: number;
    /** Batches that got a response. */
    batches: number;
  };
  existing: ExistingLinks | undefined;
  comparison: Comparison | undefined;
  /** The batches of new rows of the last round, in the order of the rows. */
  batches: readonly SentBatch[];
  forecast: Forecast | undefined;
  failure: { error: unknown } | undefined;
}

/**
 * Decides what earlier requests have created, then sends the rows that are new. Where batches that got no response may be sent again,
 * it does both up to three times.
 */
export async function sendNewRows(input: SendNewRows): Promise<Sent> {
  const { source, checked, journal, settings, deps } = input;
  const mayRepeat = settings.onUnknown === 'retry' || settings.idempotency;
  let { existing, found } = input;
  let planned: Forecast | undefined;
  let result: SendResult | undefined;
  let failure: Sent['failure'];
  let needsNewKeys = settings.restart;
  let batches = 0;
  for (let repeats = 0; ; repeats += 1) {
    if (existing !== undefined) {
      const settled = await settleOpenBatches({ journal, existing, settings, deps });
      failure = settled.failure;
      needsNewKeys ||= settled.needsNewKeys;
      if (settled.comparison !== undefined) found = foundOf(checked, settled.comparison);
    }
    result = undefined;
    // What this run itself has left open is no reason to keep the other rows: it could be sent again under its key.
    const mustDecide = repeats === 0 && settings.onUnknown === 'stop' && found.unknown > 0;
    const isStopped = () => failure !== undefined || deps.signal.aborted || deps.stopSignal.aborted;
    if (found.new === 0 || mustDecide || isStopped()) break;
    try {
      planned ??= await planSending(found.new, settings, deps);
    } catch (error) {
      failure = { error };
      break;
    }
    // The plan or `--limit` keeps back some new rows. They are kept back in every round, not only in the first.
    const links = found.new - planned.left;
    if (links <= 0) break;
    const { comparison } = found;
    deps.onEvent({ type: 'sending', existing: found.existing, links });
    result = await sendRows({
      source,
      journal,
      settings,
      deps,
      links,
      known: [journal.knownLinks(), checked.ownHash, existing?.knownHash ?? 0],
      needsNewKeys,
      batchSize: planned.batchSize,
      skips: (row, number) =>
        checked.rejectedRows.has(number) ||
        comparison?.matched.has(number) === true ||
        ownLink(row, source.layout) !== undefined,
    });
    failure = result.failure;
    batches += result.counts.batches;
    const isOpen = result.batches.some((batch) => batch.isOpen);
    if (!isOpen || !mayRepeat || repeats === MAX_REPEATS || isStopped()) break;
    journal.unpackBatches();
    if (existing === undefined) {
      existing = new ExistingLinks(journal);
      await addRows(source, checked, settings, existing);
    }
    found = foundOf(checked, existing.compare());
  }
  return {
    counts: { ...countsOf(input, found, result), batches },
    existing,
    comparison: found.comparison,
    batches: result?.batches ?? [],
    forecast: planned,
    failure,
  };
}

/** Every row has exactly one of these outcomes; rejected ones are counted already. */
function countsOf({ checked }: SendNewRows, found: Found, result?: SendResult) {
  const { created: sent = 0, failed = 0, unknown = 0 } = result?.counts ?? {};
  const have = found.existing + sent;
  const created = (found.comparison?.created ?? 0) + sent;
  const doubtful = found.unknown + unknown;
  return {
    created,
    existing: have - created,
    failed,
    unknown: doubtful,
    unsent: checked.rows - checked.rejected - have - doubtful - failed,
    changed: found.changed,
    gone: found.gone,
  };
}
