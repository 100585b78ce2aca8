import { Readable } from 'node:stream';
import { SCHEMELESS } from '../import/map/cells.ts';
import { openOutput } from '../import/report/output-file.ts';
import type { ImportDeps } from '../import/types.ts';
import { type Asker, type Reply, webAddress } from './ask.ts';
import { judge, judgeTarget, type Verdict } from './judge.ts';
import { reportFormat } from './report.ts';
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
  /** Called with each row as soon as its verdict is known, not in the order of the rows. */
  onVerdict: (row: LinkRow, verdict: Verdict) => void;
}

/** Results that may wait for an earlier one that takes long, for each one that is worked on: memory is bounded. */
const WAITING = 64;

/**
 * Asks the short URL of each row whether it leads to the row's target, and writes the report. Rows that a stopped run did not ask are
 * in it as `not_asked`.
 *
 * @returns where an earlier report went that a person had changed
 */
export async function verifyTable(
  table: Table,
  { output: path, isUsualOutput, targets, concurrency }: VerifySettings,
  { asker, stdout, onVerdict }: VerifyDeps,
): Promise<string | undefined> {
  const format = reportFormat(table, /\.(?:jsonl|ndjson)$/i.test(path));
  const unusedOption = isUsualOutput ? '-o' : undefined;
  const output = await openOutput(path, { stdout, unusedOption });
  const askTarget = targets ? rememberReplies((url) => asker.target(url)) : undefined;
  const verify = async (row: LinkRow) => {
    const verdict = await verdictOn(row, asker, askTarget);
    onVerdict(row, verdict);
    return format.line(row, verdict);
  };
  try {
    await output.write(format.header);
    // In the order of the rows. A variable, because the types of Node don't know `highWaterMark` here.
    const limits = { concurrency, highWaterMark: concurrency * WAITING };
    const lines = Readable.from(table.read()).map(verify, limits);
    for await (const line of lines) await output.write(line);
    return await output.finish();
  } finally {
    await output.discard();
  }
}

type AskTarget = (url: URL) => Promise<Reply>;

async function verdictOn(
  { row, shortUrl, target }: LinkRow,
  asker: Asker,
  askTarget: AskTarget | undefined,
): Promise<Verdict> {
  if (row.problem !== undefined) return { finding: 'invalid_row', problem: row.problem };
  if (shortUrl === undefined) return { finding: 'skipped', problem: 'the row has no short URL' };
  // Some services export short URLs without their scheme.
  const url = webAddress(SCHEMELESS.test(shortUrl) ? `https://${shortUrl}` : shortUrl);
  const targetUrl = webAddress(target);
  if (url === undefined || targetUrl === undefined) {
    const what = url === undefined ? 'short URL' : 'target';
    return { finding: 'invalid_row', problem: `its ${what} is no http or https URL` };
  }
  const verdict = judge(url, targetUrl, await asker.short(url));
  if (verdict.finding !== 'ok' || askTarget === undefined) return verdict;
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
