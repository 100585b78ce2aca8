import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { BATCH, GOOD } from './import-scene.ts';
import { startReal } from './real-process.ts';
import { stubService } from './stub-service.ts';
import { type CliOptions, cli, testFolder } from './test-io.ts';

const USAGE = 'GET /api/v1/usage';

/** Runs the command with `--json`. Every line of its stderr must be an object that names its event. */
async function events(argv: readonly string[], options: CliOptions = {}) {
  const { exitCode, stdout, stderr } = await cli([...argv, '--json'], options);
  return { exitCode, stdout, events: eventsOf(stderr) };
}

function eventsOf(stderr: string): Array<{ event: string; [name: string]: unknown }> {
  return stderr
    .split('\n')
    .slice(0, -1)
    .map((line) => JSON.parse(line));
}

/** Without those that only a slow machine has the time for. */
const untimed = <E extends { event: string }>(events: readonly E[]) =>
  events.filter(({ event }) => event !== 'progress');

async function inputFile(text = GOOD): Promise<string> {
  const path = join(await testFolder(), 'links.csv');
  await writeFile(path, text);
  return path;
}

test('an import reports what it found, what it compares and what it expects', async () => {
  const service = await stubService();
  const file = await inputFile();
  const first = await events(['import', file], { env: service.env });
  expect(untimed(first.events)).toEqual([
    {
      event: 'checked',
      file,
      format: 'csv',
      encoding: 'utf-8',
      delimiter: ',',
      mapping: { target_url: 'url', title: 'title' },
      notes: [],
      rows: 2,
      rejected: 0,
      first_rejects: [],
    },
    {
      event: 'compared',
      file,
      new: 2,
      existing: 0,
      changed: 0,
      changed_lines: [],
      gone: 0,
      gone_links: [],
    },
    expect.objectContaining({ event: 'forecast', file, links: 2, unsent: 0, plan: 'pro' }),
  ]);
  expect(JSON.parse(first.stdout)).toMatchObject({ version: 2, created: 2, exit_code: 0 });
  await writeFile(file, GOOD.replace(',A', ',B'));
  const second = await events(['import', file, '-o', '-'], { env: service.env });
  expect(untimed(second.events)).toEqual([
    expect.objectContaining({ event: 'checked', rows: 2 }),
    expect.objectContaining({ event: 'compared', new: 0, changed: 1, changed_lines: [2] }),
    expect.objectContaining({ event: 'summary', version: 2, existing: 2, exit_code: 0 }),
  ]);
});

test('an import that is stopped ends with an error event', async () => {
  const service = await stubService();
  const file = await inputFile(`${GOOD}nope,C\n`);
  const { exitCode, events: printed } = await events(['import', file], { env: service.env });
  expect(exitCode).toBe(2);
  expect(printed[0]).toMatchObject({
    event: 'checked',
    rejected: 1,
    first_rejects: [{ line: 4, reason: expect.stringContaining('nope') }],
  });
  expect(printed.at(-1)).toEqual({
    event: 'error',
    version: 1,
    error: {
      code: 'rejects',
      message: expect.stringContaining("can't be sent"),
      hint: expect.any(String),
      exit_code: 2,
    },
  });
});

test('progress of an import that takes long', async () => {
  const service = await stubService();
  service.answer(BATCH, { status: 201, afterMs: 60_000 });
  const file = await inputFile();
  const running = startReal(['import', file, '--json'], { env: service.env });
  await running.printed('"progress"');
  expect(eventsOf(running.stderr()).at(-1)).toEqual({
    event: 'progress',
    task: 'import',
    name: file,
    done: 0,
    total: 2,
    wait_ms: 0,
    left_ms: null,
  });
  running.child.kill('SIGTERM');
  await running.printed('Stopping');
  expect(eventsOf(running.stderr()).at(-1)).toEqual({
    event: 'note',
    message: expect.stringContaining('Stopping after the batches in flight.'),
  });
});

test('progress of a job', async () => {
  const service = await stubService();
  const job = { id: 'x', status: 'processing', processed: 1, total: 3, results: [] };
  const headers = { 'Retry-After': '60' };
  service.answer('GET /api/v1/jobs/x', { status: 200, body: job, headers });
  const running = startReal(['job', 'wait', 'x', '--json'], { env: service.env });
  await running.printed('"progress"');
  expect(eventsOf(running.stderr())[0]).toEqual({
    event: 'progress',
    task: 'job',
    name: 'x',
    done: 1,
    total: 3,
    wait_ms: 0,
    left_ms: null,
  });
});

test('create and usage print data only, and errors as events', async () => {
  const service = await stubService();
  const created = await events(['create', 'https://example.com/a'], { env: service.env });
  expect(created).toMatchObject({ exitCode: 0, events: [] });
  const some = await events(['create', 'https://example.com/a', 'nope'], { env: service.env });
  // The object of each URL on stdout says what became of it.
  expect(some).toMatchObject({ exitCode: 3, events: [] });
  service.answer(USAGE, { status: 401, body: { error: 'wrong key' } });
  const usage = await events(['usage', '--verbose'], { env: service.env });
  expect(usage.exitCode).toBe(4);
  expect(new Set(usage.events.map(({ event }) => event))).toEqual(new Set(['log', 'error']));
  expect(usage.events[0]).toEqual({
    event: 'log',
    level: 'debug',
    message: expect.any(String),
    fields: expect.any(Object),
  });
});

test('a login says how it ended, and a warning is one', async () => {
  const service = await stubService();
  const env = { XDG_CONFIG_HOME: await testFolder() };
  const argv = ['auth', 'login', '--base-url', service.url.replace('http://', '')];
  const input = service.env['SHORTLINK_API_KEY'];
  const done = await events(argv, { env: { ...env, SHORTLINK_API_KEY: 'another-key' }, input });
  expect(done.exitCode).toBe(0);
  expect(done.events.map(({ event }) => event)).toEqual(['note', 'note', 'note', 'warning']);
  expect(done.events[1]).toEqual({
    event: 'note',
    message: expect.stringContaining(`Logged in to ${service.url}`),
  });
  const refused = await events(argv, { env, input: 'a wrong key' });
  expect(refused.events.at(-1)).toMatchObject({ event: 'error', error: { code: 'usage' } });
});

test.each([
  [['create']],
  [['improt', 'x']],
  [['import', 'x', '--concurrency', '0']],
  [['job']],
  [['auth', '--nope']],
  [[]],
])('a wrong command line is one error event: %j', async (argv) => {
  const { exitCode, stdout, events: printed } = await events(argv);
  expect({ exitCode, stdout }).toEqual({ exitCode: 2, stdout: '' });
  expect(printed).toEqual([
    { event: 'error', version: 1, error: expect.objectContaining({ code: 'usage', exit_code: 2 }) },
  ]);
});

test('an output that can not be written is an error event', async () => {
  const failing = `data:text/javascript,${encodeURIComponent(`
    process.stdout._write = (chunk, encoding, done) => done(new Error('no space left'));
    process.stdout._writev = undefined;
  `)}`;
  const running = startReal(['completion', 'bash', '--json'], { nodeArgs: ['--import', failing] });
  expect((await running.ended).exitCode).toBe(1);
  expect(eventsOf(running.stderr())).toEqual([
    {
      event: 'error',
      version: 1,
      error: { code: 'system', message: "Can't write the output: no space left", exit_code: 1 },
    },
  ]);
});
