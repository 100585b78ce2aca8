import { dirname, join } from 'node:path';
import { type Input, inputGuard, openInput } from '@shortlink/tables';
import { systemReason } from '@shortlink/tables/basics';
import { addRows, checkInput, type ImportSource } from './check/check-input.ts';
import { announce, gatherEvidence, surprises } from './check/compare-rows.ts';
import { planSending } from './check/forecast.ts';
import type { Comparison } from './check/read-evidence.ts';
import { removeLeftovers, syncFolder, writeError } from './folder.ts';
import { isStream } from './is-stream.ts';
import type { Journal } from './journal/journal.ts';
import { openJournal, peekJournal } from './journal/open-journal.ts';
import { detectLayout } from './layout.ts';
import { createRowRules } from './map/row-rules.ts';
import { fingerprint } from './report/keep-changed.ts';
import { openOutput } from './report/output-file.ts';
import { rejectsFile, removeStaleRejects } from './report/rejects.ts';
import { finishReplacement } from './report/replacement.ts';
import {
  announceKept,
  keepsEarlierResults,
  listUnsent,
  openResults,
  ownFilesOf,
  refuseInPlace,
  writeResults,
} from './report/results.ts';
import {
  emptySummary,
  STOPPED_BY_USER,
  stoppedByRejects,
  whyStopped,
  wouldStop,
} from './report/summary.ts';
import { findOut, type SendNewRows, sendNewRows, traitsIfNeeded } from './send/send-new-rows.ts';
import { releaseAll } from './send/settle-open.ts';
import type { ImportDeps, ImportSettings, ImportSummary } from './types.ts';

/**
 * Imports one file. What ends the import once sending may have begun is in the summary's `stopped`.
 *
 * @throws InputError when the input can't be imported, or another run uses the journal. Nothing was sent then.
 */
export async function runImport(settings: ImportSettings, deps: ImportDeps) {
  const startedAt = deps.now();
  const requestsBefore = deps.requestCount();
  // Nothing is in flight while standard input is read: the first Ctrl-C ends it.
  const stop = AbortSignal.any([deps.signal, deps.stopSignal]);
  const input = await openInput(settings.file, deps.stdin, stop).catch((error: unknown) => {
    if (!stop.aborted) throw error;
  });
  if (input === undefined) return { ...emptySummary(settings), stopped: STOPPED_BY_USER };
  let journal: Journal | undefined;
  try {
    // The lock: from here on no other run imports under this journal.
    const open = settings.dryRun ? peekJournal : openJournal;
    const path = await journalPath(settings, input);
    const { baseUrl, restart, file } = settings;
    const warn = (message: string) => deps.onEvent({ type: 'warning', message });
    journal = open({ path, baseUrl, restart, input: isStream(file) ? undefined : file, warn });
    if (!settings.dryRun) {
      await removeLeftovers(path);
      await syncFolder(dirname(path)).catch((cause) => {
        throw writeError(path, cause);
      });
    }
    if (settings.output !== '-') await finishReplacement(settings.output, !settings.dryRun);
    const summary = await importInput(input, journal, settings, deps);
    return {
      ...summary,
      requests: deps.requestCount() - requestsBefore,
      elapsedMs: deps.now() - startedAt,
    };
  } finally {
    journal?.close();
    // An import that has ended must not seem to have failed: standard input that is imported again gets new links.
    await input.dispose().catch((error: unknown) => {
      const message = `The temporary copy of ${input.name} can't be removed: ${systemReason(error)}.`;
      deps.onEvent({ type: 'warning', message });
    });
  }
}

/** Check, send, report. */
async function importInput(
  input: Input,
  journal: Journal,
  settings: ImportSettings,
  deps: ImportDeps,
): Promise<ImportSummary> {
  // Check: read and validate everything, and find out which links exist.
  const guard = await inputGuard(input);
  const layout = await detectLayout(input, settings);
  const rules = createRowRules(layout, settings, layout.isOfLines);
  const source = { input, layout, rules, guard };
  if (settings.inPlace) refuseInPlace(source);
  const result = await check(source, journal, settings, deps);
  if (result === undefined) return { ...emptySummary(settings), stopped: STOPPED_BY_USER };
  const { checked, evidence, found, summary } = result;
  const stopped = stoppedByRejects(input.name, summary, settings.maxRejects);
  const known = { source, checked, found, evidence, journal, settings, deps };
  if (settings.dryRun) {
    if (stopped !== undefined) deps.onEvent({ type: 'warning', message: wouldStop(summary) });
    return await forecastOnly(known, summary).catch((error: unknown) => {
      if (deps.signal.aborted || deps.stopSignal.aborted)
        return { ...summary, stopped: STOPPED_BY_USER };
      throw error;
    });
  }
  if (stopped !== undefined) {
    announce(found, deps);
    return { ...summary, stopped, lists: await listUnsent(known) };
  }

  // Send: feed the new rows to the service. The journal records each batch before and after its request.
  const output = await openResults(known);
  try {
    const sent = await sendNewRows(known);
    const isStopped = deps.signal.aborted || deps.stopSignal.aborted;
    const ended: ImportSummary = {
      ...summary,
      ...sent.counts,
      forecast: sent.forecast,
      stopped: whyStopped(sent, settings, isStopped, journal.linksInJobs()),
      journal: journal.isEmpty ? undefined : journal.path,
    };
    // "Stop now": the journal has everything, and the next run writes the results.
    if (deps.signal.aborted || (await keepsEarlierResults(ended, known))) return ended;

    deps.onEvent({ type: 'reporting' });
    // Report: read the input once more, and write what the journal knows of each row.
    return await writeResults(ended, { ...known, ...sent }, output);
  } finally {
    await output.discard();
  }
}

/** What an import would do, where only the service may know of links. */
async function forecastOnly(known: SendNewRows, summary: ImportSummary): Promise<ImportSummary> {
  const { evidence, settings, deps } = known;
  const service = await traitsIfNeeded(known, known.found);
  const isRetry = settings.onUnknown === 'retry' && !service.canAsk;
  const released = isRetry ? await releaseAll({ ...known, ...service }) : known.found;
  let found = await findOut(known, service, released);
  // As in an import: links of earlier results that no row asks for any more are counted.
  const { inPlace } = settings;
  if (evidence.knowsMore(inPlace)) found = await evidence.adopt(inPlace);
  announce(found, deps);
  const after = { ...summary, ...countsOf(found), lists: await listUnsent({ ...known, found }) };
  if (found.new === 0) return after;
  return { ...after, forecast: planSending(found.new, service.usage, settings, deps) };
}

/** The first pass, and the rejects file that it writes. Undefined when the user stopped it. */
async function check(
  source: ImportSource,
  journal: Journal,
  settings: ImportSettings,
  deps: ImportDeps,
) {
  const { dryRun, usualNames } = settings;
  const evidence = await gatherEvidence(journal, settings, deps, source.layout);
  const open = () =>
    openOutput(settings.rejects, {
      stdout: deps.stdout,
      unusedOption: usualNames?.rejects ? '--rejects' : undefined,
      ownFiles: ownFilesOf(journal, settings),
    });
  // A dry run writes nothing.
  const rejects = dryRun ? undefined : rejectsFile(source.layout, open);
  try {
    const origins = [new URL(settings.baseUrl).origin, ...journal.origins()];
    const checked = await checkInput(source, settings, evidence, rejects, deps, origins);
    if (checked === undefined) return undefined;
    const { rows, rejected } = checked;
    evidence.validRows = rows - rejected;
    evidence.addRows = () => addRows(source, checked, settings, evidence);
    const found = await evidence.compare();
    for (const message of surprises(found, checked, journal, settings)) {
      deps.onEvent({ type: 'warning', message });
    }
    announceKept(await rejects?.finish(), deps);
    if (rejected === 0 && !dryRun) {
      await removeStaleRejects(settings.rejects, ownFilesOf(journal, settings));
    }
    if (rows === 0) {
      deps.onEvent({ type: 'warning', message: `${source.input.name} has no rows.` });
    }
    const counts = { rows, rejected, ...countsOf(found), rejectsFile: rejects?.path() };
    return { checked, evidence, found, summary: { ...emptySummary(settings), ...counts } };
  } finally {
    await rejects?.discard();
  }
}

function countsOf({ new: unsent, existing, changed, gone, unknown }: Comparison) {
  return { new: unsent, existing, changed, gone, unknown, unsent };
}

/** Standard input has no name: by the name of its content, the same rows find its journal again. */
async function journalPath({ journal }: ImportSettings, input: Input): Promise<string> {
  if (typeof journal === 'string') return journal;
  const content = await fingerprint(input.path);
  return join(journal.folder, `stdin-${content.slice(0, 16)}.shortlink-journal`);
}
