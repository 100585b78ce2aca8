import { openOutput } from '../import/report/output-file.ts';
import type { ImportDeps } from '../import/types.ts';
import type { Asker, Reply } from './ask.ts';
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
    for await (const line of inOrder(table.read(), verify, concurrency)) await output.write(line);
    return await output.finish();
  } finally {
    await output.discard();
  }
}

type AskTarget = (url: URL) => Promise<Reply>;

async function verdictOn(
  { shortUrl, target }: LinkRow,
  asker: Asker,
  askTarget: AskTarget | undefined,
): Promise<Verdict> {
  if (shortUrl === undefined) return { finding: 'skipped', problem: 'the row has no short URL' };
  const url = webAddress(withScheme(shortUrl));
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

/** Some services export short URLs without their scheme: `bit.example/abc`. */
function withScheme(shortUrl: string): string {
  return /^[\w-]+(?:\.[\w-]+)+(?::\d+)?(?:\/|$)/.test(shortUrl) ? `https://${shortUrl}` : shortUrl;
}

function webAddress(text: string): URL | undefined {
  const url = URL.parse(text);
  return url?.protocol === 'https:' || url?.protocol === 'http:' ? url : undefined;
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

/** Results that may wait for an earlier one that takes long, for each one that is worked on. */
const WAITING = 64;

/** Works on up to `concurrency` items at once, and yields the results in the order of the items. Memory is bounded. */
export async function* inOrder<T, R>(
  items: AsyncIterable<T>,
  work: (item: T) => Promise<R>,
  concurrency: number,
): AsyncGenerator<R> {
  const queue: Promise<R>[] = [];
  const running = new Set<Promise<void>>();
  for await (const item of items) {
    if (running.size >= concurrency) await Promise.race(running);
    const result = work(item);
    // An error is thrown where the result is yielded.
    const done = result.then(
      () => void running.delete(done),
      () => void running.delete(done),
    );
    running.add(done);
    queue.push(result);
    if (queue.length >= concurrency * WAITING) yield* queue.splice(0, 1);
  }
  yield* queue;
}
