import { type FileHandle, open, readdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, onTestFinished, test, vi } from 'vitest';
import { stubService } from '../stub-service.ts';
import { cli, testFolder } from '../test-io.ts';

const ID = '0193f5c2-7a10-7c41-9d2e-3f1b5a7c9e10';
const ROUTE = `GET /api/v1/jobs/${ID}`;

const items = (count: number) =>
  Array.from({ length: count }, (_, i) => ({
    target_url: `https://example.com/${i}`,
    code: `c${i}`,
    short_url: `https://sho.rt/c${i}`,
  }));

const job = (processed: number, total: number, status = 'processing') => ({
  status: 200,
  body: { id: ID, status, processed, total, results: items(processed) },
});

test('get shows the job and its first results', async () => {
  const service = await stubService();
  service.answer(ROUTE, job(1_500, 10_000));
  const result = await cli(['job', 'get', ID], { env: service.env });
  expect(result.exitCode).toBe(0);
  expect(result.stdout).toContain(`${ID}  processing, 1,500 of 10,000 links done`);
  expect(result.stdout).toContain('https://sho.rt/c19');
  expect(result.stdout).not.toContain('https://sho.rt/c20 ');
  expect(result.stdout).toContain('1,480 more results');
});

test('get --json prints the job as the service sent it', async () => {
  const service = await stubService();
  service.answer(ROUTE, job(2, 2, 'completed'));
  const result = await cli(['job', 'get', ID, '--json'], { env: service.env });
  expect(JSON.parse(result.stdout)).toEqual(job(2, 2, 'completed').body);
});

test('an unknown job exits 1', async () => {
  const service = await stubService();
  const result = await cli(['job', 'get', ID], { env: service.env });
  expect(result.exitCode).toBe(1);
  expect(result.stderr).toMatch(/same account/);
});

test('wait polls to the end and writes CSV, with formulas made harmless', async () => {
  const service = await stubService();
  const folder = await testFolder();
  const file = join(folder, 'results.csv');
  const done = job(2, 2, 'completed');
  service.answer(ROUTE, job(1, 2), {
    ...done,
    body: { ...done.body, results: [items(1)[0], { target_url: '=1+1', error: 'not, a URL' }] },
  });
  const result = await cli(['job', 'wait', ID, '-o', file], { env: service.env });
  // One of its links failed.
  expect(result.exitCode).toBe(3);
  expect(await readFile(file, 'utf8')).toBe(
    'target_url,code,short_url,error\nhttps://example.com/0,c0,https://sho.rt/c0,\n\'=1+1,,,"not, a URL"\n',
  );
  expect(result.stderr).toContain(`Wrote 2 results to ${file}.`);
});

test.each([
  ['a link without a result may exist', items(1), 7],
  ['so it may beside one that failed', [{ target_url: 'https://a.example', error: 'no' }], 7],
  [
    'a link that has a code exists, whatever is said of it',
    [...items(1), { ...items(2)[1], error: 'its title was cut' }],
    0,
  ],
] as const)('the exit code of a job that is completed: %s', async (_, results, exitCode) => {
  const service = await stubService();
  const done = job(2, 2, 'completed');
  const headers = { 'retry-after': '2' };
  const answer = { ...done, headers, body: { ...done.body, results } };
  service.answer(ROUTE, answer);
  // A job that lacks results is asked again, and at the end of the time once more.
  if (exitCode === 7) service.answer(ROUTE, answer);
  const result = await cli(['job', 'wait', ID, '--max-wait', '1s'], { env: service.env });
  expect(result.exitCode).toBe(exitCode);
  if (exitCode === 7) expect(result.stderr).toContain('no results for some of these links');
});

test('wait -o results.json writes JSON', async () => {
  const service = await stubService();
  const file = join(await testFolder(), 'results.json');
  service.answer(ROUTE, job(2, 2, 'completed'));
  const result = await cli(['job', 'wait', ID, '-o', file], { env: service.env });
  expect(result.exitCode).toBe(0);
  expect(JSON.parse(await readFile(file, 'utf8'))).toEqual(items(2));
});

test('-o - sends CSV to stdout, and only that', async () => {
  const service = await stubService();
  service.answer(ROUTE, job(1, 1, 'completed'));
  const result = await cli(['job', 'get', ID, '-o', '-'], { env: service.env });
  expect(result.stdout).toBe(
    'target_url,code,short_url,error\nhttps://example.com/0,c0,https://sho.rt/c0,\n',
  );
});

test('-o - sends no escape sequence to a terminal', async () => {
  const service = await stubService();
  const target_url = 'https://example.com/\u001b]0;title\u0007\u001b[2Jx\ty';
  const done = { ...job(1, 1, 'completed').body, results: [{ target_url, error: 'a\rb' }] };
  service.answer(ROUTE, { status: 200, body: done }, { status: 200, body: done });
  const args = ['job', 'get', ID, '-o', '-'];
  const shown = await cli(args, { env: service.env, tty: { stdout: true } });
  expect(shown.stdout).toMatch(/^target_url,.*\nhttps:\/\/example\.com\/.*x\ty,,,"?a b"?\n$/);
  expect(shown.stdout.replace(/[\n\t]/g, '')).not.toMatch(/\p{Cc}/u);
  const piped = await cli(args, { env: service.env });
  expect(piped.stdout).toContain(target_url);
});

test('a file of another kind is a usage error, before anything is asked', async () => {
  const service = await stubService();
  const result = await cli(['job', 'get', ID, '-o', 'results.xlsx'], { env: service.env });
  expect(result.exitCode).toBe(2);
  expect(result.stderr).toMatch(/\.csv or \.json/);
  expect(service.requests).toHaveLength(0);
});

test('a failed job exits 3, and its results are written all the same', async () => {
  const service = await stubService();
  const file = join(await testFolder(), 'results.csv');
  service.answer(ROUTE, job(1, 3, 'failed'));
  const result = await cli(['job', 'wait', ID, '-o', file], { env: service.env });
  expect(result.exitCode).toBe(3);
  expect(await readFile(file, 'utf8')).toContain('https://sho.rt/c0');
});

test('--max-wait gives up, and says how to wait again', async () => {
  const service = await stubService();
  service.answer(ROUTE, ...Array.from({ length: 1 }, () => job(0, 2)));
  const result = await cli(['job', 'wait', ID, '--max-wait', '1ms'], { env: service.env });
  expect(result.exitCode).toBe(1);
  expect(result.stderr).toContain(`shortlink job wait ${ID}`);
});

test('--max-wait 0 polls once, and does not wait without an end', async () => {
  const service = await stubService();
  service.answer(ROUTE, job(1, 2));
  const result = await cli(['job', 'wait', ID, '--max-wait', '0'], { env: service.env });
  expect(result.exitCode).toBe(1);
  expect(result.stderr).toContain(`shortlink job wait ${ID}`);
  expect(service.requests).toHaveLength(1);
});

test('a terminal gets a spinner while it waits, and no trace of it in the end', async () => {
  const service = await stubService();
  service.answer(ROUTE, { ...job(1, 2), afterMs: 300 }, job(2, 2, 'completed'));
  const result = await cli(['job', 'wait', ID], {
    env: { ...service.env, TERM: 'xterm' },
    tty: { stderr: true },
  });
  expect(result.exitCode).toBe(0);
  expect(result.stderr).toContain('Waiting for job');
  expect(result.stdout).toContain('2 of 2 links done');
});

test('a terminal gets a bounded length of what a service says, and a pipe the whole of it', async () => {
  const service = await stubService();
  const long = `https://sho.rt/${'x'.repeat(5_000)}`;
  const results = [{ target_url: `${long}?target`, code: 'c', short_url: long }];
  const answer = {
    status: 200,
    body: { id: ID, status: 'completed', processed: 1, total: 1, results },
  };
  service.answer(ROUTE, answer, answer);
  const get = (stdout: boolean) => cli(['job', 'get', ID], { env: service.env, tty: { stdout } });
  expect((await get(true)).stdout.length).toBeLessThan(5_000);
  expect((await get(false)).stdout).toContain(`${long}?target`);
});

test('--quiet prints nothing but the job', async () => {
  const service = await stubService();
  service.answer(ROUTE, job(2, 2, 'completed'));
  const result = await cli(['job', 'wait', ID, '--quiet'], { env: service.env });
  expect(result.stderr).toBe('');
});

test('results for which the disk has no room leave the old file, and nothing beside it', async () => {
  const service = await stubService();
  const folder = await testFolder();
  const file = join(folder, 'results.csv');
  await writeFile(file, 'old');
  const handle = await open(file);
  const anyHandle: FileHandle = Object.getPrototypeOf(handle);
  await handle.close();
  const write = vi.spyOn(anyHandle, 'writeFile');
  onTestFinished(() => write.mockRestore());
  write.mockRejectedValue(Object.assign(new Error('full'), { code: 'ENOSPC', syscall: 'write' }));
  // More than is kept in memory before it is written.
  service.answer(ROUTE, job(20_000, 20_000, 'completed'));
  const result = await cli(['job', 'wait', ID, '-o', file], { env: service.env });
  expect(result.exitCode).toBe(1);
  expect(result.stderr).toContain("results.csv can't be written: the disk is full");
  expect(await readFile(file, 'utf8')).toBe('old');
  expect(await readdir(folder)).toEqual(['results.csv']);
});
