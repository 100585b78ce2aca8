import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';
import { JobRunner } from '../../src/jobs/runner.ts';
import { PUBLIC_URL, resultsOf } from '../../src/store/contract/fixtures.test-suite.ts';
import { sqlText } from '../../src/store/queries/reading.ts';
import { Database } from '../../src/store/sqlite/database.ts';
import { openSqliteStore } from '../../src/store/sqlite/index.ts';
import { useDatabasePath } from '../../src/store/sqlite/temp-database.test-suite.ts';

const WRITING_PROCESS = fileURLToPath(new URL('./writing-process.ts', import.meta.url));
const databasePath = useDatabasePath();

/** How much each process reports before it is killed. */
const REPORTS = process.env['SHORTLINK_TEST_NIGHT'] ? [1, 40, 333, 1_000, 2_500] : [1, 40, 500];

/** Lets a process write, kills it in the midst of that, and answers what it reported as acknowledged. */
async function writeUntilKilled(path: string, afterReports: number): Promise<string[][]> {
  const child = spawn(process.execPath, [WRITING_PROCESS, path], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const closed = once(child, 'close');
  let output = '';
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    output += text;
    if (output.split('\n').length > afterReports) child.kill('SIGKILL');
  });
  const [, signal] = await closed;
  expect(signal).toBe('SIGKILL');
  // A last line without its end was being written when the kill came.
  return output
    .slice(0, output.lastIndexOf('\n'))
    .split('\n')
    .map((line) => line.split(' '));
}

/** What SQLite itself and our own counters say of the file. */
function inspect(path: string) {
  const db = new Database({ path });
  try {
    return {
      integrity: db.get<{ integrity_check: string }>(sqlText('PRAGMA integrity_check'))
        ?.integrity_check,
      foreignKeys: db.all(sqlText('PRAGMA foreign_key_check')),
      links: db.get<{ n: number }>(sqlText('SELECT count(*) AS n FROM links'))?.n,
      taken: db.get<{ n: number }>(sqlText('SELECT sum(used) AS n FROM link_totals'))?.n,
    };
  } finally {
    db.close();
  }
}

test('after kill -9 nothing acknowledged is lost, and accepted jobs complete exactly', {
  timeout: 240_000,
}, async () => {
  const path = databasePath();
  const codes: string[] = [];
  const clicked: string[] = [];
  const jobs: { accountId: string; jobId: string; total: number }[] = [];
  for (const reports of REPORTS) {
    for (const [what, first = '', jobId = '', total] of await writeUntilKilled(path, reports)) {
      if (what === 'link') codes.push(first);
      else if (what === 'clicks') clicked.push(first);
      else jobs.push({ accountId: first, jobId, total: Number(total) });
    }
  }
  expect(codes.length).toBeGreaterThan(100);
  expect(jobs.length).toBeGreaterThan(4);

  const store = await openSqliteStore({ path, publicUrl: PUBLIC_URL });
  expect((await store.pendingJobs()).length).toBeGreaterThan(0);
  const runner = new JobRunner({ store });
  await runner.start();
  await expect.poll(() => store.pendingJobs()).toEqual([]);
  await runner.stop();

  for (const code of codes) expect(await store.findRedirect(code)).toBeDefined();
  for (const code of clicked) expect(await store.findLink(code)).toMatchObject({ click_count: 1 });
  for (const { accountId, jobId, total } of jobs) {
    const job = await store.findJob(accountId, jobId);
    expect(job).toMatchObject({ status: 'completed', total, processed: total });
    const results = await resultsOf(store, job);
    expect(results.map((item) => item.target_url)).toEqual(
      Array.from({ length: total }, (_, n) => `https://example.com/${n}`),
    );
    expect(new Set(results.map((item) => item.code)).size).toBe(total);
  }
  await store.close();

  const found = inspect(path);
  expect(found).toMatchObject({ integrity: 'ok', foreignKeys: [] });
  // Every place that is taken has its link, and every link its place: no create was half done.
  expect(found.links).toBe(found.taken);
});
