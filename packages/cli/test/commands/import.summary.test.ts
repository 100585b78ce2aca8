import { mkdir, readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test, vi } from 'vitest';
import { BATCH, GOOD, scene, urls } from '../import-scene.ts';
import { USAGE } from '../stub-service.ts';
import { cli } from '../test-io.ts';

/** A scene, and a run of it with `--summary`. */
async function withSummary(text: string, name?: string) {
  const here = await scene(text, name);
  const path = join(here.folder, 'summary.json');
  const run = async (args: string[] = []) => {
    const result = await here.run(['--summary', path, ...args]);
    return { ...result, summary: JSON.parse(await readFile(path, 'utf8')) };
  };
  return { ...here, path, run };
}

test('--summary is the JSON of --json, and progress stays plain', async () => {
  const { input, run } = await withSummary(GOOD);
  const { exitCode, stdout, stderr, summary } = await run();
  expect({ exitCode, stdout }).toEqual({ exitCode: 0, stdout: '' });
  expect(stderr).toContain('2 links created');
  expect(summary).toMatchObject({ version: 2, exit_code: 0, rows: 2, new: 2, created: 2 });
  expect(summary).toMatchObject({ problems: [], changed_rows: [] });
  expect(summary.new_rows).toEqual([
    {
      file: input,
      line: 2,
      row: 1,
      target_url: 'https://example.com/a',
      short_url: 'https://sho.rt/c1',
    },
    {
      file: input,
      line: 3,
      row: 2,
      target_url: 'https://example.com/b',
      short_url: 'https://sho.rt/c2',
    },
  ]);
  const again = await run(['--json']);
  expect(JSON.parse(again.stdout)).toEqual(again.summary);
  expect(again.summary).toMatchObject({ existing: 2, new: 0, new_rows: [] });
});

test.each([';', '\t'])('names each bad row by file, line and row: %j', async (delimiter) => {
  const rows = [
    'https://example.com/a',
    'nope',
    '"https://example.com/\nb"',
    'https://example.com/c',
  ];
  const text = ['url', ...rows].map((cell) => `${cell}${delimiter}x\n`).join('');
  const { input, run, bodies } = await withSummary(text, 'links.csv');
  const { exitCode, summary } = await run();
  expect(exitCode).toBe(2);
  expect(bodies()).toEqual([]);
  expect(summary).toMatchObject({ rejected: 2, new: 2, created: 0 });
  expect(summary.problems).toEqual([
    { file: input, line: 3, row: 2, status: 'rejected', reason: expect.stringContaining('nope') },
    { file: input, line: 4, row: 3, status: 'rejected', reason: expect.any(String) },
  ]);
  expect(summary.new_rows.map(({ line }: { line: number }) => line)).toEqual([2, 6]);
});

test('names a row that the service refuses, and those without an answer', async () => {
  const { service, run } = await withSummary(GOOD);
  const details = [{ index: 1, field: 'target_url', message: 'This target is not allowed.' }];
  service.answer(BATCH, { status: 400, body: { error: 'bad', details } });
  const refused = await run();
  expect(refused.exitCode).toBe(3);
  expect(refused.summary.problems).toEqual([
    expect.objectContaining({
      line: 3,
      row: 2,
      status: 'failed',
      reason: expect.stringContaining('not allowed'),
    }),
  ]);
  expect(refused.summary.new_rows).toEqual([expect.objectContaining({ line: 2 })]);
  service.answer(BATCH, { status: 200, drop: true });
  const lost = await run();
  expect(lost.exitCode).toBe(7);
  expect(lost.summary.problems).toEqual([expect.objectContaining({ line: 3, status: 'unknown' })]);
});

test('names edited rows, and warns of an edited target', async () => {
  const { input, run } = await withSummary(GOOD);
  await run(['--in-place']);
  const filled = await readFile(input, 'utf8');
  await writeFile(input, filled.replace(',A,', ',Z,').replace('example.com/b', 'example.com/z'));
  const { exitCode, summary } = await run(['--in-place', '--dry-run']);
  expect(exitCode).toBe(0);
  expect(summary).toMatchObject({ new: 1, existing: 1, changed: 1 });
  expect(summary.changed_rows).toEqual([
    {
      file: input,
      line: 2,
      row: 1,
      target_url: 'https://example.com/a',
      short_url: 'https://sho.rt/c1',
    },
  ]);
  expect(summary.new_rows).toEqual([
    { file: input, line: 3, row: 2, target_url: 'https://example.com/z', short_url: null },
  ]);
  expect(summary.files[0].warnings).toEqual([
    '1 row asks for another link than before, and the old one still leads to the old target (line 3: https://sho.rt/c2).',
  ]);
});

test('a plan has the forecast against the limits of the account', async () => {
  const { service, run, bodies } = await withSummary(GOOD);
  const links = { used: 9, limit: 10 };
  service.answer('GET /api/v1/usage', { status: 200, body: { ...USAGE, links } });
  const { exitCode, summary } = await run(['--dry-run']);
  expect(exitCode).toBe(0);
  expect(bodies()).toEqual([]);
  expect(summary.files[0].forecast).toMatchObject({ links: 1, unsent: 1, room: 1, plan: 'pro' });
});

test('a dry run that hears nothing of the account says so', async () => {
  const { service, run } = await withSummary(GOOD);
  service.answer('GET /api/v1/usage', { status: 404, body: { error: 'Not found.' } });
  const { exitCode, summary } = await run(['--dry-run']);
  expect(exitCode).toBe(0);
  expect(summary.files[0].warnings).toEqual([
    expect.stringContaining('The service says nothing about the account'),
  ]);
});

test('a dry run without a key checks the file, and says what it could not know', async () => {
  const { folder, input } = await scene(`${GOOD}nope,C\n`);
  const path = join(folder, 'plan.json');
  const result = await cli(['import', input, '--dry-run', '--summary', path], { env: {} });
  expect(result.exitCode).toBe(3);
  expect(result.stderr).toContain('The service was not asked');
  const summary = JSON.parse(await readFile(path, 'utf8'));
  expect(summary).toMatchObject({ new: 2, rejected: 1, problems: [{ line: 4 }] });
  expect(summary.files[0]).toMatchObject({ forecast: { plan: null, room: null } });
  // The service was not asked, so there is no warning that it says nothing about the account.
  expect(summary.files[0].warnings).toEqual([
    expect.stringContaining('no API key is set'),
    expect.stringContaining("A row can't be sent"),
  ]);
});

test('--expect-no-changes exits 8 where the file asks for a link, and creates none', async () => {
  const { input, run, bodies } = await withSummary(GOOD);
  const fresh = await run(['--expect-no-changes']);
  expect(fresh.exitCode).toBe(8);
  expect(fresh.summary).toMatchObject({ exit_code: 8, new: 2 });
  expect(fresh.stderr).toContain('error: 2 rows ask for a new link, and none was expected.');
  expect(bodies()).toEqual([]);
  await run();
  expect((await run(['--expect-no-changes'])).exitCode).toBe(0);
  await writeFile(input, GOOD.replace('A', 'Edited'));
  const edited = await run(['--expect-no-changes']);
  expect(edited).toMatchObject({ exitCode: 0, summary: { changed: 1, new: 0 } });
  await writeFile(input, `${GOOD}nope,C\n`);
  expect((await run(['--expect-no-changes'])).exitCode).toBe(3);
  await writeFile(input, `${GOOD}nope,C\nhttps://example.com/c,C\n`);
  expect((await run(['--expect-no-changes'])).exitCode).toBe(8);
});

test('a summary of many rows names the first 1,000', async () => {
  const { run } = await withSummary(urls(1_200), 'urls.txt');
  const { summary } = await run(['--dry-run']);
  expect(summary.new).toBe(1_200);
  expect(summary.new_rows).toHaveLength(1_000);
});

test('a summary that can not be written stops the run before anything is sent', async () => {
  const { folder, run, bodies, path } = await withSummary(GOOD);
  const result = await scene(GOOD);
  const missing = await result.run(['--summary', join(folder, 'missing', 's.json')]);
  expect(missing).toMatchObject({ exitCode: 2, stdout: '' });
  expect(missing.stderr).toContain('no such file or folder');
  for (const [summary, words] of [
    [result.input, 'are the same file'],
    ['-', '--summary must be a file'],
  ] as const) {
    const wrong = await result.run(['--summary', summary]);
    expect(wrong.exitCode).toBe(2);
    expect(wrong.stderr).toContain(words);
  }
  expect(result.bodies()).toEqual([]);
  // What an earlier run wrote is no summary of a run that fails.
  await run();
  expect(bodies()).toHaveLength(1);
  await result.run(['--summary', path, '--api-key', 'wrong-key-of-somebody']);
  const summary = JSON.parse(await readFile(path, 'utf8'));
  expect(summary).toMatchObject({ exit_code: 4, created: 0, new: 2, problems: [] });
});

test.each([
  ['', 1],
  ['no URL,C\n', 3],
])(
  'a summary that can not be written at the end hides nothing of what became of the rows: %j',
  async (more, code) => {
    const { folder, run, service, bodies } = await scene(GOOD + more);
    await mkdir(join(folder, 'gone'));
    const results = ['a', 'b'].map((code) => ({ code, short_url: `https://sho.rt/${code}` }));
    const body = { status: 'completed', total: 2, results };
    service.answer(BATCH, { status: 200, body, afterMs: 1_000 });
    const summary = join(folder, 'gone', 'summary.json');
    const running = run(['--summary', summary, '--json', '--max-rejects', 'all']);
    await vi.waitFor(() => expect(bodies()).toHaveLength(1), { timeout: 30_000 });
    await rm(join(folder, 'gone'), { recursive: true });
    const { exitCode, stdout, stderr } = await running;
    expect(exitCode).toBe(code);
    expect(JSON.parse(stdout)).toMatchObject({ created: 2, exit_code: code });
    expect(stderr).toContain("summary.json can't be written: there is no such file or folder");
  },
);

test('a run that could not begin leaves no summary of an earlier one', async () => {
  const { folder, input } = await scene(GOOD);
  const path = join(folder, 'summary.json');
  await writeFile(path, '{"exit_code":0}\n');
  const { exitCode } = await cli(['import', input, '--summary', path], { env: {} });
  expect(exitCode).toBe(2);
  expect(await readFile(path, 'utf8')).toBe('');
});
