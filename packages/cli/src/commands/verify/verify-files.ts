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
import { untilClosed } from '../import/import-files.ts';
import type { VerifyInput } from './verify.ts';

const DEFAULT_TIMEOUT_MS = 30_000;
/** Fewer than for the service's API: a short URL that does not respond is what this command looks for. */
const DEFAULT_RETRIES = 2;

/** Wrong rows that the screen shows, and those of the JSON summary. The report has all. */
const SHOWN_PROBLEMS = 10;
const MAX_PROBLEMS = 100;

/** How the verification of one file ended. */
interface Outcome {
  file: string;
  output: string;
  table: Table;
  counts: Map<Finding, number>;
  problems: { line: number; short_url: string; verified: Finding; problem: string }[];
  elapsedMs: number;
}

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
  const outcomes: Outcome[] = [];
  for (const [index, table] of tables.entries()) {
    const settings = input.files[index];
    if (settings === undefined || signal.aborted) break;
    const outcome = await verifyFile(table, { ...input, ...settings }, asker, context);
    outcomes.push(outcome);
    if (globals.json !== true) await report(outcome, context);
  }
  const isWrong = outcomes.some(({ counts, table }) => okOf(counts) < table.links);
  const exitCode = isWrong ? EXIT_CODES.rowsFailed : EXIT_CODES.ok;
  if (globals.json === true) {
    const code = signal.aborted ? EXIT_CODES.interrupted : exitCode;
    const summary = summaryJson(outcomes, asker, code);
    if (input.files.some(({ output }) => output === '-')) {
      printer.event({ event: 'summary', ...summary });
    } else printer.json(summary);
  }
  if (signal.aborted) throw interruptedError();
  return exitCode;
}

async function createAsker(
  { servers, rpm }: VerifyInput,
  signal: AbortSignal,
  { io, globals }: Context,
): Promise<Asker> {
  const fetchTarget = (await proxyFetch(io.env)) ?? fetch;
  const { resolvedFetch } = await import('../../resolve-agent.ts');
  return new Asker({
    fetch: servers.length > 0 ? resolvedFetch(servers) : fetchTarget,
    fetchTarget,
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
): Promise<Outcome> {
  const { file, output } = settings;
  const counts = new Map(FINDINGS.map((name) => [name, 0]));
  const outcome: Outcome = { file, output, table, counts, problems: [], elapsedMs: 0 };
  const startedAt = performance.now();
  const status = await openStatusLine(io, printer);
  status.start(() => statusOf(outcome, performance.now() - startedAt));
  const stdout: ImportDeps['stdout'] = untilClosed(io.stdout, { end: () => status.stop() });
  const onVerdict = ({ row, shortUrl = '' }: LinkRow, { finding, problem = '' }: Verdict) => {
    counts.set(finding, (counts.get(finding) ?? 0) + 1);
    if (isFault(finding) && outcome.problems.length < MAX_PROBLEMS) {
      outcome.problems.push({ line: row.line, short_url: shortUrl, verified: finding, problem });
    }
  };
  try {
    const kept = await verifyTable(table, settings, { asker, stdout, onVerdict });
    if (kept !== undefined) {
      printer.warn(`A file that was changed by hand is kept as ${kept}.`);
    }
  } finally {
    status.stop();
  }
  outcome.problems.sort((one, other) => one.line - other.line);
  outcome.elapsedMs = performance.now() - startedAt;
  return outcome;
}

function isFault(finding: Finding): boolean {
  return finding !== 'ok' && finding !== 'skipped' && finding !== 'not_asked';
}

function okOf(counts: Outcome['counts']): number {
  return counts.get('ok') ?? 0;
}

function faultsOf(counts: Outcome['counts']): number {
  return [...counts].reduce((sum, [name, count]) => sum + (isFault(name) ? count : 0), 0);
}

function statusOf({ file, table, counts }: Outcome, elapsedMs: number): Status {
  const wrong = faultsOf(counts);
  const done = okOf(counts) + wrong;
  const left = done === 0 ? null : Math.round((elapsedMs / done) * (table.links - done));
  const text = `${formatCount(done)} of ${plural(table.links, 'link')} verified`;
  const rate = `${formatRate(done / Math.max(1, elapsedMs / 1000))}/s`;
  const parts = [
    { text, rank: 0 },
    ...(wrong > 0 ? [{ text: `${formatCount(wrong)} wrong`, rank: 1 }] : []),
    ...(left === null ? [] : [{ text: `${formatDuration(left)} left`, rank: 2 }]),
    { text: rate, rank: 5 },
  ];
  return {
    fraction: done / table.links,
    parts,
    plain: parts.map((part) => part.text),
    json: { task: 'verify', name: file, done, total: table.links, wait_ms: 0, left_ms: left },
  };
}

async function report(outcome: Outcome, { printer }: Context): Promise<void> {
  const { output, table, counts, problems, elapsedMs } = outcome;
  const ok = okOf(counts);
  const shown = problems.slice(0, SHOWN_PROBLEMS);
  for (const { line, short_url, problem } of shown) {
    printer.note(`  line ${line}: ${foreign(short_url)}: ${foreign(problem)}`);
  }
  const more = faultsOf(counts) - shown.length;
  if (more > 0) printer.note(`  and ${formatCount(more)} more`);
  const isRight = ok === table.links;
  const text =
    table.links === 1
      ? `The short URL ${isRight ? 'leads' : 'does not lead'} to its target`
      : `${isRight ? 'All' : `${formatCount(ok)} of`} ${formatCount(table.links)} short URLs lead to their targets`;
  printer.ended(isRight ? 'success' : 'attention', `${text} (${formatDuration(elapsedMs)})`);
  const rows = [...counts]
    .filter(([, count]) => count > 0)
    .map(([name, count]) => [name.replaceAll('_', ' '), formatCount(count)]);
  if (rows.length > 1) {
    printer.drawing(await renderTable({ rows, right: [1], style: printer.errStyle }));
  }
  if (output !== '-') printer.drawing(`  Report   ${sanitize(output)}`);
}

function summaryJson(outcomes: readonly Outcome[], { requests }: Asker, exitCode: ExitCode) {
  return {
    version: 1,
    command: 'verify',
    exit_code: exitCode,
    requests,
    files: outcomes.map(({ file, output, table, counts, problems, elapsedMs }) => ({
      file,
      rows: table.rows,
      links: table.links,
      wrong: faultsOf(counts),
      ...Object.fromEntries(counts),
      elapsed_ms: Math.round(elapsedMs),
      output,
      problems,
    })),
  };
}
