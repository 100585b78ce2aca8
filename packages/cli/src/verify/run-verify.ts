import { Readable } from 'node:stream';
import { csvLine } from '@shortlink/tables/basics';
import { SCHEMELESS } from '../import/map/target-problem.ts';
import { headerOf } from '../import/report/keep-changed.ts';
import { openOutput } from '../import/report/output-file.ts';
import type { ImportDeps } from '../import/types.ts';
import { type Asker, type Reply, webAddress } from './ask.ts';
import { type Finding, judge, judgeTarget, type Verdict, verdictOf } from './judge.ts';
import type { LinkRow, Table } from './table.ts';

export interface VerifySettings {
  output: string;
  /** Whether `output` is the default name. Then it is not written through a symbolic link. */
  isUsualOutput: boolean;
  targets?: boolean;
  concurrency: number;
}

interface VerifyDeps {
  asker: Asker;
  stdout: ImportDeps['stdout'];
  /** Counts each verdict. */
  tally: Tally;
}

export interface Tally extends Record<Finding, number> {
  wrong: number;
  /** The first ones that were found; in the end by their lines. */
  problems: { line: number; short_url: string; verified: Finding; problem: string }[];
}

/** The report has all wrong rows. */
const MAX_PROBLEMS = 100;

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

/** Results that may wait for a slow one, for each row that is asked: memory is bounded. */
const WAITING = 64;

/** Writes the report. Rows that a stopped run did not ask are in it as `not_asked`. Resolves to where an earlier file went that was no report. */
export async function verifyTable(table: Table, settings: VerifySettings, deps: VerifyDeps) {
  const { output: path, isUsualOutput, targets, concurrency } = settings;
  const { asker, stdout, tally } = deps;
  const format = reportFormat(table, /\.(?:jsonl|ndjson)$/i.test(path));
  const unusedOption = isUsualOutput ? '-o' : undefined;
  const output = await openOutput(path, { stdout, unusedOption, ownFiles: { isOurs: isReport } });
  const askTarget = targets ? rememberReplies((url) => asker.target(url)) : undefined;
  const verify = async (row: LinkRow) => {
    const verdict = await verdictOn(row, asker, askTarget);
    count(tally, row, verdict);
    return format.line(row, verdict);
  };
  try {
    await output.write(format.header);
    // In the order of the rows. The types of Node don't know `highWaterMark` here.
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

async function verdictOn(link: LinkRow, asker: Asker, askTarget?: AskTarget): Promise<Verdict> {
  const { row, shortUrl, target, isOff = false } = link;
  if (row.problem !== undefined) return verdictOf('invalid_row', row.problem);
  if (shortUrl === undefined) return verdictOf('skipped', 'the row has no short URL');
  // Some exports have no scheme.
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

/** Many short URLs lead to the same page. */
const MAX_REMEMBERED = 10_000;

function rememberReplies(ask: AskTarget): AskTarget {
  const replies = new Map<string, Promise<Reply>>();
  return (url) => {
    const key = url.href.split('#', 1)[0] ?? '';
    const reply = replies.get(key) ?? ask(url);
    if (replies.size >= MAX_REMEMBERED) replies.clear();
    replies.set(key, reply);
    return reply;
  };
}

const COLUMNS = [
  ...(['verified', 'verified_status', 'verified_location'] as const),
  ...(['verified_target_status', 'verified_problem'] as const),
] satisfies (keyof Verdict)[];

/** Whether a file has the columns of a report last: the next one replaces it. */
async function isReport(path: string): Promise<boolean> {
  const header = headerOf(path);
  const names = header.startsWith('{')
    ? Array.from(header.matchAll(/"(\w+)":/g), ([, key]) => key)
    : header.split(/\W/);
  return names.slice(-COLUMNS.length).join() === COLUMNS.join();
}

/** Writes rows as CSV, in the way of the input, or as JSON Lines: the table's own columns, then what was found out. */
function reportFormat({ layout: { plan, dialect } }: Table, isJsonl: boolean) {
  const { columns } = plan;
  const own = [...columns.keys()].filter((at) => !COLUMNS.some((name) => name === columns[at]));
  const header = csvLine([...own.map((at) => columns[at]), ...COLUMNS], dialect);
  return {
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
