import { EXIT_CODES, type ExitCode, interruptedError } from '../../cli-error.ts';
import type { Context } from '../../context.ts';
import { formatCount, formatDuration, formatRate, plural } from '../../format.ts';
import type { ImportDeps } from '../../import/types.ts';
import { foreign, sanitize } from '../../output/sanitize.ts';
import { openStatusLine, type Status } from '../../output/status-line.ts';
import { renderTable } from '../../output/table.ts';
import { proxyFetch } from '../../proxy-fetch.ts';
import { Asker } from '../../verify/ask.ts';
import { FINDINGS, type Finding, type Verdict } from '../../verify/judge.ts';
import { verifyTable } from '../../verify/run-verify.ts';
import { type LinkRow, openTable, type Table } from '../../verify/table.ts';
import { VERSION } from '../../version.ts';
import { untilClosed } from '../import/import-file.ts';
import type { VerifyInput } from './verify.ts';

const DEFAULT_TIMEOUT_MS = 30_000;
/** Fewer than for the service's API: a short URL that does not respond is what this command looks for. */
const DEFAULT_RETRIES = 2;

/** Wrong rows that the screen shows, and those of the JSON summary. The report has all. */
const SHOWN_PROBLEMS = 10;
const MAX_PROBLEMS = 100;

/** How the verification of one file ended: its part of the JSON summary, and what the screen shows. */
interface Result extends Record<Finding, number> {
  file: string;
  rows: number;
  links: number;
  wrong: number;
  elapsed_ms: number;
  output: string;
  problems: { line: number; short_url: string; verified: Finding; problem: string }[];
}

/** Findings that don't make a row wrong. */
const NO_FAULT: readonly Finding[] = ['ok', 'skipped', 'not_asked'];

/** Looks at all files first, then verifies one after the other. */
export async function verifyFiles(input: VerifyInput, context: Context): Promise<ExitCode> {
  const tables: Table[] = [];
  try {
    for (const settings of input.files) tables.push(await openTable(settings, context.io.stdin));
    return await context.interruptible((signal) => verifyTables(tables, input, signal, context));
  } finally {
    for (const { input: opened } of tables) await opened.dispose();
  }
}

async function verifyTables(
  tables: readonly Table[],
  input: VerifyInput,
  signal: AbortSignal,
  context: Context,
): Promise<ExitCode> {
  const { printer, globals } = context;
  const asker = await createAsker(input, signal, context);
  const results: Result[] = [];
  for (const [index, table] of tables.entries()) {
    const settings = input.files[index];
    if (settings === undefined || signal.aborted) break;
    const result = await verifyFile(table, { ...input, ...settings }, asker, context);
    results.push(result);
    if (globals.json !== true) await report(result, context);
  }
  const isWrong = results.some(({ ok, links }) => ok < links);
  const exitCode = isWrong ? EXIT_CODES.rowsFailed : EXIT_CODES.ok;
  if (globals.json === true) {
    const exit_code = signal.aborted ? EXIT_CODES.interrupted : exitCode;
    const { requests } = asker;
    const summary = { version: 1, command: 'verify', exit_code, requests, files: results };
    if (input.files.some(({ output }) => output === '-')) {
      printer.event({ event: 'summary', ...summary });
    } else printer.json(summary);
  }
  if (signal.aborted) throw interruptedError();
  return exitCode;
}

async function createAsker(
  { resolve = [], rpm, allowGet }: VerifyInput,
  signal: AbortSignal,
  { io, globals }: Context,
): Promise<Asker> {
  const { fetchVia, publicAgent, resolvingAgent } = await import('../../agents.ts');
  const proxied = await proxyFetch(io.env);
  const fetchTarget = proxied ?? fetch;
  return new Asker({
    fetch: resolve.length > 0 ? fetchVia(resolvingAgent(resolve)) : fetchTarget,
    fetchTarget,
    // A proxy looks the names up, and decides where it connects to.
    fetchRedirected: proxied ?? fetchVia(publicAgent()),
    allowGet,
    timeoutMs: globals.timeout ?? DEFAULT_TIMEOUT_MS,
    maxRetries: globals.maxRetries ?? DEFAULT_RETRIES,
    requestsPerMinute: rpm,
    userAgent: `shortlink-cli/${VERSION} (verify)`,
    signal,
  });
}

async function verifyFile(
  table: Table,
  settings: VerifyInput & VerifyInput['files'][number],
  asker: Asker,
  { io, printer }: Context,
): Promise<Result> {
  const { file, output } = settings;
  const { rows, links } = table;
  const counts = Object.fromEntries(FINDINGS.map((name) => [name, 0])) as Record<Finding, number>;
  const result: Result = {
    ...{ file, rows, links, wrong: 0 },
    ...counts,
    ...{ elapsed_ms: 0, output, problems: [] },
  };
  const startedAt = performance.now();
  const status = await openStatusLine(io, printer);
  status.start(() => statusOf(result, performance.now() - startedAt));
  const stdout: ImportDeps['stdout'] = untilClosed(io.stdout, { end: () => status.stop() });
  const onVerdict = ({ row, shortUrl = '' }: LinkRow, { finding, problem = '' }: Verdict) => {
    result[finding] += 1;
    if (NO_FAULT.includes(finding)) return;
    result.wrong += 1;
    if (result.problems.length < MAX_PROBLEMS) {
      result.problems.push({ line: row.line, short_url: shortUrl, verified: finding, problem });
    }
  };
  try {
    const kept = await verifyTable(table, settings, { asker, stdout, onVerdict });
    if (kept !== undefined) {
      printer.warn(`What ${output} held before is kept as ${kept}.`);
    }
  } finally {
    status.stop();
  }
  result.problems.sort((one, other) => one.line - other.line);
  result.elapsed_ms = Math.round(performance.now() - startedAt);
  return result;
}

function statusOf({ file, links, ok, wrong }: Result, elapsedMs: number): Status {
  const done = ok + wrong;
  const left = done === 0 ? null : Math.round((elapsedMs / done) * (links - done));
  const text = `${formatCount(done)} of ${plural(links, 'link')} verified`;
  const rate = `${formatRate(done / Math.max(1, elapsedMs / 1000))}/s`;
  const parts = [
    { text, rank: 0 },
    ...(wrong > 0 ? [{ text: `${formatCount(wrong)} wrong`, rank: 1 }] : []),
    ...(left === null ? [] : [{ text: `${formatDuration(left)} left`, rank: 2 }]),
    { text: rate, rank: 5 },
  ];
  return {
    fraction: done / links,
    parts,
    plain: parts.map((part) => part.text),
    json: { task: 'verify', name: file, done, total: links, wait_ms: 0, left_ms: left },
  };
}

async function report(result: Result, { printer }: Context): Promise<void> {
  const { output, links, ok, wrong, problems, elapsed_ms } = result;
  const shown = problems.slice(0, SHOWN_PROBLEMS);
  for (const { line, short_url, problem } of shown) {
    // A row that can't be read has no short URL to show.
    const texts = [short_url, problem].filter((text) => text !== '').map(foreign);
    printer.note(`  line ${line}: ${texts.join(': ')}`);
  }
  if (wrong > shown.length) printer.note(`  and ${formatCount(wrong - shown.length)} more`);
  const isRight = ok === links;
  const text =
    links === 1
      ? `The short URL ${isRight ? 'leads' : 'does not lead'} to its target`
      : `${isRight ? 'All' : `${formatCount(ok)} of`} ${formatCount(links)} short URLs lead to their targets`;
  printer.ended(isRight ? 'success' : 'attention', `${text} (${formatDuration(elapsed_ms)})`);
  const rows = FINDINGS.filter((name) => result[name] > 0).map((name) => [
    name.replaceAll('_', ' '),
    formatCount(result[name]),
  ]);
  if (rows.length > 1) {
    printer.drawing(await renderTable({ rows, right: [1], style: printer.errStyle }));
  }
  if (output !== '-') printer.drawing(`  Report   ${sanitize(output)}`);
}
