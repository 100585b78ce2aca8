import type { ImportSummary } from '../../../cli/src/import/types.ts';
import { LOOKUP_PATH } from '../../../sdk/test/scripted-service/look-up.ts';
import type { MadeLink } from '../../../sdk/test/scripted-service/service.ts';
import { parseResults, parseTable } from '../scenario/file-text.ts';
import { contentOf, targetOf, titleOf } from '../scenario/files.ts';
import type { RunPlan, UserTraits } from '../scenario/scenario.ts';
import type { Exchange } from '../world/network.ts';
import { Counts, type Pair, pairOfLink, pairOfRow } from './ledger.ts';

interface ResultsToCheck {
  text: string | undefined;
  plan: RunPlan;
  user: UserTraits;
  made: readonly MadeLink[];
  /** Whether each link has the title of its row: nothing was edited, and no response was in another order. */
  areTitlesCertain: boolean;
  /** All so far. After a look-up, links in doubt are told apart by target, title and tags, and not by their redirect types. */
  exchanges: readonly Exchange[];
  /**
   * Rows of which files say that their links may exist. A file does not say which link it means, so that what the journal knows of one row may
   * stand for another with the same target, and so may a copy of the journal.
   */
  stated: Counts;
  /** Links of a pair that may exist without anybody knowing. */
  mayExist: (pair: Pair) => number;
  /** Links of a pair that a row must not be sent again for. */
  counted: (pair: Pair) => number;
}

/** What the results say of a row. */
export interface ReportedRow {
  status: 'created' | 'rejected' | 'failed' | 'unknown' | 'unsent';
  link: MadeLink | undefined;
}

type RowsToCheck = Pick<
  ResultsToCheck,
  'text' | 'plan' | 'user' | 'made' | 'areTitlesCertain' | 'exchanges'
>;

const SHORT = 'https://sho.rt/';

/**
 * Checks that each line is the one of its row, and that what it says of a link is true.
 *
 * @returns undefined where there are no results of so many rows
 */
function readReported(check: RowsToCheck): ReportedRow[] | undefined {
  const { text, plan, user, made, areTitlesCertain, exchanges } = check;
  const isLookedUp = exchanges.some(({ path }) => path === LOOKUP_PATH);
  const rows = text === undefined ? undefined : parseResults(text);
  if (rows?.length !== plan.rows.length) return undefined;
  const byCode = new Map(made.map((link) => [link.code, link]));
  const used = new Set<string>();
  return rows.map((result, index) => {
    const row = plan.rows[index];
    const wrong = (why: string) => new Error(`row ${index} ${JSON.stringify(result)} ${why}`);
    const { status, code, short_url, error } = result;
    if (row === undefined || !isStatus(status)) throw wrong('has no status');
    const target = targetOf(row);
    const title = titleOf(row, user);
    if (
      result.target !== target ||
      result.title !== title ||
      result.domain !== (row.domain ?? '')
    ) {
      throw wrong(`is not ${target}`);
    }
    if ((row.kind === 'invalid') !== (status === 'rejected')) throw wrong(`is ${row.kind}`);
    if (status !== 'created') {
      // A row that was copied keeps what it names until it has a link of its own.
      const isCopied =
        user.inPlace && user.keepsResults && byCode.has(code) && short_url === SHORT + code;
      if (!isCopied && (code !== '' || short_url !== '')) throw wrong('has a link');
      if (error === '') throw wrong('does not say why');
      return { status, link: undefined };
    }
    const link = byCode.get(code);
    if (link === undefined || pairOfLink(link) !== pairOfRow(row, user))
      throw wrong('has no such link');
    if (used.has(code)) throw wrong('has the link of another row');
    if (short_url !== SHORT + code) throw wrong('wrong short URL');
    if (error !== '') throw wrong('has an error');
    const seen = (content: string) => (isLookedUp ? content.replace(/ \(\d+\)$/, '') : content);
    if (areTitlesCertain && seen(link.content) !== seen(contentOf(row, user)))
      throw wrong(`has the link of ${link.content}`);
    used.add(code);
    return { status, link };
  });
}

function isStatus(text: string): text is ReportedRow['status'] {
  return ['created', 'rejected', 'failed', 'unknown', 'unsent'].includes(text);
}

/** Checks what the results say of each row against what the service has made. */
export function checkResults(check: ResultsToCheck): readonly ReportedRow[] {
  const { text, plan, user } = check;
  const reported = readReported(check);
  if (reported === undefined) {
    throw new Error(`results are not ${plan.rows.length} rows: ${JSON.stringify(text)}`);
  }
  const [have, unknown, doubted, left] = [new Counts(), new Counts(), new Counts(), new Counts()];
  reported.forEach(({ status }, index) => {
    const row = plan.rows[index];
    if (row === undefined) return;
    const pair = pairOfRow(row, user);
    if (status === 'created') have.add(pair);
    if (status === 'unknown') {
      // A link belongs to its target, so that a row which will be refused may stand for that of another row.
      unknown.add(pair);
      // An entry that was refused by name, in a batch whose others became a job that could not be followed.
      if (row.kind !== 'refused') doubted.add(pair);
    }
    if (status === 'failed' && row.kind !== 'refused')
      throw new Error(`row ${index} was never refused`);
    if (status === 'failed' || status === 'unsent') left.add(pair);
  });
  for (const [pair, count] of doubted.entries()) {
    if (count > check.mayExist(pair) + check.stated.of(pair))
      throw new Error(`${pair} is unknown, and there is no doubt`);
  }
  for (const [pair, count] of left.entries()) {
    const known = have.of(pair) + unknown.of(pair);
    if (check.counted(pair) > known) {
      throw new Error(
        `${pair}: ${count} rows have no link, and ${check.counted(pair) - known} links no row`,
      );
    }
  }
  return reported;
}

/** A journal that fails can't say which results are its own, so that later runs may doubt what these call unknown. */
export function addUnknown(
  recorded: Counts,
  reported: readonly ReportedRow[],
  { rows }: Pick<RunPlan, 'rows'>,
  user: UserTraits,
): void {
  reported.forEach(({ status }, index) => {
    const row = rows[index];
    if (status === 'unknown' && row) recorded.add(pairOfRow(row, user));
  });
}

/** What a run that was stopped leaves is the old file, or the new one: that says the truth of each row, too. */
export function checkIsWhole(check: RowsToCheck, before: string | undefined): void {
  const { text } = check;
  if (text === before || readReported(check) !== undefined) return;
  throw new Error(
    `the results are neither the old ones nor whole: ${JSON.stringify(text?.slice(0, 300))}`,
  );
}

/** @param text - of the rejects file; undefined where there is none */
export function checkRejects(
  { rejected, rejectsFile }: ImportSummary,
  { rows }: RunPlan,
  user: UserTraits,
  text: string | undefined,
): void {
  if (rejectsFile === undefined) {
    if (rejected > 0) throw new Error('rows are rejected, and there is no rejects file');
    return;
  }
  const [, ...lines] = parseTable(text ?? '');
  if (lines.length !== rejected)
    throw new Error(`${rejected} rejects, and a file of ${lines.length} lines`);
  const header = user.format === 'csv' ? 1 : 0;
  for (const [index, row] of rows.entries()) {
    if (row.kind !== 'invalid') continue;
    const cells = lines.shift() ?? [];
    const isTold = cells.includes(targetOf(row)) && cells.at(-2) === String(index + 1 + header);
    if (!isTold) throw new Error(`row ${index} is rejected as ${JSON.stringify(cells)}`);
  }
}
