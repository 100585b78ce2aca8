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

async function imports(argv: string[]): Promise<string[]> {
  const running = startReal(argv, { nodeArgs: ['--import', SHOW_IMPORTS] });
  expect((await running.ended).exitCode).toBe(0);
  return [...running.stderr().matchAll(/^import ([a-z@][^:\n]*)$/gm)].map(([, name]) => name ?? '');
}

test('--version loads no package, --help only what it needs to print', async () => {
  expect(await imports(['--version'])).toEqual([]);
  expect(new Set(await imports(['import', '--help']))).toEqual(
    new Set(['@shortlink/tables/basics', 'commander', 'get-east-asian-width']),
  );
});

test('--version prints it', async () => {
  const running = startReal(['--version']);
  expect((await running.ended).exitCode).toBe(0);
  expect(running.stdout()).toBe(`${packageJson.version}\n`);
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
    Array.from({ length: 40_000 }, (_, i) => `https://example.com/${i}\n`).join(''),
  );
  const { exitCode } = await running.ended;
  expect(running.stderr()).not.toMatch(/EPIPE|at .*\.ts/);
  // The results are written last: the links exist, and nobody wanted to see them.
  expect(exitCode).toBe(0);
  expect(service.created.length).toBe(40_000);
});

/** An import of two URLs, whose batch gets its response after some time. */
async function slowImport(afterMs: number) {
  const service = await stubService();
  const folder = await testFolder();
  await writeFile(join(folder, 'urls.txt'), 'https://example.com/1\nhttps://example.com/2\n');
  const results = [1, 2].map((i) => ({
    ...{ target_url: `https://example.com/${i}`, code: `c${i}` },
    short_url: `https://sho.rt/c${i}`,
  }));
  const body = { status: 'completed', total: 2, results };
  service.answer(BATCH, { status: 200, afterMs, body });
  return { service, folder };
}

test('a terminal that is closed, of which several tell, lets the batch in flight end', async () => {
  const { service, folder } = await slowImport(800);
  const running = startReal(['import', 'urls.txt'], { env: service.env, cwd: folder });
  await expect.poll(() => service.requests.some(({ method }) => method === 'POST')).toBe(true);
  running.child.kill('SIGHUP');
  running.child.stderr.destroy();
  setTimeout(() => running.child.kill('SIGHUP'), 200);
  expect(await running.ended).toEqual({ exitCode: 0, signal: null });
  const results = await readFile(join(folder, 'urls.txt.results.csv'), 'utf8');
  expect(results.match(/,created,/g)).toHaveLength(2);
});

test('in a terminal: a bar that is drawn over, and gone in the end', async () => {
  const { service, folder } = await slowImport(400);
  const running = startInTerminal(['import', 'urls.txt'], { env: service.env, cwd: folder });
  const { exitCode } = await running.ended;
  const screen = running.stdout();
  expect(exitCode, screen).toBe(0);
  // Drawn, erased, and the cursor shown again.
  expect(screen).toContain('0 / 2');
  expect(screen).toContain('\u001b[0K');
  expect(screen.lastIndexOf('\u001b[?25h')).toBeGreaterThan(screen.lastIndexOf('\u001b[?25l'));
  expect(screen.slice(screen.lastIndexOf('\u001b[0K'))).not.toContain('░');
  expect(screen).toMatch(/✓\S* 2 links created in/);
});

test('in a terminal: Ctrl-C once finishes the batch in flight, twice ends now', async () => {
  const service = await stubService();
  const folder = await testFolder();
  await writeFile(join(folder, 'urls.txt'), 'https://example.com/1\nhttps://example.com/2\n');
  const argv = ['import', 'urls.txt', '--batch-size', '1'];
  const results = [{ target_url: 'https://example.com/1', code: 'x', short_url: 'https://s/x' }];
  const slow = (afterMs: number) => ({
    status: 200,
    afterMs,
    body: { status: 'completed', total: 1, results },
  });

  const batches = () => service.requests.filter(({ method }) => method === 'POST').length;
  service.answer(BATCH, slow(2_000));
  const once = startInTerminal(argv, { env: service.env, cwd: folder });
  await expect.poll(batches).toBe(1);
  once.child.stdin.write('\u0003');
  expect((await once.ended).exitCode, once.stdout()).toBe(130);
  expect(once.stdout()).toContain('Stopping after the batches in flight');
  expect(once.stdout()).toContain('To continue: shortlink import urls.txt --batch-size 1');
  expect(once.stdout()).toMatch(/created.*│\s+1 │/);

  service.answer(BATCH, slow(30_000));
  const twice = startInTerminal(argv, { env: service.env, cwd: folder });
  await expect.poll(batches).toBe(2);
  twice.child.stdin.write('\u0003');
  await twice.printed('Stopping');
  twice.child.stdin.write('\u0003');
  expect((await twice.ended).exitCode, twice.stdout()).toBe(130);
  expect(twice.stdout()).toMatch(/unknown.*│\s+1 │/);
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

test('in a terminal: the key is not echoed', async () => {
  const service = await stubService();
  const folder = await testFolder();
  const key = service.env['SHORTLINK_API_KEY'] ?? '';
  const running = startInTerminal(['auth', 'login', '--base-url', service.url], {
    env: { XDG_CONFIG_HOME: folder },
  });
  await running.printed('API key: ');
  // readline takes the terminal over right after the question.
  await new Promise((resolve) => setTimeout(resolve, 100));
  running.child.stdin.write(`${key}\r`);
  expect((await running.ended).exitCode, running.stdout()).toBe(0);
  expect(running.stdout()).not.toContain(key);
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
