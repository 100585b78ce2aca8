import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, test } from 'vitest';
import { type DetectOptions, layouts } from '../test/layouts.ts';

const directory = mkdtempSync(join(tmpdir(), 'shortlink-detect-'));
afterAll(() => rmSync(directory, { recursive: true }));
const { detect, read } = layouts(directory);
const rowsOf = async (...input: Parameters<typeof read>) => (await read(...input)).rows;

describe('format and delimiter', () => {
  test.each<[string, string, string, string | undefined]>([
    ['commas', 'url,title\nhttps://a.example,A\n', 'csv', ','],
    ['semicolons', 'url;title\nhttps://a.example/?a=1,2;A\nhttps://b.example;B\n', 'csv', ';'],
    ['tabs', 'url\ttitle\nhttps://a.example\tA, B\n', 'tsv', '\t'],
    ['bars', 'url|title\nhttps://a.example|A\n', 'csv', '|'],
    ['one column', 'url\n"https://a.example/?x=1,2"\n', 'csv', ','],
    ['delimiters inside quotes', 'url;title\nhttps://a.example;"a,b,c,d"\n', 'csv', ';'],
    ["Excel's sep line", 'sep=;\r\nurl;title\r\nhttps://a.example;A\r\n', 'csv', ';'],
    ['a URL list', 'https://a.example\nhttps://b.example/?x=1,2\n', 'urls', undefined],
    ['no header', 'https://a.example,A\nhttps://b.example,B\n', 'csv', ','],
    ['no header, with spaces', 'https://a.example/x,A B\nhttps://b.example,C D\n', 'csv', ','],
    ['JSON lines', '{"url":"https://a.example"}\n', 'jsonl', undefined],
  ])('%s', async (_, content, format, delimiter) => {
    const { plan } = await detect(content);
    expect(plan).toMatchObject({ format, delimiter });
    expect(plan.columns[plan.mapping.target_url ?? -1]).toMatch(/url/);
  });

  test.each<[string, string, string, DetectOptions?]>([
    ['of titles', 'Long URL;Title, short\nhttps://a.example/0;Doe, Jane\n', ';'],
    ['of quoted titles', 'Long URL;"Title, short"\nhttps://a.example/0;"Doe, Jane"\n', ';'],
    ['of some titles', 'URL;A, B\nhttps://a.example;C;D\nhttps://b.example;C, D\n', ';'],
    ['of tags', 'URL,Tags (a|b|c)\nhttps://a.example,red|green|blue\n', ','],
    ['between bars', 'Long URL|Title, short\nhttps://a.example/0|Doe, Jane\n', '|'],
    ['before the URL', 'Preis (EUR, netto);Ziel\n0,50;https://a.example\n', ';'],
    ['behind a short link', 'link;long_url;A, B\nbit.ly/1;https://a.example/0;C, D\n', ';'],
    ['behind a host', 'https://a.example,red;blue\nhttps://b.example,red;green\n', ','],
    [
      'behind blanks',
      'https://a.example/0,Page one | Site\nhttps://b.example/0,Page two | Site\n',
      ',',
    ],
    ['of some rows, and quotes', 'https://a.example/0,A | B,C\n"https://b.example/0",D,E\n', ','],
    ['behind tabs', 'https://a.example/0\tDoe, Jane\nhttps://b.example/0\tRoe, Joe\n', '\t'],
    [
      'with a column that --map names',
      'Ziel;Preis (EUR, netto)\nhttps://a.example;0,50\n',
      ';',
      { map: { target_url: 'Ziel' } },
    ],
  ])('other delimiters in the cells %s cut no URL', async (_, content, delimiter, settings) => {
    const { plan, samples } = await detect(content, settings);
    expect(plan).toMatchObject({ delimiter });
    for (const { cells } of samples) {
      expect(cells[plan.mapping.target_url ?? -1]).toMatch(/^https:\/\/[ab]\.example(\/0)?$/);
    }
  });

  test.each([
    'Ziel;Preis (EUR, netto)\nhttps://a.example/0;0,50\n',
    'Adresse,Etiketten (a|b|c)\nhttps://a.example/0,red|green|blue\n',
    'https://a.example/0;Doe, Jane\nhttps://a.example/1;Doe, Joe\n',
  ])(
    'where two delimiters cut as well and no name tells, the table is refused: %j',
    async (content) => {
      await expect(detect(content)).rejects.toMatchObject({
        message: expect.stringMatching(/^x could be cut at "[,;|]" or at "[,;|]"$/),
        hint: expect.stringMatching(/^Name the right one: --delimiter/),
      });
    },
  );

  test('what the user says stands', async () => {
    const content = 'url,x;title\nhttps://a.example;A\n';
    expect(
      (await detect(content, { delimiter: ';', map: { target_url: '1' } })).plan,
    ).toMatchObject({ delimiter: ';', columns: ['url,x', 'title'] });
    expect((await detect('https://a.example,A', { inputFormat: 'urls' })).plan.format).toBe('urls');
  });

  test('the extension decides what the text leaves open', async () => {
    const list = 'https://a.example\nhttps://b.example\n';
    expect((await detect(list, {}, 'x.csv')).plan.format).toBe('csv');
    expect((await detect('{"url":"u"}', {}, 'x.ndjson')).plan.format).toBe('jsonl');
  });

  test.each(['x.tsv', 'x.tab', 'x.tsv.gz'])('a table without a tab is none in %s', async (name) => {
    const { plan } = await detect('url;title\nhttps://a.example;A\n', {}, name);
    expect(plan).toMatchObject({ format: 'csv', delimiter: ';', columns: ['url', 'title'] });
  });

  test.each([
    ['of one column', 'url\nhttps://a.example/x?a=1,2\nn/a\n'],
    ['of one column without a header', 'https://a.example/x?a=1,2\nhttps://b.example/\n'],
  ])('a .tsv file %s stays one', async (_, content) => {
    expect((await detect(content, {}, 'x.tsv')).plan).toMatchObject({ format: 'tsv' });
  });

  test.each([
    ['an empty file', '', 'x is empty'],
    ['blank lines alone', '\n \n', 'x is empty'],
    ['a page', '<!DOCTYPE html>\n<title>Log in</title>', 'HTML'],
    ['empty cells alone', ',,\n,,\n', 'all of its cells are empty'],
    [
      'UTF-16 without a BOM',
      Buffer.from('url\nhttps://a.example', 'utf16le'),
      'full of NUL characters',
    ],
    ['a JSON array', '[\n {"url":"https://a.example"}]', 'one JSON array'],
    ['one object on several lines', '{\n  "url": "https://a.example"\n}\n', 'x is not JSON Lines'],
  ])('%s is refused with words', async (_, content, message) => {
    await expect(detect(content)).rejects.toThrow(message);
  });
});

test('UTF-16 without a BOM that is no UTF-8: its encoding is suggested', async () => {
  const hint = expect.stringContaining('--encoding utf-16le');
  const content = Buffer.from('url;title\nhttps://a.example;Müller\n', 'utf16le');
  await expect(detect(content)).rejects.toMatchObject({
    message: expect.stringContaining('is not UTF-8'),
    hint,
  });
});

test('a NUL in a line of text concerns this line alone', async () => {
  const content = 'url,title\nhttps://a.example,A\0\nhttps://b.example,B\n';
  expect((await detect(content)).plan.columns).toEqual(['url', 'title']);
});

test('a title above the header: --skip-lines is suggested', async () => {
  const content = 'Export of May\nWhere,What\nhttps://a.example,A\n';
  await expect(detect(content)).rejects.toMatchObject({
    hint: expect.stringContaining('--skip-lines'),
  });
});

describe('a header below a title is found', () => {
  test.each([
    ['a title', 'Campaign Q4\nurl,title\nhttps://a.example,A\n', 2],
    ['a padded title', 'Campaign Q4,,\n,,\nTitle,Long URL,x\nA,https://a.example,\n', 3],
    ['a title of two lines', '"Campaign\nQ4";\n;;\nurl;title\nhttps://a.example;A\n', 4],
    ['a title above columns with ;', 'Campaign Q4\r\n\r\nurl;title\r\nhttps://a.example;A\r\n', 3],
    ['19 rows', `${'x,y\n'.repeat(19)}url,title\nhttps://a.example,A\n`, 20],
  ])('%s', async (_, content, line) => {
    const layout = await detect(content);
    expect(layout.plan.notes).toEqual([
      `The header is on line ${line}. What stands above it is no row.`,
    ]);
    expect(layout.plan.columns[layout.plan.mapping.target_url ?? -1]).toMatch(/url/i);
    const [row, ...more] = await rowsOf(content);
    expect(row?.cells).toContain('https://a.example');
    expect(row?.line).toBe(line + 1);
    expect(more).toEqual([]);
  });

  test('by the name that --map gives', async () => {
    const content = 'Campaign Q4,\nZiel,Titel\nhttps://a.example,A\n';
    const layout = await detect(content, { map: { target_url: 'Ziel' } });
    expect(layout.plan.columns).toEqual(['Ziel', 'Titel']);
  });

  test.each([
    ['20 rows', `${'x,y\n'.repeat(20)}url,title\nhttps://a.example,A\n`],
    ['no URL below it', 'Campaign Q4,\nurl,title\nA,B\n'],
  ])('but not below or with %s', async (_, content) => {
    await expect(detect(content)).rejects.toThrow('no column could be recognized');
  });

  test('a cell with such a word below URLs is no header', async () => {
    const content = 'Ziel,Art\nhttps://a.example,url\nhttps://b.example,https://c.example\n';
    expect((await detect(content)).plan.columns).toEqual(['Ziel', 'Art']);
  });
});

describe('a URL is never cut', () => {
  test.each([
    ['a comma', 'https://maps.example.com/?q=48.85,2.29'],
    ['a semicolon', 'https://shop.example.com/;jsessionid=1;x=2'],
    ['a bar', 'https://fonts.example.com/css?family=A|B'],
    ['several', 'https://a.example/x,y;z|1,2'],
    ['a comma at the end', 'https://a.example/x,'],
  ])('each line of a list holds %s', async (_, url) => {
    for (const content of [`${url}\n${url}2\n`, `${url}\r\n`, url]) {
      for (const name of ['x', 'x.txt', 'standard input']) {
        const layout = await detect(content, {}, name);
        expect(layout.plan).toMatchObject({ format: 'urls', firstUrl: url });
      }
    }
    expect((await rowsOf(`${url}\n${url}2\n`)).map(({ cells }) => cells)).toEqual([
      [url],
      [`${url}2`],
    ]);
  });

  test('bad lines of a list are rows of it', async () => {
    const content = 'https://a.example\nnot a url\nhttps://b.example/?q=1,2\n';
    expect(await rowsOf(content)).toEqual([
      { line: 1, cells: ['https://a.example'] },
      { line: 2, cells: ['not a url'] },
      { line: 3, cells: ['https://b.example/?q=1,2'] },
    ]);
  });

  test.each([
    ['two URLs in each line', 'https://a.example/x,https://b.example/y\n'],
    [
      'URLs with a comma beside a line with spaces',
      'https://a.example/x,A B\nhttps://b.example/y,C\n',
    ],
  ])('%s: refused with the flags that decide', async (_, content) => {
    await expect(detect(content)).rejects.toMatchObject({
      message: expect.stringContaining('could be a list of URLs or a table'),
      hint: expect.stringMatching(/--input-format urls.*--delimiter ","/),
    });
    expect((await detect(content, { inputFormat: 'urls' })).plan.format).toBe('urls');
    expect((await detect(content, { delimiter: ',' })).plan.format).toBe('csv');
    expect((await detect(content, {}, 'x.csv')).plan.format).toBe('csv');
  });

  test('the name .csv says table, and the plan shows what that does to a URL', async () => {
    const { plan } = await detect('https://maps.example.com/?q=48.85,2.29\n', {}, 'x.csv');
    expect(plan).toMatchObject({ format: 'csv', firstUrl: 'https://maps.example.com/?q=48.85' });
    expect(plan.notes).toEqual([expect.stringContaining('--input-format urls')]);
  });

  test.each([
    ['https://maps.example.com/?q=48.85,2.29\nhttps://a.example/about\n'],
    ['https://a.example/about\nhttps://maps.example.com/?q=48.85,2.29\nnot a URL\n'],
    ['https://a.example/x;v=1\nhttps://a.example/y\n'],
  ])('the name .csv cuts no URL where others have no delimiter: %j', async (content) => {
    await expect(detect(content, {}, 'x.csv')).rejects.toMatchObject({
      message: expect.stringContaining('could be a list of URLs or a table'),
      hint: expect.stringMatching(/--input-format urls.*--delimiter "[,;]"/),
    });
    expect((await detect(content, { inputFormat: 'csv' }, 'x.csv')).plan.format).toBe('csv');
    expect((await detect(content, { inputFormat: 'urls' }, 'x.csv')).plan.format).toBe('urls');
  });

  test('the name .csv says table where titles have words, or stand behind no URL alone', async () => {
    const table = 'https://a.example/x,Two words\nhttps://a.example/y\n';
    expect((await detect(table, {}, 'x.csv')).plan.format).toBe('csv');
  });

  test('one column without quotes stays one column', async () => {
    const content = 'Link\nhttps://maps.example.com/?q=48.85,2.29\nhttps://b.example/,\n';
    for (const name of ['x.csv', 'x']) {
      expect((await detect(content, {}, name)).plan).toMatchObject({
        columns: ['Link'],
        hasHeader: true,
        firstUrl: 'https://maps.example.com/?q=48.85,2.29',
        notes: [expect.stringContaining('--input-format csv')],
      });
      expect(await rowsOf(content, {}, name)).toEqual([
        { line: 2, cells: ['https://maps.example.com/?q=48.85,2.29'] },
        { line: 3, cells: ['https://b.example/,'] },
      ]);
    }
  });
});

describe('quotes that are not closed', () => {
  test.each([
    ['in the header', '"url"x,title\nhttps://a.example,A\n', 'x, line 1: "x" follows'],
    ['never closed in the header', '"url,title\nhttps://a.example,A\n', 'x, line 1: a quote opens'],
  ])('%s', async (_, content, message) => {
    await expect(detect(content)).rejects.toThrow(message);
  });

  test.each([
    ['below it', 'url,title\nhttps://a.example,A\nhttps://b.example,"B" b\n', 3],
    ['behind skipped lines', 'x\n\nurl,title\nhttps://b.example,"B" b\n', 4],
    ['at the end', 'url,title\nhttps://a.example,"A\nhttps://b.example,B\n', 2],
  ])('%s: the line is named when the rows are read', async (_, content, line) => {
    const skipLines = content.startsWith('x') ? 2 : 0;
    expect((await detect(content, { skipLines })).plan.columns).toEqual(['url', 'title']);
    await expect(rowsOf(content, { skipLines })).rejects.toThrow(`x, line ${line}: `);
  });
});

describe('what comes before the header', () => {
  test('more than can be looked at is said to be too much', async () => {
    const content = `${'x\n'.repeat(200_000)}url\nhttps://a.example\n`;
    await expect(detect(content, { skipLines: 200_000 })).rejects.toThrow(
      'its first 200000 lines hold more than',
    );
  });

  test.each(['\n', '\r\n', '\r'])(
    'skipped lines and a sep line, lines end with %j',
    async (end) => {
      const content = ['Report', '', 'sep=;', 'url;title', 'https://a.example;A', ''].join(end);
      const layout = await detect(content, { skipLines: 2 });
      expect(layout.plan).toMatchObject({ columns: ['url', 'title'], delimiter: ';' });
      expect(layout.preamble).toBe(['Report', '', 'sep=;', ''].join(end));
      expect(await rowsOf(content, { skipLines: 2 })).toEqual([
        { line: 5, cells: ['https://a.example', 'A'] },
      ]);
    },
  );

  test('lists and JSON lines', async () => {
    expect(await rowsOf('# my links\nhttps://a.example\n', { skipLines: 1 })).toEqual([
      { line: 2, cells: ['https://a.example'] },
    ]);
    expect(await rowsOf('x\n{"url":"https://a.example"}\n', { skipLines: 1 })).toEqual([
      { line: 2, cells: ['https://a.example'] },
    ]);
  });
});

describe('how results are to be written', () => {
  const semicolons = 'url;title\r\nhttps://a.example;Ä\r\n';
  test.each<[string, string | Uint8Array, object, DetectOptions]>([
    ['plain', 'url,title\n', { delimiter: ',', lineEnd: '\n', bom: false }, {}],
    ['as Excel writes', `\uFEFF${semicolons}`, { delimiter: ';', lineEnd: '\r\n', bom: true }, {}],
    [
      'tabs, CR',
      'url\ttitle\rhttps://a.example\tA\r',
      { delimiter: '\t', lineEnd: '\r', bom: false },
      {},
    ],
    [
      "Excel's sep line",
      `sep=;\r\n${semicolons}`,
      { delimiter: ';', lineEnd: '\r\n', bom: false, sep: 'sep=;\r\n' },
      {},
    ],
    ['a list', 'https://a.example\r\n', { delimiter: ',', lineEnd: '\r\n', bom: false }, {}],
    [
      'UTF-16',
      Buffer.from(`\uFEFF${semicolons}`, 'utf16le'),
      { delimiter: ';', lineEnd: '\r\n', bom: true },
      {},
    ],
    [
      'another encoding',
      Buffer.from(semicolons, 'latin1'),
      { delimiter: ';', lineEnd: '\r\n', bom: true },
      { encoding: 'windows-1252' },
    ],
  ])('%s', async (_, content, dialect, options) => {
    expect((await detect(content, options)).dialect).toEqual({ sep: '', ...dialect });
  });
});
