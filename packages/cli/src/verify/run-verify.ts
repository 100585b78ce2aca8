import { createReadStream } from 'node:fs';
import { Readable } from 'node:stream';
import { SCHEMELESS } from '../import/map/target-problem.ts';
import { csvLine } from '../import/report/csv-cell.ts';
import { NO_OWN_FILES } from '../import/report/keep-changed.ts';
import { openOutput } from '../import/report/output-file.ts';
import type { ImportDeps } from '../import/types.ts';
import { type Asker, type Reply, webAddress } from './ask.ts';
import { type Finding, judge, judgeTarget, type Verdict, verdictOf } from './judge.ts';
import type { LinkRow, Table } from './table.ts';

export interface VerifySettings {
  /** Path of the report, or `-` for standard output. */
  output: string;
  /** Whether `output` is the usual name: it is not written through a symbolic link then. */
  isUsualOutput: boolean;
  /** `--targets`: ask each target too. */
  targets: boolean;
  /** Rows that are asked at once. */
  concurrency: number;
}

interface VerifyDeps {
  asker: Asker;
  stdout: ImportDeps['stdout'];
  /** Is brought up to date with each verdict. */
  tally: Tally;
}

/** Rows by what was found out about them, and those that are wrong. */
export interface Tally extends Record<Finding, number> {
  wrong: number;
  /** The first wrong rows that were found; in the end by their lines. */
  problems: { line: number; short_url: string; verified: Finding; problem: string }[];
}

/** Wrong rows that are named. The report has all. */
const MAX_PROBLEMS = 100;

/** Findings that don't make a row wrong. */
const NO_FAULT: readonly Finding[] = ['ok', 'skipped', 'not_asked'];

function count(tally: Tally, { row: { line }, shortUrl = '' }: LinkRow, verdict: Verdict): void {
  const { verified, verified_problem: problem = '' } = verdict;
  tally[verified] += 1;
  if (NO_FAULT.includes(verified)) return;
  tally.wrong += 1;
  if (tally.problems.length < MAX_PROBLEMS) {
    tally.problems.push({ line, short_url: shortUrl, verified, problem });
  }
}

/** Results that may wait for an earlier one that takes long, for each one that is worked on: memory is bounded. */
const WAITING = 64;

/**
 * Asks the short URL of each row whether it leads to the row's target, and writes the report. Rows that a stopped run did not ask are
 * in it as `not_asked`.
 *
 * @returns where a file went that was there before, unless it was a report
 */
export async function verifyTable(
  table: Table,
  { output: path, isUsualOutput, targets, concurrency }: VerifySettings,
  { asker, stdout, tally }: VerifyDeps,
): Promise<string | undefined> {
  const format = reportFormat(table, /\.(?:jsonl|ndjson)$/i.test(path));
  const unusedOption = isUsualOutput ? '-o' : undefined;
  const ownFiles = { ...NO_OWN_FILES, isOurs: isReport };
  const output = await openOutput(path, { stdout, unusedOption, ownFiles });
  const askTarget = targets ? rememberReplies((url) => asker.target(url)) : undefined;
  const verify = async (row: LinkRow) => {
    const verdict = await verdictOn(row, asker, askTarget);
    count(tally, row, verdict);
    return format.line(row, verdict);
  };
  try {
    await output.write(format.header);
    // In the order of the rows. A variable, because the types of Node don't know `highWaterMark` here.
    const limits = { concurrency, highWaterMark: concurrency * WAITING };
    const lines = Readable.from(table.read()).map(verify, limits);
    for await (const line of lines) await output.write(line);
    tally.problems.sort((one, other) => one.line - other.line);
    return await output.finish();
  } finally {
    await output.discard();
  }
}

type AskTarget = (url: URL) => Promise<Reply>;

async function verdictOn(
  { row, shortUrl, target, isOff = false }: LinkRow,
  asker: Asker,
  askTarget: AskTarget | undefined,
): Promise<Verdict> {
  if (row.problem !== undefined) return verdictOf('invalid_row', row.problem);
  if (shortUrl === undefined) return verdictOf('skipped', 'the row has no short URL');
  // Some services export short URLs without their scheme.
  const url = webAddress(SCHEMELESS.test(shortUrl) ? `https://${shortUrl}` : shortUrl);
  const targetUrl = webAddress(target);
  if (url === undefined || targetUrl === undefined) {
    const what = url === undefined ? 'short URL' : 'target';
    return verdictOf('invalid_row', `its ${what} is no http or https URL`);
  }
  const verdict = judge(url, targetUrl, await asker.short(url), isOff);
  if (isOff || verdict.verified !== 'ok' || askTarget === undefined) return verdict;
  const reply = await askTarget(targetUrl);
  const isStopped = 'failure' in reply && reply.failure === 'not_asked';
  return isStopped ? judge(url, targetUrl, reply) : judgeTarget(verdict, reply);
}

/** Targets whose responses are remembered: many short URLs lead to the same page. */
const MAX_REMEMBERED = 10_000;

function rememberReplies(ask: AskTarget): AskTarget {
  const replies = new Map<string, Promise<Reply>>();
  return (url) => {
    // The part after # is never sent.
    const key = url.href.split('#', 1)[0] ?? '';
    const reply = replies.get(key) ?? ask(url);
    if (replies.size >= MAX_REMEMBERED) replies.clear();
    replies.set(key, reply);
    return reply;
  };
}

/** Columns that a report adds to those of its table. */
const COLUMNS = [
  ...(['verified', 'verified_status', 'verified_location'] as const),
  ...(['verified_target_status', 'verified_problem'] as const),
] satisfies (keyof Verdict)[];

/** Longest first line that is looked at. A file with a longer one is kept. */
const FIRST_BYTES = 64 * 1024;

/** Whether a file has the columns of a report last, as this command writes it: the next report replaces it. */
async function isReport(path: string): Promise<boolean> {
  for await (const bytes of createReadStream(path, { highWaterMark: FIRST_BYTES })) {
    const [first = ''] = String(bytes)
      .replace(/^\ufeff?(?:sep=.\r?\n)?/, '')
      .split(/\r?\n/, 1);
    const names = first.startsWith('{')
      ? Array.from(first.matchAll(/"(\w+)":/g), ([, key]) => key)
      : first.split(/\W/);
    return names.slice(-COLUMNS.length).join() === COLUMNS.join();
  }
  return false;
}

/** The lines of a report as CSV, written as the input is, or as JSON Lines: the table's own columns, then what was found out. */
function reportFormat({ layout: { plan, dialect } }: Table, isJsonl: boolean) {
  const { columns } = plan;
  // A report may be verified again.
  const own = [...columns.keys()].filter((at) => !COLUMNS.some((name) => name === columns[at]));
  const header = csvLine([...own.map((at) => columns[at]), ...COLUMNS], dialect);
  return {
    /** What comes before the first row. */
    header: isJsonl ? '' : (dialect.bom ? '\ufeff' : '') + dialect.sep + header,
    line({ row: { cells, object } }: LinkRow, verdict: Verdict): string {
      if (!isJsonl) {
        const found = COLUMNS.map((name) => verdict[name]);
        const surplus = cells.slice(columns.length);
        return csvLine([...own.map((at) => cells[at]), ...found, ...surplus], dialect);
      }
      const row = object ?? Object.fromEntries(own.map((at) => [columns[at], cells[at] ?? '']));
      const found = Object.fromEntries(COLUMNS.map((name) => [name, verdict[name] ?? null]));
      return `${JSON.stringify({ ...row, ...found })}\n`;
    },
  };
}
