import type { Row } from '@shortlink/tables/basics';
import { ownLink } from '../map/result-columns.ts';
import { MOST_LISTED, type RowLists } from '../types.ts';
import { type ReportInput, type RowOutcome, reported } from './report-rows.ts';

/** Collects the rows that a summary names, from the outcome of each row. */
export function rowLister({
  source,
  found,
  evidence,
}: Pick<ReportInput, 'source' | 'found' | 'evidence'>) {
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
export async function listUnsent(
  known: Omit<ReportInput, 'batches' | 'whyUnsent' | 'onRow'>,
): Promise<RowLists> {
  const { lists, onRow } = rowLister(known);
  const report = { ...known, batches: [], whyUnsent: '', onRow };
  for await (const _ of reported(report));
  return lists;
}
