import { dirname, join } from 'node:path';
import { addRows, checkInput, type Source } from './check/check-input.ts';
import { announce, compareRows, gatherEvidence } from './check/compare-rows.ts';
import { Evidence } from './check/evidence.ts';
import { planSending } from './check/forecast.ts';
import { isFilled } from './check/read-links.ts';
import { systemReason, writeError } from './errors.ts';
import type { Journal } from './journal/journal.ts';
import { openJournal, peekJournal } from './journal/open-journal.ts';
import { createRowRules } from './map/row-rules.ts';
import { detectLayout } from './read/layout.ts';
import { type Input, inputGuard, openInput } from './read/open-input.ts';
import { fingerprint, NO_OWN_FILES, type OwnFiles } from './report/keep-changed.ts';
import { type OutputFile, openOutput } from './report/output-file.ts';
import { RejectsFile, removeStaleRejects } from './report/rejects.ts';
import {
  createResultsFormat,
  refuseInPlace,
  refuseIrregularInPlace,
  reportRows,
} from './report/report-rows.ts';
import {
  emptySummary,
  STOPPED_BY_USER,
  stoppedByRejects,
  whyStopped,
  withPlace,
  wouldStop,
} from './report/summary.ts';
import {
  findOut,
  type SendNewRows,
  type Sent,
  sendNewRows,
  traitsOf,
} from './send/send-new-rows.ts';
import { syncFolder } from './sync-folder.ts';
import type { ImportDeps, ImportSettings, ImportSummary } from './types.ts';

/**
 * Imports one file: creates the links that its rows ask for and that don't exist yet.
 *
 * Whatever ends the import once sending may have begun is in the summary's `stopped`. The results file has the
 * outcome of each row, and the journal lets the same command create the links that are missing.
 *
 * @throws CliError (exit code 2) when the input can't be imported, or another run uses the journal. Nothing was sent then.
 */
export async function runImport(
  settings: ImportSettings,
  deps: ImportDeps,
): Promise<ImportSummary> {
  const startedAt = deps.now();
  const requestsBefore = deps.requestCount();
  if (settings.inPlace) await refuseIrregularInPlace(settings.file);
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
    journal = open({ path, baseUrl, restart, input: file === '-' ? undefined : file });
    if (!settings.dryRun) {
      await syncFolder(dirname(path)).catch((cause) => {
        throw writeError(path, cause);
      });
    }
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
  if (settings.inPlace) refuseInPlace(input, layout);
  const source = {
    input,
    layout,
    rules: createRowRules(layout, settings, layout.isOfLines),
    guard,
  };
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
    announce(found, checked, deps);
    return { ...summary, stopped };
  }

  // Send: feed the new rows to the service. The journal records each batch before and after its request.
  const output = await openResults(input, settings, deps, journal);
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
    if (deps.signal.aborted || (await keepsEarlierResults(ended, journal, settings, deps))) {
      return ended;
    }

    // Report: read the input once more, and write what the journal knows of each row.
    return await writeResults(ended, { ...sent, source, checked, journal }, output, settings, deps);
  } finally {
    await output.discard();
  }
}

/** Whether there are no links at this service, so that results would only overwrite those of a journal that was set aside, or of another service. */
async function keepsEarlierResults(
  { created, unknown, unsent, failed }: ImportSummary,
  journal: Journal,
  { output, inPlace, restart }: ImportSettings,
  deps: ImportDeps,
): Promise<boolean> {
  const isOther = restart || journal.otherServices().length > 0;
  const hasNone = created + unknown + failed === 0 && !journal.hasLinks();
  if (!isOther || !hasNone || unsent === 0 || inPlace || !(await isFilled(output))) return false;
  const message = `Nothing was created. ${output} keeps the links of an earlier run.`;
  deps.onEvent({ type: 'warning', message });
  return true;
}

/** What an import would do, where only the service may know of links. */
async function forecastOnly(known: SendNewRows, summary: ImportSummary): Promise<ImportSummary> {
  const { checked, settings, deps } = known;
  const isNew = known.found.new + known.found.unknown > 0;
  const service = isNew ? await traitsOf(settings, deps) : undefined;
  const { found } = service === undefined ? known : await findOut(known, service, known.found);
  announce(found, checked, deps);
  const after = { ...summary, ...countsOf(found) };
  if (found.new === 0) return after;
  return { ...after, forecast: planSending(found.new, service?.usage, settings, deps) };
}

/** The results of a run that has ended so, and what the writing of them adds to its summary. */
async function writeResults(
  ended: ImportSummary,
  sent: Sent & Pick<SendNewRows, 'source' | 'checked' | 'journal'>,
  output: OutputFile,
  settings: ImportSettings,
  deps: ImportDeps,
): Promise<ImportSummary> {
  const { source, journal } = sent;
  // Where nothing has stopped the run, only `--limit` leaves rows.
  const limit = ended.stopped === undefined ? settings.limit : undefined;
  try {
    await reportRows(
      { ...sent, limit, settings },
      createResultsFormat(settings, source.layout),
      output,
    );
    await source.guard();
    announceKept(await output.finish(), deps);
  } catch (error) {
    if (ended.stopped === undefined) {
      return { ...ended, stopped: whyStopped({ ...sent, failure: { error } }, settings, false, 0) };
    }
    deps.onEvent({
      type: 'warning',
      message: `The results were not written: ${systemReason(error)}`,
    });
    return ended;
  }
  const stopped = withPlace(ended.stopped);
  const isDone = isOnRecord(ended, settings, deps);
  if (isDone) journal.forget();
  const remembered = isDone ? undefined : ended.journal;
  return { ...ended, stopped, output: settings.output, journal: remembered };
}

type CheckResult = Pick<SendNewRows, 'checked' | 'evidence' | 'found'> & { summary: ImportSummary };

/** The first pass, and the rejects file that it writes. Undefined when the user stopped it. */
async function check(
  source: Source,
  journal: Journal,
  settings: ImportSettings,
  deps: ImportDeps,
): Promise<CheckResult | undefined> {
  const { dryRun, usualNames } = settings;
  let evidence = await gatherEvidence(journal, settings, deps, source.layout);
  const open = () =>
    openOutput(settings.rejects, {
      stdout: deps.stdout,
      unusedOption: usualNames?.rejects ? '--rejects' : undefined,
      ownFiles: ownFilesOf(journal, settings),
    });
  // A dry run writes nothing.
  const rejects = dryRun ? undefined : new RejectsFile(source.layout, open);
  try {
    const origins = [new URL(settings.baseUrl).origin, ...journal.origins()];
    const checked = await checkInput(source, settings, evidence, rejects, deps, origins);
    if (checked === undefined) return undefined;
    const { rows, rejected } = checked;
    // Rows that name their links are compared with each other, also where nothing else knows of any.
    if (evidence === undefined && checked.claims > 0) {
      evidence = new Evidence(journal);
      await addRows(source, checked, settings, evidence);
    }
    const found = compareRows(checked, evidence, journal, settings, deps);
    announceKept(await rejects?.finish(), deps);
    if (rejected === 0 && !dryRun) {
      await removeStaleRejects(settings.rejects, ownFilesOf(journal, settings));
    }
    if (rows === 0) {
      deps.onEvent({ type: 'warning', message: `${source.input.name} has no rows.` });
    }
    const counts = { rows, rejected, ...countsOf(found), rejectsFile: rejects?.path };
    return { checked, evidence, found, summary: { ...emptySummary(settings), ...counts } };
  } finally {
    await rejects?.discard();
  }
}

function countsOf({ new: unsent, existing, changed, gone, unknown }: SendNewRows['found']) {
  return { existing, changed, gone, unknown, unsent };
}

async function openResults(
  { path }: Input,
  settings: ImportSettings,
  { stdout }: ImportDeps,
  journal: Journal,
): Promise<OutputFile> {
  const { output, inPlace, usualNames } = settings;
  const own = ownFilesOf(journal, settings);
  // In place, what is replaced is the input as it was read.
  const input = inPlace ? await fingerprint(path) : undefined;
  const hasWritten = (content: string) => content === input || own.hasWritten(content);
  return await openOutput(output, {
    stdout,
    ownFiles: { ...own, hasWritten },
    unusedOption: usualNames?.output ? '-o' : undefined,
    // Once the results of standard input were read, its journal is removed.
    awaitsReader: typeof settings.journal !== 'string',
  });
}

/** The journal remembers what was written, but not that of standard input, whose name is that of its content. */
function ownFilesOf(journal: Journal, settings: ImportSettings): OwnFiles {
  if (settings.file === '-' || settings.dryRun) return NO_OWN_FILES;
  return {
    hasWritten: (content) => journal.hasWritten(content),
    willWrite: (content) => journal.willWrite(content),
  };
}

/**
 * Whether the journal is of no more use. Standard input can't be imported again under the same name, so its journal goes once each
 * row has its link. Where the results were not read to their end, it is the only record of the links.
 */
function isOnRecord(
  { stopped, unsent, unknown, failed }: ImportSummary,
  { journal }: ImportSettings,
  { stdout }: ImportDeps,
): boolean {
  const hasAll = stopped === undefined && unsent + unknown + failed === 0;
  return hasAll && stdout.isClosed?.() !== true && typeof journal !== 'string';
}

/** Warns where a file was kept under another name, because a person had changed it. */
function announceKept(kept: string | undefined, deps: Pick<ImportDeps, 'onEvent'>): void {
  if (kept === undefined) return;
  const message = `A file that no import is known to have written is kept as ${kept}.`;
  deps.onEvent({ type: 'warning', message });
}

/** Standard input has no name, so its journal has that of its content: the same rows find it again. */
async function journalPath({ journal }: ImportSettings, input: Input): Promise<string> {
  if (typeof journal === 'string') return journal;
  const content = await fingerprint(input.path);
  return join(journal.folder, `stdin-${content.slice(0, 16)}.shortlink-journal`);
}
