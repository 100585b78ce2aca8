import { readFile, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { KEY, stubService } from '../stub-service.ts';
import { type CliOptions, cli, testFolder } from '../test-io.ts';

const BATCH = 'POST /api/v1/links/batch';
const GOOD = 'url,title\nhttps://example.com/a,A\nhttps://example.com/b,B\n';
const urls = (count: number) =>
  Array.from({ length: count }, (_, i) => `https://example.com/${i}\n`).join('');

/** A folder with one input, a service, and how to import the one into the other. */
async function scene(text: string, name = 'links.csv') {
  const [service, folder] = [await stubService(), await testFolder()];
  const input = join(folder, name);
  await writeFile(input, text);
  const run = (args: string[] = [], options: CliOptions = {}) =>
    cli(['import', input, ...args], { ...options, env: { ...service.env, ...options.env } });
  const bodies = () =>
    service.requests.filter(({ method }) => method === 'POST').map((r) => r.body);
  return { service, folder, input, run, bodies };
}

test('creates a link for each row, and says so to people on stderr', async () => {
  const { input, run, bodies } = await scene(GOOD);
  const result = await run();
  expect(result.exitCode, result.stderr).toBe(0);
  expect(result.stdout).toBe('');
  expect(bodies()).toEqual([
    {
      links: [
        { target_url: 'https://example.com/a', title: 'A' },
        { target_url: 'https://example.com/b', title: 'B' },
      ],
    },
  ]);
  expect(await readFile(`${input}.results.csv`, 'utf8')).toBe(
    'url,title,code,short_url,status,error\nhttps://example.com/a,A,c1,https://sho.rt/c1,created,\nhttps://example.com/b,B,c2,https://sho.rt/c2,created,\n',
  );
  expect(result.stderr).toContain('target_url from "url"');
  expect(result.stderr).toMatch(/│ rows\s+│\s+2 │/);
  expect(result.stderr).toMatch(/│ created\s+│\s+2 │/);
  expect(result.stderr).toContain(`Results: ${input}.results.csv`);
  // Not a terminal: no escape sequence, no carriage return.
  // biome-ignore lint/suspicious/noControlCharactersInRegex: their absence is the point.
  expect(result.stderr).not.toMatch(/[\u001b\r]/);
});

test('the same command again sends nothing', async () => {
  const { run, bodies } = await scene(GOOD);
  await run();
  const again = await run();
  expect(again.exitCode, again.stderr).toBe(0);
  expect(bodies()).toHaveLength(1);
  await run(['--restart']);
  expect(bodies()).toHaveLength(2);
});

test('--json prints one object with the documented fields', async () => {
  const { input, run } = await scene(GOOD);
  const result = await run(['--json']);
  const counts = { rows: 2, created: 2, rejected: 0, failed: 0, unknown: 0, unsent: 0 };
  const work = { batches: 1, requests: 1, elapsed_ms: expect.any(Number) };
  expect(JSON.parse(result.stdout)).toEqual({
    version: 1,
    command: 'import',
    exit_code: 0,
    ...counts,
    ...work,
    files: [
      {
        file: input,
        dry_run: false,
        exit_code: 0,
        ...counts,
        ...work,
        output: `${input}.results.csv`,
        rejects: null,
        journal: `${input}.shortlink-journal`,
        stopped: null,
      },
    ],
  });
});

test('from stdin to stdout: results alone on stdout, the summary on stderr', async () => {
  const service = await stubService();
  const folder = await testFolder();
  const args = ['import', '-', '--journal', join(folder, 'j'), '--rejects', join(folder, 'r')];
  const result = await cli([...args, '--json'], { env: service.env, input: GOOD });
  expect(result.exitCode, result.stderr).toBe(0);
  expect(result.stdout.split('\n')[0]).toBe('url,title,code,short_url,status,error');
  expect(result.stdout.trim().split('\n')).toHaveLength(3);
  const summary = result.stderr.trim().split('\n').at(-1) ?? '';
  expect(JSON.parse(summary)).toMatchObject({ version: 1, created: 2 });
});

test('--quiet prints nothing where nothing is wrong', async () => {
  const { run } = await scene(GOOD);
  expect(await run(['--quiet'])).toEqual({ exitCode: 0, stdout: '', stderr: '' });
});

describe('options reach the request', () => {
  test('--map, --tag-separator, --delimiter, --encoding, --input-format', async () => {
    const text = Buffer.from('Ziel|Wörter\nhttps://example.com/ä|rot+grün\n', 'latin1');
    const { run, bodies } = await scene(text as unknown as string);
    const result = await run([
      ...['--map', 'target_url=ziel', '--map', 'tags=WÖRTER', '--tag-separator', '+'],
      ...['--delimiter', '|', '--encoding', 'windows-1252', '--input-format', 'csv'],
    ]);
    expect(result.exitCode, result.stderr).toBe(0);
    expect(bodies()[0].links).toEqual([
      { target_url: 'https://example.com/ä', tags: ['rot', 'grün'] },
    ]);
  });

  test('--delimiter tab', async () => {
    const { run, bodies } = await scene('url\ttitle\nhttps://example.com/a\tA\n');
    await run(['--delimiter', 'tab']);
    expect(bodies()[0].links).toEqual([{ target_url: 'https://example.com/a', title: 'A' }]);
  });

  test('--tag, --domain and --redirect-type, for rows without their own', async () => {
    const { run, bodies } = await scene(
      'url,tags\nhttps://example.com/a,own\nhttps://example.com/b,\n',
    );
    await run(['--tag', 'x', '--tag', 'y', '--domain', 'd1', '--redirect-type', '307']);
    expect(bodies()[0].links).toEqual([
      expect.objectContaining({ tags: ['own'], redirect_type: 307 }),
      expect.objectContaining({ tags: ['x', 'y'], redirect_type: 307 }),
    ]);
    expect(bodies()[0].domain_id).toBe('d1');
  });

  test('--from names the export', async () => {
    const { run, bodies } = await scene(
      'Short link,Destination URL,Clicks,Created at\nhttps://dub.sh/x,https://example.com/a,1,2026\n',
    );
    const result = await run(['--from', 'dub']);
    expect(result.exitCode, result.stderr).toBe(0);
    expect(result.stderr).toContain('an export of dub');
    expect(bodies()[0].links[0].target_url).toBe('https://example.com/a');
  });

  test('--batch-size cuts batches, --concurrency and --rpm are taken', async () => {
    const { run, bodies } = await scene(urls(5), 'urls.txt');
    const result = await run(['--batch-size', '2', '--concurrency', '1', '--rpm', '6000']);
    expect(result.exitCode, result.stderr).toBe(0);
    expect(bodies().map(({ links }) => links.length)).toEqual([2, 2, 1]);
  });

  test('--idempotency sends a key', async () => {
    const { run, service } = await scene(urls(1), 'urls.txt');
    await run();
    expect(service.requests[0]?.headers['idempotency-key']).toBeUndefined();
    await run(['--idempotency', '--restart']);
    expect(service.requests[1]?.headers['idempotency-key']).toBeTypeOf('string');
  });
});

test('-o, --output-format, --rejects and --journal name the files', async () => {
  const { run, folder, input } = await scene(`${GOOD}nope,C\n`);
  const at = (name: string) => join(folder, name);
  const result = await run([
    ...['-o', at('out.jsonl'), '--rejects', at('bad.csv'), '--journal', at('journal')],
    ...['--max-rejects', '1'],
  ]);
  expect(result.exitCode, result.stderr).toBe(3);
  const lines = (await readFile(at('out.jsonl'), 'utf8')).trim().split('\n');
  expect(lines.map((line) => JSON.parse(line).status)).toEqual(['created', 'created', 'rejected']);
  expect(await readFile(at('bad.csv'), 'utf8')).toMatch(/^url,title,line,reason\nnope,C,4,/);
  await stat(at('journal'));
  await expect(stat(`${input}.shortlink-journal`)).rejects.toThrow(/ENOENT/);

  await run(['--output-format', 'jsonl', '--max-rejects', 'all', '--restart']);
  expect(await readFile(`${input}.results.jsonl`, 'utf8')).toMatch(/^\{/);
});

test('bad rows stop the run before anything is sent: line, reason and what to do', async () => {
  const { run, bodies, input } = await scene(`${GOOD}nope,C\n`);
  const result = await run();
  expect(result.exitCode).toBe(2);
  expect(bodies()).toEqual([]);
  expect(result.stderr).toMatch(/line 4: /);
  expect(result.stderr).toContain('--max-rejects all');
  expect(result.stderr).toContain(`it is in ${input}.rejects.csv with its reason`);
  const json = await run(['--json']);
  expect(JSON.parse(json.stdout)).toMatchObject({
    exit_code: 2,
    rejected: 1,
    files: [{ stopped: { reason: 'rejects' } }],
  });
});

test('--dry-run needs no account and sends nothing', async () => {
  const { input, service } = await scene(GOOD);
  const told = await cli(['import', input, '--dry-run']);
  expect(told.stderr).toMatch(/│ valid +│ +2 │/);
  expect(told.stderr).not.toMatch(/created|requests/);
  const result = await cli(['import', input, '--dry-run', '--json']);
  expect(result.exitCode, result.stderr).toBe(0);
  expect(JSON.parse(result.stdout)).toMatchObject({
    rows: 2,
    created: 0,
    files: [{ dry_run: true }],
  });
  expect(service.requests).toEqual([]);
});

test('an input that is not there exits 2; with --json the object says why', async () => {
  const service = await stubService();
  const folder = await testFolder();
  const argv = ['import', join(folder, 'none.csv')];
  const plain = await cli(argv, { env: service.env });
  expect(plain.exitCode).toBe(2);
  expect(plain.stderr).toMatch(/none\.csv/);
  const json = await cli([...argv, '--json'], { env: service.env });
  expect(JSON.parse(json.stdout)).toMatchObject({
    exit_code: 2,
    files: [{ stopped: { reason: 'input', message: expect.stringContaining('none.csv') } }],
  });
});

test('control characters of a file never reach the terminal', async () => {
  const { run } = await scene('url,\u001b[31mtitle\u0007\nno\u001b]0;pwned\u0007pe,x\n');
  const result = await run();
  // biome-ignore lint/suspicious/noControlCharactersInRegex: their absence is the point.
  expect(result.stderr).not.toMatch(/[\u001b\u0007]/);
});

describe('what the service says ends the run with its exit code', () => {
  test.each([
    [401, { error: 'no' }, {}, 4, 'authentication', /auth login/],
    [403, { error: 'no' }, {}, 4, 'authentication', /shortlinks:write/],
    [
      403,
      { error: '1 of 1', upgrade: true, limit: 'links' },
      {},
      5,
      'plan_limit',
      /shortlink usage/,
    ],
    [429, { error: 'slow' }, { 'Retry-After': '7200' }, 6, 'rate_limit', /2 h.*--max-wait/],
  ])('%i %j', async (status, body, headers, exitCode, reason, words) => {
    const { run, service, input } = await scene(GOOD);
    service.answer(BATCH, { status, body, headers }, { status, body, headers });
    const plain = await run();
    expect(plain.exitCode).toBe(exitCode);
    expect(plain.stderr).toMatch(words);
    expect(plain.stderr).toContain(`To go on: shortlink import ${input}`);
    const json = await run(['--json']);
    expect(JSON.parse(json.stdout)).toMatchObject({
      exit_code: exitCode,
      unsent: 2,
      files: [{ stopped: { reason } }],
    });
    const goesOn = await run();
    expect(goesOn.exitCode, goesOn.stderr).toBe(0);
  });

  test('a lost connection: exit 7, nothing sent twice; --on-unknown skip leaves it, retry sends it', async () => {
    const { run, service, bodies } = await scene(GOOD);
    service.answer(BATCH, { status: 0, drop: true });
    const lost = await run();
    expect(lost.exitCode).toBe(7);
    expect(lost.stderr).toMatch(/--on-unknown/);
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

describe('several files', () => {
  async function two(first: string, second: string) {
    const made = await scene(first, 'one.csv');
    const other = join(made.folder, 'two.csv');
    await writeFile(other, second);
    return { ...made, other };
  }

  test('one after the other, each with its own results, in one object', async () => {
    const { run, other, input } = await two(GOOD, 'url\nhttps://example.com/c\n');
    const result = await run([other, '--json']);
    expect(JSON.parse(result.stdout)).toMatchObject({
      rows: 3,
      created: 3,
      requests: 2,
      files: [
        { file: input, created: 2, requests: 1 },
        { file: other, created: 1, requests: 1 },
      ],
    });
    await stat(`${input}.results.csv`);
    await stat(`${other}.results.csv`);
  });

  test('the one that stops is the last', async () => {
    const { run, other, bodies } = await two('url\nnope\n', GOOD);
    expect((await run([other])).exitCode).toBe(2);
    expect(bodies()).toEqual([]);
  });

  test('the gravest exit code of those that finish', async () => {
    const { run, other } = await two(`${GOOD}nope,C\n`, GOOD);
    expect((await run([other, '--max-rejects', 'all'])).exitCode).toBe(3);
  });

  test.each(['--output', '--rejects', '--journal'])('%s is for one file', async (option) => {
    const { run, other, service } = await two(GOOD, GOOD);
    const result = await run([other, option, 'x']);
    expect(result.exitCode).toBe(2);
    expect(result.stderr).toContain(option);
    expect(service.requests).toEqual([]);
  });

  test('not twice, not with stdin, not the results of another', async () => {
    const { run, input } = await two(GOOD, GOOD);
    expect((await run([input])).stderr).toMatch(/given twice/);
    expect((await run(['-'])).stderr).toMatch(/imported alone/);
    expect((await run([`${input}.results.csv`])).stderr).toMatch(/written by the import of/);
  });
});

test.each([
  [['--map', 'url=URL'], /no field url\. Fields: target_url, title/],
  [['--map', 'target_url'], /looks like target_url="Long URL"/],
  [['--map', 'title=A', '--map', 'title=B'], /title is mapped twice/],
  [['--map', 'title=Nope'], /Nope/],
  [['--from', 'tinyurll'], /preset/],
  [['--input-format', 'xlsx'], /auto, csv, tsv, jsonl, urls/],
  [['--delimiter', ';;'], /one character/],
  [['--tag-separator', ''], /not be empty/],
  [['--encoding', 'klingon'], /Encoding Standard/],
  [['--output-format', 'xml'], /csv, jsonl/],
  [['--redirect-type', '308'], /301, 302, 307/],
  [['--batch-size', '10001'], /from 1 to 10000/],
  [['--batch-size', 'big'], /from 1 to 10000/],
  [['--concurrency', '0'], /from 1 to 64/],
  [['--rpm', '0'], /whole number/],
  [['--max-wait', 'long'], /90s, 5m, 26h/],
  [['--max-rejects', 'some'], /whole number/],
  [['--on-unknown', 'panic'], /stop, retry, skip/],
  [['--journal', '-'], /--journal must be a file/],
  [['-o', 'same', '--rejects', './same'], /--rejects and --output are the same file/],
])('%j is a usage error and sends nothing', async (args, words) => {
  const { run, service } = await scene(GOOD);
  const result = await run(args);
  expect(result.exitCode).toBe(2);
  expect(result.stderr).toMatch(words);
  expect(service.requests).toEqual([]);
});

test('the input is never overwritten', async () => {
  const { run, input } = await scene(GOOD);
  const result = await run(['-o', input]);
  expect(result.exitCode).toBe(2);
  expect(await readFile(input, 'utf8')).toBe(GOOD);
});

describe('Ctrl-C', () => {
  /** Presses it when the service has seen this many requests. */
  const pressAt = (requests: unknown[], ...counts: number[]): CliOptions['onStart'] => {
    return ({ interrupt }) => {
      const timer = setInterval(() => {
        const [next] = counts;
        if (next !== undefined && requests.length >= next) {
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
    const stopped = await run(args, { onStart: pressAt(service.requests, 1) });
    expect(stopped.exitCode, stopped.stderr).toBe(130);
    expect(bodies()).toHaveLength(1);
    expect(stopped.stderr).toContain('Stopping after the batches in flight');
    expect(stopped.stderr).toContain(
      `To go on: shortlink import ${input} --batch-size 2 --api-key "$SHORTLINK_API_KEY"`,
    );
    expect(stopped.stderr).not.toContain(KEY);
    expect(stopped.stderr).toMatch(/created\s+│\s+2 │/);
    const goesOn = await run(args);
    expect(goesOn.exitCode, goesOn.stderr).toBe(0);
    expect(bodies()).toHaveLength(2);
    expect(await readFile(`${input}.results.csv`, 'utf8')).toContain('https://sho.rt/k1');
  });

  test('twice: it ends at once, and what was in flight is unknown', async () => {
    const { run, service } = await scene(urls(4), 'urls.txt');
    service.answer(BATCH, { status: 200, afterMs: 10_000 });
    const stopped = await run(['--batch-size', '2'], {
      onStart: pressAt(service.requests, 1, 1),
    });
    expect(stopped.exitCode, stopped.stderr).toBe(130);
    expect(stopped.stderr).toMatch(/unknown\s+│\s+2 │/);
  });
});

test('a terminal gets a bar; a pipe gets plain lines', async () => {
  const { run, service } = await scene(urls(150), 'urls.txt');
  const id = '00000000-0000-4000-8000-000000000000';
  const result = await run([], {
    env: { TERM: 'xterm-256color' },
    tty: { stderr: true },
  });
  expect(result.exitCode, result.stderr).toBe(0);
  expect(service.requests.some(({ path }) => path.endsWith(id))).toBe(true);
  expect(result.stderr).toMatch(/░+.* of 150 rows/);
  const plain = await run(['--restart']);
  // biome-ignore lint/suspicious/noControlCharactersInRegex: their absence is the point.
  expect(plain.stderr).not.toMatch(/\u001b/);
});
