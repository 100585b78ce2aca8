import { mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { PassThrough } from 'node:stream';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { Asker } from './ask.ts';
import { FINDINGS, type Finding } from './judge.ts';
import { type Tally, verifyTable } from './run-verify.ts';
import { type LinkRow, openTable } from './table.ts';

let folder: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'verify-'));
});
afterEach(() => rm(folder, { recursive: true }));

const at = (name: string) => join(folder, name);
const newTally = (): Tally => {
  const counts = FINDINGS.map((name) => [name, 0] as const);
  return { ...(Object.fromEntries(counts) as Record<Finding, number>), wrong: 0, problems: [] };
};

type Respond = (url: URL) => Response;

interface Options {
  signal?: AbortSignal;
  cut?: (rows: AsyncGenerator<LinkRow>) => AsyncGenerator<LinkRow>;
}

/** Verifies a table of short URLs, each of which leads to its target, with what responds at the targets. */
async function verify(targets: readonly string[], respond: Respond, options: Options = {}) {
  const { signal = new AbortController().signal, cut = (rows) => rows } = options;
  const rows = targets.map((target, n) => `https://sho.rt/c${n},${target}\n`);
  await writeFile(at('links.csv'), `short_url,target_url\n${rows.join('')}`);
  const stdin = Object.assign(new PassThrough(), { isTTY: false });
  const found = { file: at('links.csv'), inputFormat: 'auto', map: {} } as const;
  const table = await openTable(found, { stdin, signal });
  const fetches = {
    fetchShort: async (input: string | URL | Request) => {
      const at = Number(new URL(String(input)).pathname.slice(2));
      return new Response(null, { status: 302, headers: { Location: targets[at] ?? '' } });
    },
    fetchTarget: async (input: string | URL | Request) => await respond(new URL(String(input))),
  };
  const limits = { timeoutMs: 1_000, maxRetries: 0, requestsPerMinute: undefined };
  const asker = new Asker({ ...limits, ...fetches, allowGet: false, userAgent: 'test', signal });
  const settings = { output: at('report.csv'), isUsualOutput: true, targets: true, concurrency: 4 };
  const tally = newTally();
  const stdout = Object.assign(new PassThrough(), { isPipe: false });
  const kept = await verifyTable({ ...table, read: () => cut(table.read()) }, settings, {
    asker,
    stdout,
    tally,
  });
  return { tally, kept, report: await readFile(at('report.csv'), 'utf8') };
}

test('a target of many rows is asked once, and the memory of targets is bounded', async () => {
  const asked = new Map<string, number>();
  const respond = ({ href }: URL) => {
    asked.set(href, (asked.get(href) ?? 0) + 1);
    return new Response();
  };
  const targets = Array.from({ length: 10_000 }, (_, n) => `https://example.com/${n}`);
  const [first = ''] = targets;
  const { tally } = await verify([first, ...targets, 'https://example.com/new', first], respond);
  expect(tally).toMatchObject({ ok: 10_003, wrong: 0 });
  // It was forgotten with the others.
  expect([...asked.values()].filter((count) => count > 1)).toEqual([2]);
  expect(asked.get(first)).toBe(2);
});

test('a row whose target was asked when the run was stopped counts as not asked', async () => {
  const stop = new AbortController();
  const respond = () => {
    stop.abort();
    return Response.error();
  };
  const { tally, report } = await verify(['https://example.com/'], respond, stop);
  expect(tally).toMatchObject({ not_asked: 1, ok: 0, wrong: 0 });
  expect(report).toContain(',not_asked,');
});

test.each([
  [
    'is replaced',
    'a,verified,verified_status,verified_location,verified_target_status,verified_problem',
    false,
  ],
  [
    'with a column behind is kept',
    'verified,verified_status,verified_location,verified_target_status,verified_problem,b',
    true,
  ],
])('an earlier report %s', async (_, header, isKept) => {
  await writeFile(at('report.csv'), `${header}\nx\n`);
  const { kept } = await verify(['https://example.com/'], () => new Response());
  expect(kept !== undefined).toBe(isKept);
});

test('a report that ends in an error leaves nothing of itself', async () => {
  const cut = async function* (rows: AsyncGenerator<LinkRow>) {
    yield* rows;
    throw new Error('the rest of the table is lost');
  };
  // More than is written at once.
  const targets = Array(5_000).fill('https://example.com/');
  const ending = verify(targets, () => new Response(), { cut });
  await expect(ending).rejects.toThrow('is lost');
  expect(await readdir(folder)).toEqual(['links.csv']);
});

test('of many that are wrong, the first hundred are kept for the summary', async () => {
  const targets = Array.from({ length: 101 }, (_, n) => `https://example.com/${n}`);
  const { tally } = await verify(targets, () => new Response(null, { status: 404 }));
  expect([tally.wrong, tally.problems.length]).toEqual([101, 100]);
});
