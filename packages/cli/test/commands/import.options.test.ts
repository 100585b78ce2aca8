import { copyFile, link, readdir, readFile, stat, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { workbook } from '../../../tables/test/workbook-fixture.ts';
import { BATCH, GOOD, scene, urls } from '../import-scene.ts';
import { cli } from '../test-io.ts';

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

  test('--add-tag, for every row', async () => {
    const text = 'url,tags\nhttps://example.com/a,own;x\nhttps://example.com/b,\n';
    const added = ['--add-tag', 'x', '--add-tag', 'y'];
    const { run, bodies, input, service } = await scene(text);
    await run([...added, '--tag', 'usual']);
    expect(bodies()[0]).toMatchObject({
      links: [{ tags: ['own', 'x', 'y'] }, { tags: ['usual', 'x', 'y'] }],
    });
    await writeFile(input, `${text}https://example.com/c,\n`);
    await run(added);
    expect(bodies()[1]).toMatchObject({ links: [{ tags: ['x', 'y'] }] });
    const offers = await cli(['__complete', 'fish', 'import', '--add'], { env: service.env });
    expect(offers.stdout).toContain('--add-tag');
  });

  test('--known, once for each earlier results file', async () => {
    const { run, bodies, input } = await scene(
      ['url', ...['a', 'b', 'c'].map((name) => `https://example.com/${name}`), ''].join('\n'),
    );
    const known = ['a', 'b'].map((name) => `${input}.${name}.known`);
    for (const [n, path] of known.entries()) {
      const row = `https://example.com/${'ab'[n]},x${n},https://s.example/x${n},created,`;
      await writeFile(path, `url,code,short_url,status,error\n${row}\n`);
    }
    const result = await run(known.flatMap((path) => ['--known', path]));
    expect(result.exitCode, result.stderr).toBe(0);
    expect(bodies()[0].links).toEqual([{ target_url: 'https://example.com/c' }]);
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

  test('an export of another service needs no option, and its mapping is shown', async () => {
    const { run, bodies } = await scene(
      'Short link,Destination URL,Clicks,Created at\nhttps://dub.sh/x,https://example.com/a,1,2026\n',
    );
    const result = await run();
    expect(result.exitCode, result.stderr).toBe(0);
    expect(result.stderr).toContain('target_url ← Destination URL');
    expect(bodies()[0].links[0].target_url).toBe('https://example.com/a');
  });

  test('--skip-lines, and --map title= leaves the title out', async () => {
    const { run, bodies } = await scene('Report of May\n\nurl,title\nhttps://example.com/a,A\n');
    const result = await run(['--skip-lines', '2', '--map', 'title=']);
    expect(result.exitCode, result.stderr).toBe(0);
    expect(bodies()[0].links).toEqual([{ target_url: 'https://example.com/a' }]);
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
    await run(['--idempotency', '--restart']);
    const sent = service.requests.filter(({ method }) => method === 'POST');
    expect(sent.map(({ headers }) => typeof headers['idempotency-key'])).toEqual([
      'undefined',
      'string',
    ]);
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
    const { run, other } = await two(`${GOOD}nope,C\n`, 'url\nhttps://example.com/c\n');
    expect((await run([other, '--max-rejects', 'all'])).exitCode).toBe(3);
  });

  test.each(['--output', '--rejects', '--journal'])('%s is for one file', async (option) => {
    const { run, other, service } = await two(GOOD, GOOD);
    const result = await run([other, option, 'x']);
    expect(result.exitCode).toBe(2);
    expect(result.stderr).toContain(option);
    expect(service.requests).toEqual([]);
  });

  test('without the results of another: `*.csv` is the same files a second time', async () => {
    const { run, input, other, bodies } = await two(GOOD, 'url\nhttps://example.com/c\n');
    expect((await run([other])).exitCode).toBe(0);
    const sent = bodies().length;
    const results = [`${input}.results.csv`, `${other}.results.csv`];
    // Those of a sheet have its name in theirs.
    results.push(`${input}.May.results.csv`);
    await copyFile(results[0] ?? '', results[2] ?? '');
    await cli(['verify', results[0] ?? '', '-o', `${input}.verify.csv`]);
    const again = await run([...results, other]);
    expect(again).toMatchObject({ exitCode: 0, stdout: '' });
    for (const file of results)
      expect(again.stderr).toContain(`${file} is not imported: it has the results of`);
    expect(bodies()).toHaveLength(sent);
    const { stdout } = await run([...results, `${input}.verify.csv`, other, '--json']);
    expect(JSON.parse(stdout).warnings).toEqual([
      `${results[0]} is not imported: it has the results of ${input}.`,
      `${results[1]} is not imported: it has the results of ${other}.`,
      `${results[2]} is not imported: it has the results of ${input}.`,
      `${input}.verify.csv is not imported: it has the report of ${input}.`,
    ]);
    // Named alone, it is a file like others; and no file is its own results.
    expect((await cli(['import', results[0] ?? ''])).stderr).not.toContain('is not imported');
    await symlink(input, `${input}.x.results.csv`);
    await symlink(input, `${input}.x`);
    expect((await cli(['import', `${input}.x`])).exitCode).toBe(2);
  });

  test('without the rejects of another, which stay as somebody has corrected them', async () => {
    const { run, input, other, bodies } = await two(
      `${GOOD}nope,C\n`,
      'url\nhttps://example.com/c\n',
    );
    const args = [other, '--max-rejects', 'all'];
    expect((await run(args)).exitCode).toBe(3);
    const sent = bodies().length;
    const rejects = `${input}.rejects.csv`;
    await writeFile(rejects, 'url,title,line,reason\nhttps://example.com/right,C,4,wrong\n');
    const again = await run([rejects, ...args]);
    expect(again.exitCode, again.stderr).toBe(3);
    expect(again.stderr).toContain(`${rejects} is not imported: it has the rejects of ${input}.`);
    expect(bodies()).toHaveLength(sent);
    expect(await readFile(`${rejects}.old`, 'utf8')).toContain('example.com/right');
  });

  test('without what Excel keeps beside a workbook that is open', async () => {
    const { run, folder, bodies } = await two(GOOD, 'url\nhttps://example.com/c\n');
    const locks = ['~$one.xlsx', '~$ONE.XLS'].map((name) => join(folder, name));
    for (const lock of locks) await writeFile(lock, `\u0005Ada${' '.repeat(51)}A\0d\0a\0`);
    const result = await run(locks);
    expect(result.exitCode, result.stderr).toBe(0);
    for (const lock of locks)
      expect(result.stderr).toContain(`${lock} is not imported: it has the lock of an open`);
    expect(bodies()).toHaveLength(1);
    const alone = await cli(['import', locks[0] ?? '']);
    expect(alone).toMatchObject({
      exitCode: 2,
      stderr: expect.stringContaining(`${locks[0]} is not`),
    });
  });

  test('not twice, and not with stdin', async () => {
    const { run, input } = await two(GOOD, GOOD);
    expect((await run([input])).stderr).toMatch(/given twice/);
    expect((await run(['-'])).stderr).toMatch(/imported alone/);
    for (const role of ['rejects', 'shortlink-journal']) {
      const known = `${input}.${role === 'rejects' ? 'rejects.csv' : role}`;
      const { stderr } = await run(['--known', known]);
      expect(stderr).toMatch(/--known and --(?:rejects|journal)(?: of .*)? are the same file/);
    }
  });
});

test.each([
  [['--map', 'url=URL'], /no field url\. Fields: target_url, title/],
  [['--map', 'target_url'], /looks like target_url="Long URL"/],
  [['--map', 'title=A', '--map', 'title=B'], /title is mapped twice/],
  [['--map', 'title=Nope'], /Nope/],
  [['--map', 'target_url='], /can't be left out/],
  [['--input-format', 'xls'], /auto, csv, tsv, jsonl, urls, xlsx/],
  [['--input-format', 'xlsx'], /not an Excel workbook/],
  [['--sheet', 'May'], /not an Excel workbook/],
  [['--skip-lines', '-1'], /whole number/],
  [['--skip-lines', '100'], /nothing below its first 100 lines/],
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
  [['--limit', '0'], /whole number/],
  [['--in-place', '-o', 'x'], /--in-place and --output exclude each other/],
  [['--in-place', '--output-format', 'jsonl'], /--in-place and --output-format exclude/],
  [['-o', 'x.xlsx', '--output-format', 'csv'], /x\.xlsx would be a workbook/],
  [['-o', '-', '--output-format', 'xlsx'], /not written to standard output/],
  [['--rejects', 'x.xlsx'], /x\.xlsx would be something else/],
  [['--rejects', 'x.jsonl'], /Rejects are CSV/],
  [['--rejects', '-'], /--rejects must be a file/],
  [['--journal', '-'], /--journal must be a file/],
  [['-o', 'same', '--rejects', './same'], /--rejects and --output are the same file/],
])('%j is a usage error and sends nothing', async (args, words) => {
  const { run, service } = await scene(GOOD);
  const result = await run(args);
  expect(result.exitCode).toBe(2);
  expect(result.stderr).toMatch(words);
  expect(service.requests).toEqual([]);
});

test('each sheet that is named has results, rejects and a journal of its own', async () => {
  const row = (name: string) => [`https://example.com/${name}`];
  const { run, folder, bodies, input } = await scene('', 'book.xlsx');
  const odd = 'B\\/:*?"<>|C';
  const sheets = { A: [['url'], row('a'), ['bad']], [odd]: [['url'], row('b'), row('c')] };
  await writeFile(input, workbook(sheets));
  const first = await run(['--sheet', 'A', '--max-rejects', 'all']);
  expect(first.exitCode, first.stderr).toBe(3);
  const second = await run(['--sheet', odd, '--state-dir', folder]);
  expect(second.exitCode, second.stderr).toBe(0);
  expect(second.stderr).not.toContain('rows that were removed');
  expect((await readdir(folder)).sort()).toEqual([
    'book.xlsx',
    'book.xlsx.A.rejects.csv',
    'book.xlsx.A.results.xlsx',
    'book.xlsx.A.shortlink-journal',
    'book.xlsx.B_________C.results.xlsx',
    'book.xlsx.B_________C.shortlink-journal',
  ]);
  await run(['--sheet', 'A', '--max-rejects', 'all']);
  expect(bodies()).toHaveLength(2);
});

test('-o FILE.xlsx and --output-format xlsx make a workbook', async () => {
  const { run, input } = await scene(GOOD);
  expect((await run(['-o', `${input}.xlsx`])).exitCode).toBe(0);
  expect((await run(['--output-format', 'xlsx'])).exitCode).toBe(0);
  for (const path of [`${input}.xlsx`, `${input}.results.xlsx`]) {
    expect((await readFile(path)).toString('latin1', 0, 4)).toBe('PK\u0003\u0004');
  }
});

test.each(['-o', '--rejects'])('the input is never overwritten by %s', async (option) => {
  const { run, input } = await scene(GOOD);
  const result = await run([option, input]);
  expect(result.exitCode).toBe(2);
  expect(result.stderr).toContain('are the same file');
  expect(await readFile(input, 'utf8')).toBe(GOOD);
});

test.each(['--tag', '--add-tag', '--domain'])('an empty %s is refused at once', async (option) => {
  const { run, bodies } = await scene(GOOD);
  const result = await run([option, ' ']);
  expect(result.exitCode).toBe(2);
  expect(result.stderr).toContain('It must not be empty.');
  const create = option === '--add-tag' ? '--tag' : option;
  expect((await cli(['create', 'https://example.com/a', create, ''])).exitCode).toBe(2);
  expect(bodies()).toEqual([]);
});

test('nor is it under another name of the same file', async () => {
  const { run, input, folder, bodies } = await scene(GOOD);
  await symlink(input, join(folder, 'linked.csv'));
  await link(input, join(folder, 'hard.csv'));
  for (const other of ['linked.csv', 'hard.csv']) {
    for (const option of ['-o', '--rejects']) {
      const result = await run([option, join(folder, other)]);
      expect(result.exitCode).toBe(2);
      expect(result.stderr).toContain('and the input are the same file');
    }
    const twice = await run([join(folder, other)]);
    expect(twice.stderr).toContain('is given twice');
  }
  expect(await readFile(input, 'utf8')).toBe(GOOD);
  expect(bodies()).toEqual([]);
});

test('--in-place writes the results into the input, which needs no other memory', async () => {
  const { run, input, bodies, folder } = await scene(GOOD);
  const first = await run(['--in-place']);
  expect(first.exitCode, first.stderr).toBe(0);
  const filled = await readFile(input, 'utf8');
  expect(filled).toBe(
    'url,title,code,short_url,status,error,made_for\nhttps://example.com/a,A,c1,https://sho.rt/c1,created,,c324a765\nhttps://example.com/b,B,c2,https://sho.rt/c2,created,,816e961b\n',
  );
  const again = await run(['--in-place', '--journal', join(folder, 'lost')]);
  expect(again.stderr).toContain('Already imported: all 2 rows');
  expect(await readFile(input, 'utf8')).toBe(filled);
  expect(bodies()).toHaveLength(1);
});

test('-o - sends no escape sequence to a terminal', async () => {
  const text = 'url\ttitle\r\nhttps://example.com/a\t\u001b[2JA\u009b5mB\r\n';
  for (const stdout of [true, false]) {
    const { run, service } = await scene(text, 'links.tsv');
    service.answer(BATCH, {
      status: 201,
      body: {
        status: 'completed',
        results: [
          { target_url: 'https://example.com/a', code: 'a', short_url: 'https://s.example/a' },
        ],
      },
    });
    const result = await run(['-o', '-'], { tty: { stdout } });
    if (!stdout) expect(result.stdout).toContain('\u001b[2JA\u009b5mB');
    expect(result.stdout).toContain('url\ttitle\t');
    if (stdout) expect(result.stdout.replace(/\r\n|\t/g, '')).not.toMatch(/\p{Cc}/u);
  }
});

test('--state-dir holds journal, results and rejects; --known, --limit', async () => {
  const { run, folder, bodies } = await scene(`${GOOD}nope,C\n`);
  const state = join(folder, 'state');
  const args = ['--state-dir', state, '--max-rejects', 'all', '--json'];
  const first = await run([...args, '--limit', '1']);
  expect(JSON.parse(first.stdout)).toMatchObject({ created: 1, unsent: 1, rejected: 1 });
  expect((await readdir(state)).sort()).toEqual([
    'links.csv.rejects.csv',
    'links.csv.results.csv',
    'links.csv.shortlink-journal',
  ]);
  const known = join(state, 'links.csv.results.csv');
  const second = await run(['--journal', join(folder, 'new'), ...args, '--known', known]);
  expect(JSON.parse(second.stdout)).toMatchObject({ created: 1, existing: 1 });
  expect(bodies().map(({ links }) => links.length)).toEqual([1, 1]);
});
