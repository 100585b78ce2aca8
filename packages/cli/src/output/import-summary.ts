import { formatCount, formatDuration, plural } from '../format.ts';
import type { ImportSummary } from '../import/types.ts';
import type { Mark, Printer } from './printer.ts';
import { sanitize } from './sanitize.ts';
import type { Paint, Style } from './style.ts';
import { renderTable } from './table.ts';

/** Prints how the import of one file ended: one sentence, a table where not every row has its link, and the files that were written. */
export async function printImportSummary(
  summary: ImportSummary,
  printer: Printer,
  verbose: boolean,
): Promise<void> {
  const { rejected, failed, unknown, unsent, stopped, dryRun } = summary;
  const notCreated = rejected + failed + unknown;
  const mark: Mark = stopped !== undefined ? 'failure' : notCreated > 0 ? 'attention' : 'success';
  printer.drawing('');
  printer.ended(mark, outcomeOf(summary));
  if (verbose || (notCreated + unsent > 0 && !dryRun)) {
    printer.drawing(await table(summary, printer.errStyle));
  }
  for (const [name, path] of [
    ['Results', summary.output],
    ['Rejects', summary.rejectsFile],
  ] as const) {
    if (path !== undefined && path !== '-') printer.drawing(`  ${name}   ${sanitize(path)}`);
  }
}

function outcomeOf(summary: ImportSummary): string {
  const { rows, created, existing, rejected, failed, unknown, unsent, elapsedMs, dryRun } = summary;
  if (dryRun) {
    const { links, left } = summary.forecast ?? { links: unsent, left: 0 };
    const parts = [
      `${links === 0 ? 'No link' : plural(links, 'link')} would be created`,
      ...(left > 0 ? [`${formatCount(left)} unsent`] : []),
      ...(existing > 0 ? [`${formatCount(existing)} already imported`] : []),
      ...(unknown > 0 ? [`${plural(unknown, 'row')} unknown since an earlier run`] : []),
      ...(rejected > 0 ? [`${plural(rejected, 'row')} can't be sent`] : []),
    ];
    return `${parts.join(', ')}. This was a dry run: nothing was sent.`;
  }
  if (existing === rows)
    return `Already imported: ${rows === 1 ? '' : 'all '}${plural(rows, 'row')}`;
  const others = [
    [existing, 'already imported'],
    [rejected, 'rejected'],
    [failed, 'failed'],
    [unknown, 'unknown'],
    [unsent, 'unsent'],
  ] as const;
  const parts = [
    created === 0 ? 'No link created' : `${plural(created, 'link')} created`,
    ...others
      .filter(([count]) => count > 0)
      .map(([count, word]) => `${formatCount(count)} ${word}`),
  ];
  return `${parts.join(', ')} in ${formatDuration(elapsedMs)}`;
}

/** How far an import that was stopped has come, to be added to an error where there is no summary; empty where it has sent nothing. */
export function progressOf(summary: ImportSummary): string {
  const { file, rows, created, existing, unsent, stopped } = summary;
  if (rows === 0 || stopped?.reason === 'rejects') return '';
  const name = file === '-' ? 'standard input' : file;
  const have = `${formatCount(existing + created)} of ${plural(rows, 'row')} of ${name} have their link`;
  return unsent === 0 ? ` ${have}.` : ` ${have}, ${formatCount(unsent)} are unsent.`;
}

/** The counts that are not zero. */
function table(summary: ImportSummary, style: Style): Promise<string> {
  const { green, yellow, red } = style;
  const paints = { created: green, changed: yellow, unknown: yellow, unsent: yellow } as const;
  const all: Partial<Record<string, Paint>> = { ...paints, rejected: red, failed: red };
  const rows = TOTALS.filter((name) => summary[name] > 0).map((name) => {
    const text = name === 'existing' ? 'already imported' : name;
    return [{ text, paint: all[name] ?? ((same: string) => same) }, formatCount(summary[name])];
  });
  return renderTable({ rows, right: [1], style });
}

/** Counts that add up over files. */
export const TOTALS = [
  'rows',
  'created',
  'existing',
  'changed',
  'gone',
  'rejected',
  'failed',
  'unknown',
  'unsent',
  'batches',
  'requests',
] as const satisfies (keyof ImportSummary)[];
