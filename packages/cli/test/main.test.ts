import { once } from 'node:events';
import { readdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import packageJson from '../package.json' with { type: 'json' };
import { startInTerminal, startReal } from './real-process.ts';
import { stubService } from './stub-service.ts';
import { testFolder } from './test-io.ts';

const BATCH = 'POST /api/v1/links/batch';

/** Prints each module that is asked for, to see what a command loads. */
const SHOW_IMPORTS = `data:text/javascript,${encodeURIComponent(`
  import { registerHooks } from 'node:module';
  registerHooks({
    resolve(specifier, context, next) {
      process.stderr.write('import ' + specifier + '\\n');
      return next(specifier, context);
    },
  });
`)}`;

async function imports(argv: string[]) {
  const running = startReal(argv, { nodeArgs: ['--import', SHOW_IMPORTS] });
  expect((await running.ended).exitCode).toBe(0);
  const lines = running.stderr().matchAll(/^import ([a-z@][^:\n]*)$/gm);
  return { stdout: running.stdout(), packages: new Set([...lines].map(([, name]) => name)) };
}

test('--version prints it and loads no package, --help only what it needs to print', async () => {
  expect(await imports(['--version'])).toEqual({
    stdout: `${packageJson.version}\n`,
    packages: new Set(),
  });
  const { packages } = await imports(['import', '--help']);
  expect(packages).toEqual(
    new Set(['@shortlink/tables/basics', 'commander', 'get-east-asian-width']),
  );
});

test('a reader that has gone is no error', async () => {
  const running = startReal(['completion', 'zsh']);
  running.child.stdout.destroy();
  expect(await running.ended).toEqual({ exitCode: 0, signal: null });
  expect(running.stderr()).toBe('');
});

test.each(['SIGINT', 'SIGTERM', 'SIGHUP'] as const)(
  '%s exits 130 with one line',
  async (signal) => {
    const service = await stubService();
    service.answer('POST /api/v1/links', { status: 201, afterMs: 10_000 });
    const running = startReal(['create', 'https://example.com/'], { env: service.env });
    await expect.poll(() => service.requests.length).toBe(1);
    running.child.kill(signal);
    expect(await running.ended).toEqual({ exitCode: 130, signal: null });
    expect(running.stderr()).toBe('error: Interrupted.\n');
  },
);

test('an import whose results nobody reads any more ends quietly, without a stack', async () => {
  const service = await stubService();
  const folder = await testFolder();
  const running = startReal(['import', '-', '--batch-size', '100'], {
    env: service.env,
    cwd: folder,
  });
  running.child.stdout.destroy();
  running.child.stdin.end(
    Array.from({ length: 3_000 }, (_, i) => `https://example.com/${i}\n`).join(''),
  );
  const { exitCode } = await running.ended;
  expect(running.stderr()).not.toMatch(/EPIPE|at .*\.ts/);
  // The results are written last: the links exist, and nobody wanted to see them.
  expect(exitCode).toBe(0);
  expect(service.created.length).toBe(3_000);
});

test('a terminal that is closed, of which several tell, lets the batch in flight end', async () => {
  const service = await stubService();
  const folder = await testFolder();
  await writeFile(join(folder, 'urls.txt'), 'https://example.com/1\nhttps://example.com/2\n');
  const links = [1, 2].map((i) => ({
    ...{ target_url: `https://example.com/${i}`, code: `c${i}` },
    short_url: `https://sho.rt/c${i}`,
  }));
  const body = { status: 'completed', total: 2, results: links };
  service.answer(BATCH, { status: 200, afterMs: 800, body });
  const running = startReal(['import', 'urls.txt'], { env: service.env, cwd: folder });
  await expect.poll(() => service.requests.some(({ method }) => method === 'POST')).toBe(true);
  running.child.kill('SIGHUP');
  running.child.stderr.destroy();
  setTimeout(() => running.child.kill('SIGHUP'), 200);
  expect(await running.ended).toEqual({ exitCode: 0, signal: null });
  const results = await readFile(join(folder, 'urls.txt.results.csv'), 'utf8');
  expect(results.match(/,created,/g)).toHaveLength(2);
});

test('in a terminal: Ctrl-C ends the reading of standard input', async () => {
  const service = await stubService();
  const folder = await testFolder();
  const running = startInTerminal(['import', '-'], { env: service.env, cwd: folder });
  await running.printed('Checking standard input');
  running.child.stdin.write('https://example.com/1\n\u0003');
  expect((await running.ended).exitCode, running.stdout()).toBe(130);
  expect(running.stdout()).toContain('Interrupted.');
  expect(await readdir(folder)).toEqual([]);
});

test.each([
  ['create', '-'],
  ['auth', 'login', '--base-url', 'http://127.0.0.1:9'],
])('SIGINT ends the reading of standard input: %s', async (...argv) => {
  const service = await stubService();
  // Prints a line once it listens for signals.
  const running = startReal(argv, { env: service.env, nodeArgs: ['--import', SHOW_SIGNALS] });
  await running.printed('listens');
  running.child.kill('SIGINT');
  expect((await running.ended).exitCode).toBe(130);
  expect(running.stderr()).toContain('Interrupted.');
});

test('an import that fails before it has read standard input ends', async () => {
  const service = await stubService();
  const env = { ...service.env, TMPDIR: '/nonexistent' };
  const running = startReal(['import', '-'], { env });
  running.child.stdin.write('https://example.com/1\n');
  // Standard input stays open.
  expect((await running.ended).exitCode).toBe(2);
  expect(running.stderr()).toMatch(/^error: Can't use \/nonexistent/);
});

test('in a terminal: Ctrl-C ends a wait with its spinner, and says so', async () => {
  const service = await stubService();
  service.answer('GET /api/v1/jobs/x', { status: 200, afterMs: 30_000 });
  const running = startInTerminal(['job', 'wait', 'x'], { env: service.env });
  await expect.poll(() => service.requests.length).toBe(1);
  running.child.stdin.write('\u0003');
  expect((await running.ended).exitCode).toBe(130);
  expect(running.stdout()).toContain('Interrupted.');
});

test('an output that can not be written ends with one line', async () => {
  const running = startReal(['completion', 'bash'], { nodeArgs: ['--import', FULL_DISK] });
  await once(running.child, 'exit');
  expect((await running.ended).exitCode).toBe(1);
  expect(running.stderr()).toBe("error: Can't write the output: no space left\n");
});

/** Says when the process listens for SIGINT. */
const SHOW_SIGNALS = `data:text/javascript,${encodeURIComponent(`
  process.on('newListener', (name) => name === 'SIGINT' && process.stderr.write('listens\\n'));
`)}`;

/** Standard output that fails like a full disk. */
const FULL_DISK = `data:text/javascript,${encodeURIComponent(`
  process.stdout._write = (chunk, encoding, done) =>
    done(Object.assign(new Error('no space left'), { code: 'ENOSPC' }));
  process.stdout._writev = undefined;
`)}`;
