import type { BatchResultItem, Job } from '@shortlink/sdk';
import { csvLine } from '@shortlink/tables/basics';
import { type Command, InvalidArgumentError } from 'commander';
import { EXIT_CODES, type ExitCode } from '../cli-error.ts';
import type { Context } from '../context.ts';
import { formatCount, plural } from '../format.ts';
import { openOutput } from '../import/report/output-file.ts';
import { foreign, sanitize, sanitizeData } from '../output/sanitize.ts';
import { openStatusLine, type Status } from '../output/status-line.ts';
import { renderTable } from '../output/table.ts';
import {
  type Declaration,
  declareCommand,
  type Perform,
  parseDuration,
  STANDARD_STREAM,
} from './declare.ts';

const JOB = '0193f5c2-7a10-7c41-9d2e-3f1b5a7c9e10';

export function declareJob(program: Command, perform: Perform): void {
  const job = declareCommand(program, perform, {
    name: 'job',
    description: 'Show a batch job, or wait for it.',
    tries: [`shortlink job get ${JOB}`, `shortlink job wait ${JOB} -o results.csv`],
  });
  const declare = (declaration: Declaration<[id: string, options: JobOptions]>) =>
    declareCommand(job, perform, declaration)
      .argument('<id>', 'id of the job, as the batch request or the import printed it')
      .option(
        '-o, --output <file>',
        'write the results to a .csv or .json file; - is CSV to stdout',
        parseOutput,
      );
  declare({
    name: 'get',
    description: 'Show the progress of a batch job, and its results so far.',
    tries: [`shortlink job get ${JOB}`, `shortlink job get ${JOB} -o results.csv`],
    act: getJob,
  });
  declare({
    name: 'wait',
    description: 'Wait until a batch job is complete, then show its results.',
    tries: [`shortlink job wait ${JOB}`, `shortlink job wait ${JOB} --max-wait 10m`],
    act: waitForJob,
  }).option('--max-wait <duration>', 'give up after this long (default: 1h)', parseDuration);
}

interface JobOptions {
  output?: string | undefined;
  /** Of `job wait` alone; undefined is the client's own limit, one hour. With 0, a job is polled once. */
  maxWait?: number | undefined;
}

function parseOutput(path: string): string {
  if (path === STANDARD_STREAM || /\.(?:csv|json)$/i.test(path)) return path;
  throw new InvalidArgumentError('The file must end in .csv or .json.');
}

async function getJob(context: Context, id: string, { output }: JobOptions): Promise<ExitCode> {
  const shortlink = await context.client(await context.account());
  const job = await context.interruptible((signal) => shortlink.jobs.retrieve(id, { signal }));
  await showJob(job, output, context);
  return EXIT_CODES.ok;
}

async function waitForJob(context: Context, id: string, { output, maxWait }: JobOptions) {
  const shortlink = await context.client(await context.account());
  const status = await openStatusLine(context.io, context.printer);
  let latest: Job | undefined;
  const onProgress = (job: Job) => {
    latest = job;
  };
  status.start(() => waitStatus(id, latest));
  try {
    const job = await context
      .interruptible((signal) =>
        shortlink.jobs.wait(id, { onProgress, signal, timeoutMs: maxWait === 0 ? 1 : maxWait }),
      )
      .finally(status.stop);
    await showJob(job, output, context);
    const isLost = job.results.filter(({ code, error }) => code || error).length < job.total;
    const isFailed = job.results.some(({ code, error }) => error && !code);
    if (isLost) context.printer.note('The service has no results for some of these links.');
    return isLost ? EXIT_CODES.unknownFate : isFailed ? EXIT_CODES.rowsFailed : EXIT_CODES.ok;
  } catch (error) {
    const { JobFailedError } = await import('@shortlink/sdk');
    // A failed job may have created links too.
    if (JobFailedError.isInstance(error)) await showJob(error.job, output, context);
    throw error;
  }
}

function waitStatus(name: string, job: Job | undefined): Status {
  const { processed: done = 0, total = null } = job ?? {};
  const text =
    total === null
      ? `Waiting for job ${sanitize(name)}`
      : `${formatCount(done)} of ${plural(total, 'link')} done`;
  return { task: 'job', name, done, total, parts: [[text, 0]] };
}

/** Rows that the table has at most. `--output` writes all of them. */
const TABLE_ROWS = 20;

async function showJob(job: Job, output: string | undefined, context: Context): Promise<void> {
  if (output !== undefined) await writeResults(job.results, output, context);
  if (output === STANDARD_STREAM) return;
  const { printer } = context;
  const { outStyle: style } = printer;
  const lines = [
    `${style.bold(foreign(job.id))}  ${foreign(job.status)}, ${formatCount(job.processed)} of ${plural(job.total, 'link')} done`,
  ];
  if (output === undefined && job.results.length > 0) {
    const shown = job.results.slice(0, TABLE_ROWS);
    const head = ['target URL', 'short URL', 'error'];
    const rows = shown.map(({ target_url, short_url = '', error }) => {
      return [target_url, short_url, foreign(error ?? '')];
    });
    lines.push(await renderTable({ head, rows, style }));
    const more = job.results.length - shown.length;
    if (more > 0) {
      lines.push(`and ${plural(more, 'more result')}: -o results.csv writes all of them to a file`);
    }
  }
  printer.result(job, lines.join('\n'));
}

async function writeResults(
  results: readonly BatchResultItem[],
  path: string,
  { io: { stdout }, printer }: Context,
) {
  const text = renderJobResults(results, /\.json$/i.test(path));
  if (path === STANDARD_STREAM) {
    stdout.write(stdout.isTTY ? sanitizeData(text) : text);
    return;
  }
  const file = await openOutput(path, { stdout });
  try {
    await file.write(text);
    const kept = await file.finish();
    printer.note(`Wrote ${plural(results.length, 'result')} to ${path}.`);
    if (kept !== undefined) printer.note(`What was in it before is in ${kept}.`);
  } finally {
    await file.discard();
  }
}

const COLUMNS = ['target_url', 'code', 'short_url', 'error'] as const;

function renderJobResults(results: readonly BatchResultItem[], isJson: boolean): string {
  if (isJson) return `${JSON.stringify(results, null, 2)}\n`;
  const rows = results.map((item) => COLUMNS.map((column) => item[column] ?? ''));
  return [COLUMNS, ...rows].map((cells) => csvLine(cells)).join('');
}
