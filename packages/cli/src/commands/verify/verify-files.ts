import { EXIT_CODES, type ExitCode, interruptedError } from '../../cli-error.ts';
import type { Context } from '../../context.ts';
import { formatClock, formatCount, formatDuration, formatRate, plural } from '../../format.ts';
import { printEnd } from '../../output/import-summary.ts';
import { foreign } from '../../output/sanitize.ts';
import { openStatusLine, type Status } from '../../output/status-line.ts';
import { proxyFetch } from '../../proxy-fetch.ts';
import { Asker } from '../../verify/ask.ts';
import { FINDINGS, type Finding } from '../../verify/judge.ts';
import { type Tally, verifyTable } from '../../verify/run-verify.ts';
import { openTable, type Table } from '../../verify/table.ts';
import { VERSION } from '../../version.ts';
import { untilClosed } from '../import/import-file.ts';
import type { VerifyInput } from './verify.ts';

const DEFAULT_TIMEOUT_MS = 30_000;
/** The longest time that a timer can have, for a limit of 0, which is none. */
const MAX_TIMEOUT_MS = 2 ** 31 - 1;
/** Fewer than for the service's API: this command looks for short URLs that do not respond. */
const DEFAULT_RETRIES = 2;

const SHOWN_PROBLEMS = 10;

type FileToVerify = VerifyInput['files'][number];

/** The part of one file in the JSON summary, and what the screen shows. */
interface Result extends Tally {
  file: string;
  rows: number;
  links: number;
  elapsed_ms: number;
  output: string;
}

/** Looks at all files first. */
export async function verifyFiles(input: VerifyInput, context: Context): Promise<ExitCode> {
  const { stdin } = context.io;
  const tables = new Map<FileToVerify, Table>();
  return await context.interruptible(async (signal) => {
    try {
      for (const file of input.files) tables.set(file, await openTable(file, { stdin, signal }));
      return await verifyTables(tables, input, signal, context);
    } finally {
      for (const { input: opened } of tables.values()) await opened.dispose();
    }
  });
}

async function verifyTables(
  tables: ReadonlyMap<FileToVerify, Table>,
  { files, options }: VerifyInput,
  signal: AbortSignal,
  context: Context,
) {
  const { printer, globals } = context;
  const asker = await createAsker(options, signal, context);
  const results: Result[] = [];
  for (const [settings, table] of tables) {
    if (signal.aborted) break;
    const result = await verifyFile(table, settings, asker, context);
    results.push(result);
    if (globals.json !== true) await report(result, context);
  }
  const isWrong = results.some(({ ok, links }) => ok < links);
  const exitCode = isWrong ? EXIT_CODES.rowsFailed : EXIT_CODES.ok;
  const exit_code = signal.aborted ? EXIT_CODES.interrupted : exitCode;
  const { requests } = asker;
  printer.summary({ version: 1, command: 'verify', exit_code, requests, files: results }, files);
  if (signal.aborted) throw interruptedError();
  return exitCode;
}

async function createAsker(options: VerifyInput['options'], signal: AbortSignal, context: Context) {
  const { resolve = [], rpm, allowGet, allowPrivate } = options;
  const { globals, io } = context;
  const { leadsInside, resolvingFetch } = await import('../../agents.ts');
  // The file could have this machine ask services that only it can reach.
  const { baseUrl } = await context.settings();
  const isInside = allowPrivate || (baseUrl && (await leadsInside(baseUrl.value))) === true;
  const fetchTarget = (await proxyFetch(io.env, !isInside)) ?? fetch;
  return new Asker({
    fetchShort: resolvingFetch(resolve, fetchTarget),
    fetchTarget,
    allowGet,
    timeoutMs: Math.min(globals.timeout ?? DEFAULT_TIMEOUT_MS, MAX_TIMEOUT_MS) || MAX_TIMEOUT_MS,
    maxRetries: globals.maxRetries ?? DEFAULT_RETRIES,
    requestsPerMinute: rpm,
    userAgent: `shortlink-cli/${VERSION} (verify)`,
    signal,
  });
}

async function verifyFile(table: Table, settings: FileToVerify, asker: Asker, context: Context) {
  const { io, printer } = context;
  const { file, output } = settings;
  const { rows, links } = table;
  const counts = Object.fromEntries(FINDINGS.map((name) => [name, 0])) as Record<Finding, number>;
  const result: Result = {
    ...{ file, rows, links, wrong: 0 },
    ...counts,
    ...{ elapsed_ms: 0, output, problems: [] },
  };
  const startedAt = performance.now();
  const elapsedMs = () => performance.now() - startedAt;
  const status = await openStatusLine(io, printer);
  status.start(() => statusOf(result, elapsedMs()));
  try {
    const stdout = untilClosed(io.stdout, status.stop);
    const kept = await verifyTable(table, settings, { asker, stdout, tally: result });
    if (kept !== undefined) printer.warn(`What ${output} held before is kept as ${kept}.`);
  } finally {
    status.stop();
  }
  return { ...result, elapsed_ms: Math.round(elapsedMs()) };
}

function statusOf({ file, links, ok, wrong }: Result, elapsedMs: number): Status {
  const done = ok + wrong;
  const left = done === 0 ? null : Math.round((elapsedMs / done) * (links - done));
  return {
    ...{ task: 'verify', name: file, done, total: links, left_ms: left },
    parts: [
      [`${formatCount(done)} / ${plural(links, 'link')}`, 3],
      [`${formatCount(wrong)} wrong`, 1],
      [`${formatRate(done / Math.max(1, elapsedMs / 1000))}/s`, 5],
      ...(left === null ? [] : [[`${formatClock(left)} left`, 2] as const]),
    ],
  };
}

async function report(result: Result, { printer }: Context): Promise<void> {
  const { output, links, ok, wrong, problems, elapsed_ms } = result;
  const shown = problems.slice(0, SHOWN_PROBLEMS);
  for (const { line, short_url, problem } of shown) {
    // A row that can't be read has no short URL.
    const texts = [short_url, problem].filter((text) => text !== '').map(foreign);
    printer.note(`  line ${line}: ${texts.join(': ')}`);
  }
  if (wrong > shown.length) printer.note(`  and ${formatCount(wrong - shown.length)} more`);
  const lead = ok + result.dead_target;
  const isRight = lead === links;
  const text =
    links === 1
      ? `The short URL ${isRight ? 'leads' : 'does not lead'} to its target`
      : `${isRight ? 'All' : `${formatCount(lead)} of`} ${formatCount(links)} short URLs lead to their targets`;
  const found = FINDINGS.filter((name) => result[name] > 0);
  const counts = found.map((name) => [name.replaceAll('_', ' '), result[name]] as const);
  await printEnd(
    {
      mark: ok === links ? 'success' : 'attention',
      text: `${text} (${formatDuration(elapsed_ms)})`,
      counts: counts.length > 1 ? counts : [],
      files: { Report: output },
    },
    printer,
  );
}
