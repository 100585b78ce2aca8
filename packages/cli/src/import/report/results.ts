import { inputError, type Row, systemReason } from '@shortlink/tables/basics';
import { formatCount } from '../../format.ts';
import type { Ask } from '../check/ask-service.ts';
import type { ImportSource } from '../check/check-input.ts';
import { isFilled } from '../check/read-links.ts';
import { isStream } from '../is-stream.ts';
import type { Journal } from '../journal/journal.ts';
import { ownLink } from '../map/result-columns.ts';
import type { SendNewRows, Sent } from '../send/send-new-rows.ts';
import type { ImportDeps, ImportSettings, ImportSummary, RowLists } from '../types.ts';
import { fingerprint, type OwnFiles } from './keep-changed.ts';
import { type OutputFile, openOutput } from './output-file.ts';
import { type RowOutcome, reported, resultsText } from './report-rows.ts';
import { whyStopped, withPlace } from './summary.ts';

/** The rows of a sheet in a workbook, its header included. */
const MAX_SHEET_ROWS = 1_048_576;

/** Rows of a kind that a summary names. */
const MOST_LISTED = 1_000;

/** Opens the results before anything is sent, so that a path that can't be written stops the run. */
export async function openResults(known: SendNewRows): Promise<OutputFile> {
  const { source, journal, settings, deps } = known;
  const { rows } = known.checked;
  const { output, outputFormat, inPlace, usualNames } = settings;
  if (outputFormat === 'xlsx' && !inPlace && rows >= MAX_SHEET_ROWS) {
    throw inputError(
      `${output} can't be written: a sheet has ${formatCount(MAX_SHEET_ROWS)} rows, and the results need ${formatCount(rows + 1)}`,
      'Write them as a table: -o FILE.csv',
    );
  }
  const own = ownFilesOf(journal, settings);
  // In place, what is replaced is the input as it was read.
  const input = inPlace ? await fingerprint(source.input.path) : undefined;
  const ownFiles: OwnFiles = {
    hasWritten: (content) => content === input || own.hasWritten?.(content) === true,
    willWrite: (content) => own.willWrite?.(content),
    remembersNone: isStream(settings.file) || journal.written.length === 0,
  };
  return await openOutput(output, {
    stdout: deps.stdout,
    ownFiles,
    unusedOption: usualNames?.output ? '-o' : undefined,
    // Once the results of standard input were read, its journal is removed.
    awaitsReader: typeof settings.journal !== 'string',
  });
}

/** The journal of standard input has the name of its content: what it has written is not replaced by other content. */
export function ownFilesOf(journal: Journal, { file, dryRun }: ImportSettings): OwnFiles {
  if (dryRun) return {};
  const willWrite = (content: string) => journal.willWrite(content);
  return isStream(file) ? { willWrite } : journal;
}

/** Warns where a file was kept under another name, because a person had changed it. */
export function announceKept(kept: string | undefined, deps: Pick<ImportDeps, 'onEvent'>): void {
  if (kept === undefined) return;
  const message = `A file that no import is known to have written is kept as ${kept}.`;
  deps.onEvent({ type: 'warning', message });
}

/** Whether results would only overwrite those of a journal that was set aside, or of another service: this one has no link. */
export async function keepsEarlierResults(ended: ImportSummary, { journal, settings, deps }: Ask) {
  const { created, unknown, unsent, failed } = ended;
  const { output, inPlace, restart } = settings;
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
    const rows = reported({ ...sent, whyUnsent: whyUnsent(ended), onRow });
    const isBook = settings.outputFormat === 'xlsx' && !settings.inPlace;
    // No other results need the library of workbooks.
    const pieces = isBook
      ? (await import('./results-workbook.ts')).resultsWorkbook(rows, source.layout)
      : resultsText(rows, source.layout, settings);
    for await (const piece of pieces) await output.write(piece);
    await source.guard();
    announceKept(await output.finish(), deps);
  } catch (error) {
    if (ended.stopped === undefined) {
      return { ...ended, stopped: whyStopped({ ...sent, failure: { error } }, settings) };
    }
    const message = `The results were not written: ${systemReason(error)}`;
    deps.onEvent({ type: 'warning', message });
    return ended;
  }
  const stopped = withPlace(ended.stopped);
  const { unsent, unknown, failed, rejected } = ended;
  const hasAll = ended.stopped === undefined && unsent + unknown + failed + rejected === 0;
  // Standard input has no name: its journal goes once each row has its link, unless the results were not read to their end.
  const isDone =
    hasAll && deps.stdout.isClosed?.() !== true && typeof settings.journal !== 'string';
  if (isDone) journal.forget();
  const remembered = isDone ? undefined : ended.journal;
  return { ...ended, stopped, output: settings.output, journal: remembered, lists };
}

function whyUnsent({ stopped }: ImportSummary): string {
  // Where nothing has stopped the run, only `--limit` leaves rows. Of several files, it is for all together.
  if (stopped === undefined) return 'left for another run by --limit';
  return stopped.reason === 'plan_limit'
    ? 'the plan has no room for this row'
    : 'the import ended before this row was sent';
}

/** @throws InputError when there are no columns that could be filled in */
export function refuseInPlace({ input: { name, packing }, layout }: ImportSource): void {
  const { format, hasHeader } = layout.plan;
  const isTable = (format === 'csv' || format === 'tsv') && hasHeader;
  if (packing !== undefined || (!isTable && format !== 'jsonl')) {
    throw inputError(
      `--in-place can't be used with ${name}: it needs a table with a header, or JSON Lines, as plain text`,
      'Without --in-place, the results go into a file of their own.',
    );
  }
}

/** Collects the rows that a summary names, from the outcome of each row. */
function rowLister({ source, found, evidence }: SendNewRows) {
  const lists: RowLists = { problems: [], changed: [], new: [] };
  const { changed, created } = evidence.listed();
  const isNew = (row: Row, number: number) =>
    found.matched.has(number)
      ? created.has(number)
      : ownLink(row, source.layout) === undefined || found.disowned.has(number);
  const onRow = (row: Row, number: number, outcome: RowOutcome) => {
    const place = { line: row.line, row: number + 1 };
    if (outcome.status !== 'created' && outcome.status !== 'unsent') {
      const { status, error: reason } = outcome;
      if (lists.problems.length < MOST_LISTED) lists.problems.push({ ...place, status, reason });
      return;
    }
    const list = changed.has(number) ? lists.changed : lists.new;
    if (list.length === MOST_LISTED || (list === lists.new && !isNew(row, number))) return;
    const { target_url } = source.rules.link(row);
    const short_url = outcome.status === 'created' ? outcome.short_url : null;
    list.push({ ...place, target_url, short_url });
  };
  return { lists, onRow };
}

/** The rows that the summary of a run names which sends nothing. Reads the input once more. */
export async function listUnsent(known: SendNewRows): Promise<ImportSummary['lists']> {
  if (!known.settings.listsRows) return undefined;
  const { lists, onRow } = rowLister(known);
  const report = { ...known, batches: [], whyUnsent: '', onRow };
  for await (const _ of reported(report));
  return lists;
}
