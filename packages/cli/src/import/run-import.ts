import { createHash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { stat } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { checkInput } from './check/check-input.ts';
import { compareRows, openExistingLinks } from './check/compare-rows.ts';
import { forecast, retrieveUsage } from './check/forecast.ts';
import { writeError } from './errors.ts';
import type { Journal } from './journal/journal.ts';
import { openJournal, peekJournal } from './journal/open-journal.ts';
import { ownLink } from './map/result-columns.ts';
import { createRowRules } from './map/row-rules.ts';
import { detectLayout } from './read/layout.ts';
import { type Input, inputGuard, openInput } from './read/open-input.ts';
import { readRows } from './read/read-rows.ts';
import { fingerprint } from './report/keep-changed.ts';
import { openOutput, type Written } from './report/output-file.ts';
import { RejectsFile, removeStaleRejects } from './report/rejects.ts';
import { createResultsFormat, refuseInPlace, reportRows } from './report/report-rows.ts';
import { emptySummary, STOPPED_BY_USER, stoppedByRejects, whyStopped } from './report/summary.ts';
import { sendNewRows } from './send/send-new-rows.ts';
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
  const input = await openInput(settings.file, deps.stdin, deps.signal);
  let journal: Journal | undefined;
  try {
    // The lock: from here on no other run imports under this journal.
    const open = settings.dryRun ? peekJournal : openJournal;
    const path = await journalPath(settings, input);
    journal = open(path, settings.baseUrl, settings.restart);
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
    await input.dispose();
  }
}

/** Check, send, report. */
async function importInput(
  input: Input,
  journal: Journal,
  settings: ImportSettings,
  deps: ImportDeps,
): Promise<ImportSummary> {
  const { name } = input;
  const { dryRun, maxRejects } = settings;
  const wallClock = deps.wallClock ?? Date.now;

  // Check: read and validate everything, and find out which links exist.
  const guard = await inputGuard(input);
  const layout = await detectLayout(input, settings);
  if (settings.inPlace) refuseInPlace(input, layout, settings);
  const source = { input, layout, rules: createRowRules(layout, settings), guard };
  const existing = await openExistingLinks(journal, settings, deps);
  const rejects = new RejectsFile(
    layout,
    dryRun
      ? undefined
      : () =>
          openOutput(settings.rejects, {
            stdout: deps.stdout,
            unusedOption: settings.usualNames?.rejects ? '--rejects' : undefined,
          }),
  );
  const checked = await checkInput(source, settings, existing, rejects, deps).catch(
    async (error: unknown) => {
      await rejects.discard();
      throw error;
    },
  );
  if (checked === undefined) {
    await rejects.discard();
    return { ...emptySummary(settings), stopped: STOPPED_BY_USER };
  }
  const found = await compareRows(source, checked, existing, settings, deps);
  const summary: ImportSummary = {
    ...emptySummary(settings),
    rows: checked.rows,
    rejected: checked.rejected,
    rejectsFile: await rejects.finish((written) => announceKept(written, deps)),
    existing: found.existing,
    changed: found.changed,
    gone: found.gone,
    unknown: found.unknown,
    unsent: found.new,
  };
  if (checked.rejected === 0 && !dryRun) await removeStaleRejects(settings.rejects);
  if (checked.rows === 0) deps.onEvent({ type: 'warning', message: `${name} has no rows.` });
  if (maxRejects !== 'all' && checked.rejected > maxRejects && !dryRun) {
    const { rejectsFile } = summary;
    return {
      ...summary,
      stopped: stoppedByRejects(name, checked.rejected, maxRejects, rejectsFile),
    };
  }
  if (dryRun) {
    if (found.new === 0) return summary;
    const usage = await retrieveUsage(deps.client, deps.signal);
    const planned = forecast(found.new, settings, usage, wallClock());
    deps.onEvent({ type: 'forecast', forecast: planned });
    return { ...summary, forecast: planned };
  }

  // Send: feed the new rows to the service. The journal records each batch before and after its request.
  // In place, what is replaced is the input as it was read.
  const previous = settings.inPlace ? await fingerprint(input.path) : undefined;
  const output = await openOutput(settings.output, {
    stdout: deps.stdout,
    previous,
    unusedOption: settings.usualNames?.output ? '-o' : undefined,
    // Once the results of standard input were read, its journal is removed.
    awaitsReader: typeof settings.journal !== 'string',
  });
  try {
    const sent = await sendNewRows({ source, checked, found, existing, journal, settings, deps });
    const counts = sent.counts;
    const isStopped = deps.signal.aborted || deps.stopSignal.aborted;
    const stopped = whyStopped(sent, settings, isStopped, journal.linksInJobs());
    const result: ImportSummary = {
      ...summary,
      ...counts,
      forecast: sent.forecast,
      stopped,
      journal: journal.isEmpty ? undefined : journal.path,
    };
    // "Stop now": the journal has everything, and the next run writes the results.
    if (deps.signal.aborted) {
      await output.discard();
      return result;
    }

    const isFutile = journal.isEmpty && counts.unsent + counts.failed > 0 && !settings.inPlace;
    if (isFutile && (await holdsLinks(settings.output, deps))) {
      await output.discard();
      const message = `Nothing was created. ${settings.output} keeps the links of an earlier run.`;
      deps.onEvent({ type: 'warning', message });
      return result;
    }

    // Report: read the input once more, and write what the journal knows of each row.
    try {
      const format = createResultsFormat(settings, layout);
      // Where nothing has stopped the run, only `--limit` leaves rows.
      const limit = stopped === undefined ? settings.limit : undefined;
      await reportRows({ ...sent, source, checked, journal, limit }, format, output);
      await guard();
      announceKept(await output.finish(), deps);
    } catch (error) {
      await output.discard();
      return {
        ...result,
        stopped: stopped ?? whyStopped({ ...sent, failure: { error } }, settings, false, 0),
      };
    }
    const hasAll = stopped === undefined && counts.unsent + counts.unknown + counts.failed === 0;
    // Standard input can't be imported again under the same name, so a journal of a complete import is of no use. Where
    // the results were not read to their end, it is the only record of the links.
    const isRead = deps.stdout.isClosed?.() !== true;
    const isDone = hasAll && isRead && typeof settings.journal !== 'string';
    if (isDone) journal.forget();
    return { ...result, output: settings.output, journal: isDone ? undefined : result.journal };
  } catch (error) {
    await output.discard();
    throw error;
  }
}

/** Whether a file holds the results of a run that has created something. */
async function holdsLinks(path: string, deps: ImportDeps): Promise<boolean> {
  const stats = await stat(path).catch(() => undefined);
  if (!stats?.isFile() || stats.size === 0) return false;
  try {
    const input = await openInput(path, deps.stdin, deps.signal);
    try {
      const layout = await detectLayout(input, { map: {}, inputFormat: 'auto' });
      for await (const rows of readRows(input, layout)) {
        if (rows.some((row) => ownLink(row, layout) !== undefined)) return true;
      }
      return false;
    } finally {
      await input.dispose();
    }
  } catch {
    // It is no table, so it is not ours, and is kept as `.old`.
    return false;
  }
}

/** Warns where a file that a person had changed was kept under another name. */
function announceKept({ kept }: Written, deps: Pick<ImportDeps, 'onEvent'>): void {
  if (kept === undefined) return;
  deps.onEvent({ type: 'warning', message: `A file that was changed by hand is kept as ${kept}.` });
}

/** Standard input has no name, so its journal has that of its content: the same rows find it again. */
async function journalPath({ journal }: ImportSettings, input: Input): Promise<string> {
  if (typeof journal === 'string') return journal;
  const hash = createHash('sha256');
  await pipeline(createReadStream(input.path), hash);
  return join(journal.folder, `stdin-${hash.digest('hex').slice(0, 16)}.shortlink-journal`);
}
