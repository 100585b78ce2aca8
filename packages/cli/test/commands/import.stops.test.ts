import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { Writable } from 'node:stream';
import { describe, expect, test } from 'vitest';
import { run } from '../../src/run.ts';
import { BATCH, GOOD, scene, urls } from '../import-scene.ts';
import { KEY, USAGE } from '../stub-service.ts';
import { type CliOptions, cli, testIo } from '../test-io.ts';

describe('what the service says ends the run with its exit code', () => {
  test.each([
    [401, { error: 'no' }, {}, 4, 'authentication', /auth login/, undefined],
    [403, { error: 'no' }, {}, 4, 'authentication', /shortlinks:write/, undefined],
    [
      403,
      { error: '1 of 1', upgrade: true, limit: 'links' },
      {},
      5,
      'plan_limit',
      /shortlink usage/,
      undefined,
    ],
    [429, { error: 'slow' }, { 'Retry-After': '7200' }, 6, 'rate_limit', /2 h/, '--max-wait 3h'],
  ])('%i %j', async (status, body, headers, exitCode, reason, words, flags) => {
    const { run, service, input } = await scene(GOOD);
    service.answer(BATCH, { status, body, headers }, { status, body, headers });
    const plain = await run();
    expect(plain.exitCode).toBe(exitCode);
    expect(plain.stderr).toMatch(words);
    // Where something must be changed first, the same command would only stop again.
    const command = `To continue: shortlink import ${input} ${flags}`;
    expect(plain.stderr.includes(command)).toBe(flags !== undefined);
    expect(plain.stderr.includes('To continue')).toBe(flags !== undefined);
    const json = await run(['--json']);
    expect(JSON.parse(json.stdout)).toMatchObject({
      exit_code: exitCode,
      unsent: 2,
      files: [{ stopped: { reason } }],
    });
    const next = await run();
    expect(next.exitCode, next.stderr).toBe(0);
  });

  test('the response that stopped it is named, in its summary and in the event of the error', async () => {
    const { run, service } = await scene(GOOD);
    const refused = { error: 'API key is invalid.', code: 'unauthorized' };
    const headers = { 'X-Request-Id': 'request-7' };
    service.answer(BATCH, { status: 401, body: refused, headers });
    const { stdout, stderr } = await run(['--json']);
    const response = { status: 401, request_id: 'request-7' };
    expect(JSON.parse(stdout)).toMatchObject({ files: [{ stopped: response }] });
    const events = stderr
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line));
    expect(events.at(-1)).toMatchObject({ event: 'error', error: response });
  });

  test('a plan without room is looked at with the profile of the command', async () => {
    const { folder, service, input } = await scene(GOOD);
    const profiles = { staging: { api_key: KEY, base_url: service.url } };
    await mkdir(join(folder, '.config', 'shortlink'), { recursive: true });
    const config = join(folder, '.config', 'shortlink', 'config.json');
    await writeFile(config, JSON.stringify({ profiles }), { mode: 0o600 });
    const body = { ...USAGE, links: { used: 14, limit: 15 } };
    service.answer('GET /api/v1/usage', { status: 200, body });
    const result = await cli(['import', input, '--profile', 'staging'], { home: folder });
    expect(result.exitCode, result.stderr).toBe(5);
    expect(result.stderr).toContain('shortlink usage --profile staging\n');
  });

  test('a request that would be refused again is not recommended', async () => {
    const { run, service } = await scene(GOOD);
    const error = 'domain_id is not a domain of this account';
    const details = [{ field: 'domain_id', message: error }];
    service.answer(BATCH, { status: 400, body: { error, details } });
    const refused = await run(['--domain', 'other']);
    expect(refused.exitCode).toBe(2);
    expect(refused.stderr).toContain(`error: The server refused the request: ${error}\n`);
    expect(refused.stderr).not.toContain('To continue');
  });

  test('rows that are refused one after the other are to be corrected first', async () => {
    const { run, service } = await scene(urls(100), 'links.txt');
    const refusal = { status: 400, body: { error: 'no such host' } };
    service.answer(BATCH, ...Array.from({ length: 27 }, () => refusal));
    const refused = await run();
    expect(refused.exitCode).toBe(2);
    expect(refused.stderr).toMatch(/failed +20\n/);
    expect(refused.stderr).toContain(
      'error: The server refused the request: no such host\n  The results name the rows that failed. Correct these first',
    );
  });

  test('a lost connection counts more than the rejected row of another file, whichever is first', async () => {
    const { service, input, run } = await scene(GOOD);
    const second = join(dirname(input), 'second.csv');
    await writeFile(second, 'url\nhttps://example.com/c\nno URL\n');
    const args = ['--on-unknown', 'skip', '--max-rejects', 'all'];
    service.answer(BATCH, { status: 0, drop: true });
    expect((await run([second, ...args])).exitCode).toBe(7);
    expect((await cli(['import', second, input, ...args], { env: service.env })).exitCode).toBe(7);
  });

  test('a lost connection counts more than a rejected row of the same file', async () => {
    const { service, run } = await scene(`${GOOD}no URL,C\n`);
    service.answer(BATCH, { status: 0, drop: true });
    const { exitCode } = await run(['--on-unknown', 'skip', '--max-rejects', 'all']);
    expect(exitCode).toBe(7);
  });

  test('a link that nobody expected counts more than one in doubt of another file, whichever is first', async () => {
    const { service, input, run } = await scene(GOOD);
    const second = join(dirname(input), 'second.csv');
    await writeFile(second, 'url\nhttps://example.com/c\n');
    service.answer(BATCH, { status: 0, drop: true });
    expect((await run()).exitCode).toBe(7);
    const args = ['--on-unknown', 'skip', '--expect-no-changes'];
    expect((await run(args)).exitCode).toBe(7);
    expect((await run([second, ...args])).exitCode).toBe(8);
    expect((await cli(['import', second, input, ...args], { env: service.env })).exitCode).toBe(8);
  });

  test('a lost connection: exit 7, nothing sent twice; --on-unknown skip leaves it, retry sends it', async () => {
    const { run, service, bodies } = await scene(GOOD);
    service.answer(BATCH, { status: 0, drop: true });
    const lost = await run();
    expect(lost.exitCode).toBe(7);
    expect(lost.stderr).toMatch(/--on-unknown/);
    const dry = await run(['--dry-run']);
    expect(dry.exitCode).toBe(7);
    expect(dry.stderr).toContain('No link would be created, 2 rows unknown since an earlier run');
    expect((await run()).exitCode).toBe(7);
    expect((await run(['--on-unknown', 'skip'])).exitCode).toBe(7);
    expect(bodies()).toHaveLength(1);
    const retried = await run(['--on-unknown', 'retry']);
    expect(retried.exitCode, retried.stderr).toBe(0);
    expect(bodies()).toHaveLength(2);
  });

  test('--max-wait lets it wait', async () => {
    const { run, service } = await scene(GOOD);
    const slow = { status: 429, body: { error: 'slow' }, headers: { 'Retry-After': '1' } };
    service.answer(BATCH, slow, slow);
    expect((await run(['--max-wait', '500ms'])).exitCode).toBe(6);
    expect((await run(['--max-wait', '2s'])).exitCode).toBe(0);
  });
});

test('results that nobody reads to their end: a quiet exit, and the journal stays', async () => {
  const { service, folder, bodies } = await scene(GOOD);
  const args = ['import', '-', '--state-dir', folder];
  const options = { env: service.env, input: GOOD };
  const { io, stderr } = testIo(options);
  const stdout = new Writable({
    write: (_, __, done) => done(Object.assign(new Error('write EPIPE'), { code: 'EPIPE' })),
  });
  stdout.on('error', () => {});
  expect(await run(args, { ...io, stdout })).toBe(0);
  expect(stderr()).not.toMatch(/EPIPE|error:|Ctrl-C/i);
  const again = await cli(args, options);
  expect(again.exitCode, again.stderr).toBe(0);
  expect(again.stdout).toContain('https://example.com/b,B,');
  expect(bodies()).toHaveLength(1);
});

test('results on a terminal begin where the status line was', async () => {
  const { service, folder } = await scene(GOOD);
  const args = ['import', '-', '--state-dir', folder];
  const { io } = testIo({ env: service.env, input: GOOD, tty: { stderr: true } });
  let screen = '';
  const write = (chunk: unknown, _: unknown, done: () => void) => {
    screen += String(chunk);
    done();
  };
  const clearLine = () => {
    screen += '<cleared>';
    return true;
  };
  const stderr = Object.assign(io.stderr, { _write: write, clearLine });
  expect(await run(args, { ...io, stderr, stdout: new Writable({ write }) })).toBe(0);
  // The last frame is away, and no other one follows.
  expect(screen).toMatch(/Checking standard input.*<cleared>[^⠀-⣿]*url,title,code[^⠀-⣿]*$/su);
});

test('a reader that stops early, though the pipe took all of a short list: the journal stays', async () => {
  const { service, folder, bodies } = await scene(GOOD);
  const args = ['import', '-', '--state-dir', folder];
  const options = { env: service.env, input: GOOD };
  const { io } = testIo(options);
  let writes = 0;
  // As `head -1` does it: the first write is taken, and nobody reads the second one.
  const stdout = new Writable({
    write: (_, __, done) => {
      writes += 1;
      done(writes === 1 ? null : Object.assign(new Error('write EPIPE'), { code: 'EPIPE' }));
    },
  });
  stdout.on('error', () => {});
  expect(await run(args, { ...io, stdout })).toBe(0);
  const again = await cli(args, options);
  expect(again.stdout).toContain('https://example.com/b,B,');
  expect(bodies()).toHaveLength(1);
});

describe('Ctrl-C', () => {
  /** Presses it when the service has seen this many batches. */
  const pressAt = (bodies: () => unknown[], ...counts: number[]): CliOptions['onStart'] => {
    return ({ interrupt }) => {
      const timer = setInterval(() => {
        const [next] = counts;
        if (next !== undefined && bodies().length >= next) {
          counts.shift();
          interrupt();
        }
        if (counts.length === 0) clearInterval(timer);
      }, 5);
    };
  };

  test('once: the batch in flight ends, nothing more is sent, the way on is printed', async () => {
    const { run, service, bodies, input } = await scene(urls(4), 'urls.txt');
    const args = ['--batch-size', '2', '--api-key', KEY];
    const results = ['https://example.com/0', 'https://example.com/1'].map((target_url, i) => ({
      target_url,
      code: `k${i}`,
      short_url: `https://sho.rt/k${i}`,
    }));
    const body = { status: 'completed', total: 2, results };
    service.answer(BATCH, { status: 200, body, afterMs: 150 });
    const stopped = await run(args, { onStart: pressAt(bodies, 1) });
    expect(stopped.exitCode, stopped.stderr).toBe(130);
    expect(bodies()).toHaveLength(1);
    expect(stopped.stderr).toContain('Stopping after the batches in flight');
    expect(stopped.stderr).toContain(
      `To continue: shortlink import ${input} --batch-size 2 --api-key "$SHORTLINK_API_KEY"`,
    );
    expect(stopped.stderr).not.toContain(KEY);
    expect(stopped.stderr).toMatch(/^created +2$/m);
    const next = await run(args);
    expect(next.exitCode, next.stderr).toBe(0);
    expect(bodies()).toHaveLength(2);
    expect(await readFile(`${input}.results.csv`, 'utf8')).toContain('https://sho.rt/k1');
  });

  test('a terminal that is closed ends it softly, though that is told twice', async () => {
    const { run, service, bodies } = await scene(urls(4), 'urls.txt');
    const results = ['a', 'b'].map((code) => ({ code, short_url: `https://sho.rt/${code}` }));
    const body = { status: 'completed', total: 2, results };
    service.answer(BATCH, { status: 200, body, afterMs: 150 });
    const stopped = await run(['--batch-size', '2'], {
      onStart: (terminal) => {
        const interrupt = () => terminal.interrupt('closed');
        pressAt(bodies, 1, 1)?.({ ...terminal, interrupt });
      },
    });
    expect(stopped.exitCode, stopped.stderr).toBe(130);
    expect(stopped.stderr).toMatch(/^created +2$/m);
    expect(bodies()).toHaveLength(1);
  });

  test('twice: it ends at once, and what was in flight is unknown', async () => {
    const { run, service, bodies } = await scene(urls(4), 'urls.txt');
    service.answer(BATCH, { status: 200, afterMs: 10_000 });
    const listening: number[] = [];
    const stopped = await run(['--batch-size', '2'], {
      onStart: (terminal) => {
        const interrupt = () => {
          terminal.interrupt();
          listening.push(terminal.listening());
        };
        pressAt(bodies, 1, 1)?.({ ...terminal, interrupt });
      },
    });
    // A third one ends the process, whatever hangs.
    expect(listening).toEqual([1, 0]);
    expect(stopped.exitCode, stopped.stderr).toBe(130);
    expect(stopped.stderr).toMatch(/^unknown +2$/m);
  });
});
