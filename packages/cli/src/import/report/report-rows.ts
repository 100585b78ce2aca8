import type { Checked, Source } from '../check/check-input.ts';
import type { Comparison, ExistingLinks } from '../check/existing-links.ts';
import type { Journal } from '../journal/journal.ts';
import { type LinkResult, type PackedResults, unpackResult } from '../journal/packed-results.ts';
import { ownLink } from '../map/result-columns.ts';
import { readRows } from '../read/read-rows.ts';
import type { SentBatch } from '../send/batch-recorder.ts';
import type { Row, RowStatus } from '../types.ts';
import type { OutputFile } from './output-file.ts';
import type { ResultsFormat } from './results-format.ts';

/** What became of one row, as its line in the results says it. */
export type Outcome =
  | { status: 'created'; code: string; short_url: string }
  | { status: Exclude<RowStatus, 'created'>; error: string };

export interface ReportInput {
  source: Source;
  journal: Journal;
  checked: Checked;
  comparison: Comparison | undefined;
  existing: ExistingLinks | undefined;
  /** The batches of new rows, in the order of the rows. */
  batches: readonly SentBatch[];
}

/** Reads the input once more and writes a line for each row, as the journal knows it. */
export async function reportRows(
  report: ReportInput,
  format: ResultsFormat,
  output: OutputFile,
): Promise<void> {
  const { source, checked, comparison, existing } = report;
  const matches = existing?.matches();
  const sent = sentOutcomes(report);
  const outcomeOf = (row: Row, number: number): Outcome => {
    const own = ownLink(row, source.layout);
    if (own !== undefined) return { status: 'created', ...own };
    if (checked.rejectedRows.has(number)) {
      return { status: 'rejected', error: source.rules.problem(row) ?? '' };
    }
    if (comparison?.matched.has(number)) return matches?.next().value ?? UNSENT;
    return sent.next().value ?? UNSENT;
  };
  await output.write(format.header);
  let number = 0;
  for await (const rows of readRows(source.input, source.layout)) {
    let text = '';
    for (const row of rows) {
      text += format.line(row, outcomeOf(row, number));
      number += 1;
    }
    await output.write(text);
  }
}

const UNSENT: Outcome = { status: 'unsent', error: 'the import ended before this row was sent' };

/** The outcomes of the new rows, one after the other; undefined for those that were not sent. */
function* sentOutcomes({ journal, batches }: ReportInput): Generator<LinkResult | undefined> {
  let position = 0;
  for (const { first, count, id, unknown } of batches) {
    for (; position < first; position += 1) yield undefined;
    const results: PackedResults | undefined =
      unknown === undefined ? journal.results(id) : undefined;
    for (let index = 0; index < count; index += 1) {
      yield results === undefined
        ? { status: 'unknown', error: unknown ?? '' }
        : unpackResult(results, index);
    }
    position += count;
  }
}
