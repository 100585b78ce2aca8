import { execFileSync } from 'node:child_process';
import { appendFile, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { BATCH, GOOD, scene, urls } from '../import-scene.ts';
import { NEXT_KEY, stubService, USAGE } from '../stub-service.ts';
import { cli, testFolder } from '../test-io.ts';

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
    'url,title,code,short_url,status,error,made_for\nhttps://example.com/a,A,c1,https://sho.rt/c1,created,,c324a765\nhttps://example.com/b,B,c2,https://sho.rt/c2,created,,816e961b\n',
  );
  const lines = result.stderr.replace(/ in (\d+ min|[\d.]+ s).*/, ' in N s').split('\n');
  // On a machine that is very busy, lines of the progress are between them.
  expect(lines.filter((line) => !/^(Checking|\d of) /.test(line))).toEqual([
    `${input}   2 rows, all valid   (CSV, UTF-8, comma-separated)`,
    '  target_url ← url    title ← title',
    '  Pro plan: batches of 100, 60 requests a minute',
    '',
    '✓ 2 links created in N s',
    `  Results   ${input}.results.csv`,
    '',
  ]);
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

test('another key and a file that grew: only the new row is sent', async () => {
  const { input, run, bodies } = await scene(GOOD);
  expect((await run()).exitCode).toBe(0);
  await appendFile(input, 'https://example.com/c,C\n');
  const again = await run(['--api-key', NEXT_KEY]);
  expect(again.exitCode, again.stderr).toBe(0);
  expect(bodies().map(({ links }) => links.length)).toEqual([2, 1]);
});

test('--json prints one object with the documented fields', async () => {
  const { input, run } = await scene(GOOD);
  const result = await run(['--json']);
  const counts = {
    rows: 2,
    created: 2,
    existing: 0,
    changed: 0,
    gone: 0,
    rejected: 0,
    failed: 0,
    unknown: 0,
    unsent: 0,
    new: 2,
  };
  const work = { batches: 1, requests: 1, elapsed_ms: expect.any(Number) };
  expect(JSON.parse(result.stdout)).toEqual({
    version: 2,
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
        forecast: {
          links: 2,
          unsent: 0,
          batch_size: 100,
          requests: 1,
          room: null,
          plan: 'pro',
          requests_per_minute: 60,
          duration_ms: expect.any(Number),
          wait_ms: 0,
        },
        output: `${input}.results.csv`,
        rejects: null,
        journal: `${input}.shortlink-journal`,
        warnings: [],
        stopped: null,
      },
    ],
    not_imported: [],
    warnings: [],
  });
});

test('a named pipe is read like stdin: no file has its name', async () => {
  const { folder, service } = await scene(GOOD);
  const pipe = join(folder, 'pipe.csv');
  execFileSync('sh', ['-c', 'mkfifo "$0"', pipe]);
  const run = async (more: readonly string[] = []) => {
    const writing = more.length > 0 ? undefined : writeFile(pipe, `${GOOD}no URL,C\n`);
    const { env } = service;
    const state = ['--state-dir', folder, '--max-rejects', 'all'];
    const result = await cli(['import', pipe, ...state, ...more], { env });
    await writing;
    return result;
  };
  const { exitCode, stdout, stderr } = await run();
  expect(exitCode, stderr).toBe(3);
  expect(stdout).toMatch(/^url,title,code,short_url,status,error,made_for\n/);
  const names = (await readdir(folder)).filter((name) => !/^(?:input|links)/.test(name));
  // The journal stays until the rejected row has its link, too.
  const journal = expect.stringMatching(/^stdin-[0-9a-f]{16}\.shortlink-journal$/);
  expect(names.sort()).toEqual(['pipe.csv', journal, 'stdin.rejects.csv']);
  expect((await run(['--in-place'])).stderr).toContain('not standard input or a pipe');
  expect((await run(['-'])).stderr).toMatch(/is imported alone/);
});

test('an import of a pipe that was stopped continues from standard input: a pipe of the shell is gone by then', async () => {
  const { folder, service } = await scene(GOOD);
  const pipe = join(folder, 'pipe.csv');
  execFileSync('sh', ['-c', 'mkfifo "$0"', pipe]);
  service.answer(BATCH, { status: 429, headers: { 'Retry-After': '3600' } });
  const writing = writeFile(pipe, GOOD);
  const { stderr } = await cli(['import', pipe, '--state-dir', folder], { env: service.env });
  await writing;
  const again = `shortlink import - --state-dir ${folder} --max-wait `;
  expect(stderr).toContain(`To continue, pipe the same input into: ${again}`);
});

test('from stdin to stdout: results alone on stdout, the summary on stderr', async () => {
  const service = await stubService();
  const folder = await testFolder();
  const args = ['import', '-', '--journal', join(folder, 'j'), '--rejects', join(folder, 'r')];
  const result = await cli([...args, '--json'], { env: service.env, input: GOOD });
  expect(result.exitCode, result.stderr).toBe(0);
  expect(result.stdout.split('\n')[0]).toBe('url,title,code,short_url,status,error,made_for');
  expect(result.stdout.trim().split('\n')).toHaveLength(3);
  const summary = result.stderr.trim().split('\n').at(-1) ?? '';
  expect(JSON.parse(summary)).toMatchObject({ version: 2, created: 2 });
});

test('--verbose adds the counts and the time in a table', async () => {
  const { run } = await scene(GOOD);
  const result = await run(['--verbose']);
  expect(result.stderr).toMatch(/^created +2$/m);
  expect(result.stderr).toMatch(/^requests +1$/m);
  expect(result.stderr).not.toMatch(/^\w+ +0$/m);
});

test('rows without a link are in the sentence and in a table', async () => {
  const { run, input } = await scene(`${GOOD}nope,C\n`);
  const result = await run(['--max-rejects', 'all']);
  expect(result.exitCode).toBe(3);
  expect(result.stderr).toMatch(/^! 2 links created, 1 rejected in [\d.]+ s$/m);
  expect(result.stderr).toMatch(/^rejected +1$/m);
  expect(result.stderr).toContain(`  Rejects   ${input}.rejects.csv\n`);
});

test('--quiet prints nothing where nothing is wrong', async () => {
  const { run } = await scene(GOOD);
  expect(await run(['--quiet'])).toEqual({ exitCode: 0, stdout: '', stderr: '' });
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
  expect(result.stderr).toContain(`It is in ${input}.rejects.csv with its reason.`);
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
  expect(told.stderr).toContain('✓ 2 links would be created. This was a dry run');
  const result = await cli(['import', input, '--dry-run', '--json']);
  expect(result.exitCode, result.stderr).toBe(0);
  expect(JSON.parse(result.stdout)).toMatchObject({
    rows: 2,
    created: 0,
    files: [{ dry_run: true }],
  });
  expect(service.requests).toEqual([]);
});

test('--dry-run without a key compares with the links of the address', async () => {
  const { run, input, service } = await scene(GOOD);
  await run();
  const sent = service.requests.length;
  const result = await cli(['import', input, '--dry-run', '--base-url', service.url]);
  expect(result.stderr).toContain('No link would be created, 2 already imported.');
  expect(service.requests).toHaveLength(sent);
});

test('--dry-run says of bad rows that they would stop the import', async () => {
  const { run } = await scene(`${GOOD}nope,C\n`);
  await run(['--max-rejects', 'all']);
  const stopped = await run(['--dry-run']);
  expect(stopped.exitCode).toBe(3);
  expect(stopped.stderr).toContain('! No link would be created, 2 already imported, 1 row can');
  expect(stopped.stderr).toContain('it would stop the import before anything is sent');
  const allowed = await run(['--dry-run', '--max-rejects', '1']);
  expect(allowed.stderr).not.toContain('would stop');
});

test('--dry-run counts what the plan and --limit leave', async () => {
  const { run, service } = await scene(GOOD);
  const usage = (used: number) => ({
    status: 200,
    body: { ...USAGE, links: { used, limit: 15 }, batch_size: 5 },
  });
  const limited = await run(['--dry-run', '--limit', '1']);
  expect(limited.stderr).toContain('✓ 1 link would be created, 1 unsent. This was');
  service.answer('GET /api/v1/usage', usage(14), usage(15));
  expect((await run(['--dry-run'])).stderr).toContain('✓ 1 link would be created, 1 unsent.');
  const full = await run(['--dry-run']);
  expect(full.stderr).toContain(', no room for more links\n  2 rows unsent');
  expect(full.stderr).toContain('No link would be created, 2 unsent.');
});

test('one row is counted as one', async () => {
  const { run } = await scene('url\nhttps://example.com/a\n');
  await run();
  expect((await run()).stderr).toContain('✓ Already imported: 1 row\n');
  expect((await run(['--dry-run'])).stderr).toContain('created, 1 already imported.');
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

test('a terminal gets a bar; a pipe gets plain lines', async () => {
  const { run, service } = await scene(urls(150), 'urls.txt');
  const id = '00000000-0000-4000-8000-000000000000';
  const withoutUsage = { status: 404, body: { error: 'not found' } };
  service.answer('GET /api/v1/usage', withoutUsage, withoutUsage);
  // The bar is drawn at the next frame, which must come before the job is complete.
  const processing = { id, status: 'processing', total: 150, processed: 0, results: [] };
  service.answer(`GET /api/v1/jobs/${id}`, { status: 200, body: processing, afterMs: 500 });
  const result = await run([], {
    env: { TERM: 'xterm-256color' },
    tty: { stderr: true },
  });
  expect(result.exitCode, result.stderr).toBe(0);
  expect(service.requests.some(({ path }) => path.endsWith(id))).toBe(true);
  expect(result.stderr).toMatch(/░+ .* \/ 150/);
  const plain = await run(['--restart']);
  // biome-ignore lint/suspicious/noControlCharactersInRegex: their absence is the point.
  expect(plain.stderr).not.toMatch(/\u001b/);
});

test("Excel's line sep=; is in the results and the rejects too, and they can be imported again", async () => {
  const { run, input, bodies } = await scene(
    'sep=;\r\nurl;title\r\nhttps://example.com/a;A\r\nnope;B\r\n',
  );
  expect((await run(['--max-rejects', 'all'])).exitCode).toBe(3);
  const results = await readFile(`${input}.results.csv`, 'utf8');
  expect(results).toMatch(/^sep=;\r\nurl;title;code;short_url;status;error;made_for\r\n/);
  expect(await readFile(`${input}.rejects.csv`, 'utf8')).toMatch(/^sep=;\r\nurl;title;line;/);
  await rm(`${input}.shortlink-journal`);
  expect((await run(['--max-rejects', 'all'])).stderr).toContain('1 already imported');
  expect(bodies()).toHaveLength(1);
});

test("rejects below Excel's line sep=; are removed once no row is rejected", async () => {
  const { run, input, folder } = await scene('sep=;\nurl;title\nnope;B\n');
  await run(['--max-rejects', 'all']);
  expect(await readdir(folder)).toContain('links.csv.rejects.csv');
  await writeFile(input, 'sep=;\nurl;title\nhttps://example.com/b;B\n');
  expect((await run([])).exitCode).toBe(0);
  expect(await readdir(folder)).not.toContain('links.csv.rejects.csv');
});

test('a title above the header: said, and kept by --in-place', async () => {
  const { run, input } = await scene('Campaign Q4,,\n,,\nurl,title\nhttps://example.com/a,A\n');
  const { stderr, exitCode } = await run(['--in-place']);
  expect(exitCode, stderr).toBe(0);
  expect(stderr).toContain('The header is on line 3.');
  const filled = await readFile(input, 'utf8');
  expect(filled).toMatch(/^Campaign Q4,,\n,,\nurl,title,code,.*\nhttps:\/\/example.com\/a,A,c1,/);
  expect((await run(['--in-place'])).stderr).toContain('Already imported');
});
