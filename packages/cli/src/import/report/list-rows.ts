import type { Checked, Source } from '../check/check-input.ts';
import type { Comparison, Evidence } from '../check/evidence.ts';
import { ownLink } from '../map/result-columns.ts';
import { MOST_LISTED, type Row, type RowLists } from '../types.ts';
import { type ReportInput, type RowOutcome, reportRows } from './report-rows.ts';

/** What is known of the rows whose outcomes are listed. */
interface Known {
  source: Source;
  comparison: Comparison | undefined;
  evidence: Evidence | undefined;
}

/** Collects the rows that a summary names, from the outcome of each row. */
export function rowLister({ source, comparison, evidence }: Known) {
  const lists: RowLists = { problems: [], changed: [], new: [] };
  const { changed, created } = evidence?.listed() ?? {};
  const isNew = (row: Row, number: number) =>
    comparison?.matched.has(number) === true
      ? created?.has(number) === true
      : ownLink(row, source.layout) === undefined || comparison?.disowned.has(number) === true;
  const add = <T>(list: T[], item: () => T) => {
    if (list.length < MOST_LISTED) list.push(item());
  };
  const onRow = (row: Row, number: number, outcome: RowOutcome) => {
    const { status } = outcome;
    const place = { line: row.line, row: number + 1 };
    if (status !== 'created' && status !== 'unsent') {
      add(lists.problems, () => ({ ...place, status, reason: outcome.error }));
      return;
    }
    const short_url = status === 'created' ? outcome.short_url : null;
    const target = () => ({ ...place, target_url: source.rules.link(row).target_url });
    if (isNew(row, number)) add(lists.new, () => ({ ...target(), short_url }));
    else if (short_url !== null && changed?.has(number)) {
      add(lists.changed, () => ({ ...target(), short_url }));
    }
  };
  return { lists, onRow };
}

/** The rows that the summary of a run names which sends nothing. Reads the input once more. */
export async function listUnsent(
  known: Omit<ReportInput, 'batches' | 'limit' | 'onRow'> & { checked: Checked },
): Promise<RowLists> {
  const { lists, onRow } = rowLister(known);
  const nowhere = { header: '', line: () => '' };
  await reportRows({ ...known, batches: [], limit: undefined, onRow }, nowhere, {
    write: () => undefined,
  });
  return lists;
}
