import type { ImportSettings, ImportSummary } from '../../../cli/src/import/types.ts';
import { parseResults, targetOf, titleOf } from '../scenario/files.ts';
import type { RunPlan, UserTraits } from '../scenario/scenario.ts';
import type { MadeLink } from '../services/service.ts';
import { Counts, type Pair, pairOf, pairOfLink } from './ledger.ts';

interface ResultsToCheck {
  text: string | undefined;
  plan: RunPlan;
  user: UserTraits;
  summary: ImportSummary;
  settings: ImportSettings;
  made: readonly MadeLink[];
  /** Links of a pair that may exist without anybody knowing. */
  mayExist: (pair: Pair) => number;
  /** Links of a pair that a row must not be sent again for. */
  counted: (pair: Pair) => number;
}

/** Checks what the results say of each row against what the service has made. */
export function checkResults(check: ResultsToCheck): void {
  const { text, plan, user, summary, made } = check;
  const rows = text === undefined ? undefined : parseResults(text, outputFormat(user));
  if (rows === undefined || rows.length !== plan.rows.length) {
    throw new Error(`results of ${rows?.length} rows, not ${plan.rows.length}`);
  }
  const byCode = new Map(made.map((link) => [link.code, link]));
  const used = new Set<string>();
  const tally = { created: 0, rejected: 0, failed: 0, unknown: 0, unsent: 0 };
  const [have, unknown, doubted, left] = [new Counts(), new Counts(), new Counts(), new Counts()];
  rows.forEach((result, index) => {
    const row = plan.rows[index];
    if (row === undefined) return;
    const what = `row ${index} ${JSON.stringify(result)}`;
    const target = targetOf(row);
    if (result.target !== target || result.title !== titleOf(row, user)) {
      throw new Error(`${what} is not ${target}`);
    }
    const pair = pairOf(target, user.domain);
    switch (result.status) {
      case 'created': {
        const link = byCode.get(result.code);
        if (link === undefined || pairOfLink(link) !== pair)
          throw new Error(`${what} has no such link`);
        if (used.has(result.code)) throw new Error(`${what} has the link of another row`);
        if (!result.short_url.endsWith(`/${result.code}`))
          throw new Error(`${what}: wrong short URL`);
        used.add(result.code);
        have.add(pair);
        break;
      }
      case 'unknown':
        // A link belongs to its target, so that a row which will be refused may stand for that of another row.
        unknown.add(pair);
        // An entry that was refused by name, in a batch whose others became a job that could not be followed.
        if (row.kind !== 'refused') doubted.add(pair);
        break;
      case 'failed':
        if (row.kind !== 'refused') throw new Error(`${what} was never refused`);
        left.add(pair);
        break;
      case 'rejected':
        if (row.kind !== 'invalid') throw new Error(`${what} is valid`);
        break;
      case 'unsent':
        left.add(pair);
        break;
      default:
        throw new Error(`${what} has no status`);
    }
    if (row.kind === 'invalid' && result.status !== 'rejected')
      throw new Error(`${what} is invalid`);
    tally[result.status] += 1;
  });
  for (const [pair, count] of doubted.entries()) {
    if (count > check.mayExist(pair)) throw new Error(`${pair} is unknown, and there is no doubt`);
  }
  for (const [pair, count] of left.entries()) {
    const known = have.of(pair) + unknown.of(pair);
    if (check.counted(pair) > known) {
      throw new Error(
        `${pair}: ${count} rows have no link, and ${check.counted(pair) - known} links no row`,
      );
    }
  }
  checkSummary(tally, summary, check.settings);
}

function checkSummary(
  tally: Record<'created' | 'rejected' | 'failed' | 'unknown' | 'unsent', number>,
  summary: ImportSummary,
  { onUnknown, limit }: ImportSettings,
): void {
  const { created, existing, rejected, failed, unknown, unsent, stopped } = summary;
  const said = { created: created + existing, rejected, failed, unknown, unsent };
  if (JSON.stringify(said) !== JSON.stringify(tally)) {
    throw new Error(
      `the summary says ${JSON.stringify(said)}, the results ${JSON.stringify(tally)}`,
    );
  }
  if (stopped !== undefined) return;
  if (unsent > 0 && limit === undefined)
    throw new Error('rows are left although nothing stopped the run');
  if (unknown > 0 && onUnknown !== 'skip') throw new Error('unknown rows do not stop the run');
}

/** What a run that was stopped leaves is the old file, or the new one. */
export function checkIsWhole(
  text: string | undefined,
  before: string | undefined,
  count: number,
  user: UserTraits,
): void {
  if (text === before) return;
  const rows = text === undefined ? undefined : parseResults(text, outputFormat(user));
  if (rows?.length === count) return;
  throw new Error(
    `the results are neither the old ones nor whole: ${JSON.stringify(text?.slice(0, 300))}`,
  );
}

/** @param text - of the rejects file; undefined where there is none */
export function checkRejects(
  { rejected, rejectsFile }: ImportSummary,
  text: string | undefined,
): void {
  if (rejectsFile === undefined) {
    if (rejected > 0) throw new Error('rows are rejected, and there is no rejects file');
    return;
  }
  const lines = text?.split('\n').length ?? 0;
  if (lines !== rejected + 2) throw new Error(`${rejected} rejects, and a file of ${lines} lines`);
}

/** Results of a list of URLs are a table. */
export function outputFormat({ format }: UserTraits): { format: 'csv' | 'jsonl' } {
  return { format: format === 'jsonl' ? 'jsonl' : 'csv' };
}
