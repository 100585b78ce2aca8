import { formatCount, formatDuration, plural, present } from '../format.ts';
import type { ImportSummary } from '../import/types.ts';
import { TOTALS } from './json-events.ts';
import type { Mark, Printer } from './printer.ts';
import { sanitize } from './sanitize.ts';
import type { Paint } from './style.ts';
import { renderTable } from './table.ts';

interface End {
  mark: Mark;
  text: string;
  counts: readonly (readonly [name: string, count: number, paint?: Paint | undefined])[];
  /** Files that were written, by their labels. */
  files: Readonly<Record<string, string | undefined>>;
}

export async function printEnd(end: End, printer: Printer): Promise<void> {
  printer.ended(end.mark, end.text);
  const rows = end.counts.map(([text, count, paint = (same: string) => same]) => [
    { text, paint },
    formatCount(count),
  ]);
  if (rows.length > 0) {
    printer.drawing(await renderTable({ rows, right: [1], style: printer.errStyle }));
  }
  for (const [label, path = '-'] of Object.entries(end.files)) {
    if (path !== '-') printer.drawing(`  ${label}   ${sanitize(path)}`);
  }
}

/** Prints how an import ended, with a table where not every row has its link. */
export async function printSummary(summary: ImportSummary, printer: Printer, verbose: boolean) {
  const { rejected, failed, unknown, unsent, stopped, dryRun } = summary;
  const notCreated = rejected + failed + unknown;
  const mark: Mark = stopped !== undefined ? 'failure' : notCreated > 0 ? 'attention' : 'success';
  const hasTable = verbose || (notCreated + unsent > 0 && !dryRun);
  const { green, yellow, red } = printer.errStyle;
  const paints = { created: green, changed: yellow, unknown: yellow, unsent: yellow };
  const all: Partial<Record<string, Paint>> = { ...paints, rejected: red, failed: red };
  const counts = TOTALS.filter((name) => hasTable && summary[name] > 0).map((name) => {
    const text = name === 'existing' ? 'already imported' : name;
    return [text, summary[name], all[name]] as const;
  });
  const files = { Results: summary.output, Rejects: summary.rejectsFile };
  printer.drawing('');
  await printEnd({ mark, text: outcomeOf(summary), counts, files }, printer);
}

function outcomeOf(summary: ImportSummary): string {
  const { rows, created, existing, rejected, failed, unknown, unsent, elapsedMs, dryRun } = summary;
  const counted = (count: number, words: string) => count > 0 && `${formatCount(count)} ${words}`;
  if (dryRun) {
    const { links, unsent: kept } = summary.forecast ?? { links: unsent, unsent: 0 };
    const parts = present(
      `${links === 0 ? 'No link' : plural(links, 'link')} would be created`,
      counted(kept, 'unsent'),
      counted(existing, 'already imported'),
      unknown > 0 && `${plural(unknown, 'row')} unknown since an earlier run`,
      rejected > 0 && `${plural(rejected, 'row')} can't be sent`,
    );
    return `${parts.join(', ')}. This was a dry run: nothing was sent.`;
  }
  if (existing === rows) {
    return `Already imported: ${rows === 1 ? '' : 'all '}${plural(rows, 'row')}`;
  }
  const parts = present(
    created === 0 ? 'No link created' : `${plural(created, 'link')} created`,
    counted(existing, 'already imported'),
    counted(rejected, 'rejected'),
    counted(failed, 'failed'),
    counted(unknown, 'unknown'),
    counted(unsent, 'unsent'),
  );
  return `${parts.join(', ')} in ${formatDuration(elapsedMs)}`;
}

/** How far a stopped import has come, for an error where there is no summary; empty where it has sent nothing. */
export function progressOf(summary: ImportSummary): string {
  const { file, rows, created, existing, unsent, stopped } = summary;
  if (rows === 0 || stopped?.reason === 'rejects') return '';
  const name = file === '-' ? 'standard input' : file;
  const have = `${formatCount(existing + created)} of ${plural(rows, 'row')} of ${name} have their link`;
  return unsent === 0 ? ` ${have}.` : ` ${have}, ${formatCount(unsent)} are unsent.`;
}
