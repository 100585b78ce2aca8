import type { Input } from '@shortlink/tables';
import { systemReason } from '@shortlink/tables/basics';
import { formatCount } from '../../format.ts';
import { isFilled } from '../check/read-links.ts';
import { inputError } from '../errors.ts';
import { isStream } from '../is-stream.ts';
import type { Journal } from '../journal/journal.ts';
import type { SendNewRows, Sent } from '../send/send-new-rows.ts';
import type { ImportDeps, ImportSettings, ImportSummary } from '../types.ts';
import { fingerprint, NO_OWN_FILES, type OwnFiles } from './keep-changed.ts';
import { rowLister } from './list-rows.ts';
import { type OutputFile, openOutput } from './output-file.ts';
import { reported, resultsText } from './report-rows.ts';
import { whyStopped, withPlace } from './summary.ts';

/** Of a workbook, the header included. */
const MAX_SHEET_ROWS = 1_048_576;

/**
 * Opens the results before anything is sent, so that a path that can't be written stops the run.
 *
 * @param rows - of the input
 */
export async function openResults(
  { path }: Input,
  rows: number,
  settings: ImportSettings,
  { stdout }: ImportDeps,
  journal: Journal,
): Promise<OutputFile> {
  const { output, outputFormat, inPlace, usualNames } = settings;
  if (outputFormat === 'xlsx' && !inPlace && rows >= MAX_SHEET_ROWS) {
    throw inputError(
      `${output} can't be written: a sheet has ${formatCount(MAX_SHEET_ROWS)} rows, and the results need ${formatCount(rows + 1)}`,
      'Write them as a table: -o FILE.csv',
    );
  }
  const own = ownFilesOf(journal, settings);
  // In place, what is replaced is the input as it was read.
  const input = inPlace ? await fingerprint(path) : undefined;
  const ownFiles: OwnFiles = {
    hasWritten: (content) => content === input || own.hasWritten(content),
    willWrite: (content) => own.willWrite(content),
    remembersNone: journal.written.length === 0,
  };
  return await openOutput(output, {
    stdout,
    ownFiles,
    unusedOption: usualNames?.output ? '-o' : undefined,
    // Once the results of standard input were read, its journal is removed.
    awaitsReader: typeof settings.journal !== 'string',
  });
}

/** The journal remembers what was written, but not that of standard input, whose name is that of its content. */
export function ownFilesOf(journal: Journal, settings: ImportSettings): OwnFiles {
  return isStream(settings.file) || settings.dryRun ? NO_OWN_FILES : journal;
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
export function announceKept(kept: string | undefined, deps: Pick<ImportDeps, 'onEvent'>): void {
  if (kept === undefined) return;
  const message = `A file that no import is known to have written is kept as ${kept}.`;
  deps.onEvent({ type: 'warning', message });
}

/** Whether there are no links at this service, so that results would only overwrite those of a journal that was set aside, or of another service. */
export async function keepsEarlierResults(
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

/** The results of a run that has ended so, and what the writing of them adds to its summary. */
export async function writeResults(
  ended: ImportSummary,
  sent: SendNewRows & Sent,
  output: OutputFile,
): Promise<ImportSummary> {
  const { source, journal, settings, deps } = sent;
  const { lists = undefined, onRow } = settings.listsRows ? rowLister(sent) : {};
  try {
    const rows = reported({ ...sent, whyUnsent: whyUnsent(ended, settings), onRow });
    const pieces = await piecesOf(rows, source.layout, settings);
    for await (const piece of pieces) await output.write(piece);
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
  return { ...ended, stopped, output: settings.output, journal: remembered, lists };
}

/** The results as they are written. */
async function piecesOf(...[rows, layout, settings]: Parameters<typeof resultsText>) {
  if (settings.outputFormat !== 'xlsx' || settings.inPlace)
    return resultsText(rows, layout, settings);
  // No other results need the library of workbooks.
  const { resultsWorkbook } = await import('./results-workbook.ts');
  return resultsWorkbook(rows, layout);
}

function whyUnsent({ stopped }: ImportSummary, { limit }: ImportSettings): string {
  // Where nothing has stopped the run, only `--limit` leaves rows.
  if (stopped === undefined) return `left for another run by --limit ${limit}`;
  return stopped.reason === 'plan_limit'
    ? 'the plan has no room for this row'
    : 'the import ended before this row was sent';
}
