import type { BatchResultItem, Job } from '@shortlink/sdk';
import type { Context } from '../../context.ts';
import { openOutput } from '../../import/report/output-file.ts';
import { formatCount, plural } from '../../output/format.ts';
import { renderJobResults } from '../../output/job-results.ts';
import { sanitize } from '../../output/sanitize.ts';
import { renderTable } from '../../output/table.ts';
import type { JobOutput } from './job-input.ts';

/** Results shown as a table; more are for a file. */
const TABLE_ROWS = 20;

/** Prints a job, and writes its results where they were asked for. */
export async function showJob(
  job: Job,
  output: JobOutput | undefined,
  context: Context,
): Promise<void> {
  if (output !== undefined) {
    await writeResults(job.results, output, context);
  }
  // With `-o -`, stdout already carries the results.
  if (output?.path !== '-') {
    await print(job, output === undefined, context);
  }
}

async function writeResults(
  results: readonly BatchResultItem[],
  output: JobOutput,
  context: Context,
): Promise<void> {
  const text = renderJobResults(results, output.format);
  if (output.path === '-') {
    context.io.stdout.write(text);
    return;
  }
  const file = await openOutput(output.path, { stdout: context.io.stdout });
  await file.write(text);
  const { kept } = await file.finish();
  context.printer.note(`Wrote ${plural(results.length, 'result')} to ${output.path}.`);
  if (kept !== undefined) context.printer.note(`What was in it before is in ${kept}.`);
}

async function print(job: Job, withResults: boolean, context: Context): Promise<void> {
  const { printer, globals } = context;
  if (globals.json === true) {
    printer.json(job);
    return;
  }
  const style = printer.outStyle;
  const done = `${formatCount(job.processed)} of ${plural(job.total, 'link')} done`;
  printer.data(`${style.bold(sanitize(job.id))}  ${sanitize(job.status)}, ${done}`);
  if (!withResults || job.results.length === 0) {
    return;
  }
  printer.data(
    await renderTable({
      head: ['target URL', 'short URL', 'error'],
      rows: job.results
        .slice(0, TABLE_ROWS)
        .map((item) => [item.target_url, item.short_url ?? '', item.error ?? '']),
      style,
    }),
  );
  if (job.results.length > TABLE_ROWS) {
    const more = plural(job.results.length - TABLE_ROWS, 'more result');
    printer.data(`and ${more}: write them all to a file with -o results.csv`);
  }
}
