import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, test } from 'vitest';
import type { ImportSettings, Row } from '../types.ts';
import { detectLayout } from './layout.ts';
import { readRows } from './read-rows.ts';

const directory = mkdtempSync(join(tmpdir(), 'shortlink-detect-'));
afterAll(() => rmSync(directory, { recursive: true }));

type Options = Partial<Parameters<typeof detectLayout>[1]>;

async function detect(content: string | Uint8Array, options: Options = {}, name = 'x') {
  const path = join(directory, name);
  writeFileSync(path, content);
  const settings: Parameters<typeof detectLayout>[1] = {
    map: {},
    inputFormat: 'auto',
    delimiter: undefined,
    encoding: undefined,
    ...options,
  };
  return await detectLayout({ path, name }, settings);
}

/** The mapping by names, which reads better than by numbers. */
async function mapped(content: string, options?: Options) {
  const { plan } = await detect(content, options);
  return Object.fromEntries(
    Object.entries(plan.mapping).map(([field, index]) => [field, plan.columns[index ?? -1]]),
  );
}

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

async function rowsOf(content: string, options: Options = {}, name = 'x'): Promise<Row[]> {
  const layout = await detect(content, options, name);
  const rows: Row[] = [];
  for await (const some of readRows({ path: join(directory, name), name }, layout)) {
    rows.push(...some.map(({ line, cells }) => ({ line, cells })));
  }
  return rows;
}

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
  test.each<[string, string | Uint8Array, object, Options]>([
    ['plain', 'url,title\n', { delimiter: ',', lineEnd: '\n', bom: false }, {}],
    ['as Excel writes', `\uFEFF${semicolons}`, { delimiter: ';', lineEnd: '\r\n', bom: true }, {}],
    [
      'tabs, CR',
      'url\ttitle\rhttps://a.example\tA\r',
      { delimiter: '\t', lineEnd: '\r', bom: false },
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
    expect((await detect(content, options)).dialect).toEqual(dialect);
  });

  test('result columns are known by all four names', async () => {
    const header = 'url,note,code,short_url,status,error,added';
    const layout = await detect(`${header}\nhttps://a.example,,x,https://s.example/x,created,,\n`);
    expect(layout.resultColumns).toEqual({ code: 2, short_url: 3, status: 4, error: 5 });
    expect(layout).toMatchObject({ isOwnFile: true, plan: { mapping: { target_url: 0 } } });
    for (const other of [
      'url,code,short_url',
      'url,code,short_url,status',
      'code,url,status,error',
    ]) {
      expect(await detect(`${other}\n`)).toMatchObject({ resultColumns: {}, isOwnFile: false });
    }
    // Behind columns of another service, ours are those that we wrote.
    const behind = 'code,short_url,url,code,short_url,status,error\n';
    expect((await detect(behind)).resultColumns).toEqual({
      code: 3,
      short_url: 4,
      status: 5,
      error: 6,
    });
    const moved = 'status,url,error,short_url,code\n';
    expect((await detect(moved)).resultColumns).toEqual({
      code: 4,
      short_url: 3,
      status: 0,
      error: 2,
    });
  });

  test('result columns fill no field', async () => {
    const content =
      'Adresse,code,short_url,status,error\nhttps://a.example,x,https://s.example/x,created,\n';
    const { plan } = await detect(content);
    expect(plan.mapping).toEqual({ target_url: 0 });
    expect(plan.notes).toHaveLength(1);
  });
});

describe('columns by their names', () => {
  test.each([
    ['URL,Domain,Agency', { target_url: 'URL' }],
    ['Long URL,Tags,Title', { target_url: 'Long URL', title: 'Title', tags: 'Tags' }],
    ['url,destination_url', { target_url: 'destination_url' }],
    ['short_url,Link,name', { target_url: 'Link', title: 'name' }],
    ['link,url', { target_url: 'url' }],
    [
      'Target-URL,Redirect Type,domain_id',
      { target_url: 'Target-URL', redirect_type: 'Redirect Type', domain_id: 'domain_id' },
    ],
    ['\uFEFFurl,title', { target_url: 'url', title: 'title' }],
    ['"url","a ""b"""', { target_url: 'url' }],
  ])('%s', async (header, mapping) => {
    expect(await mapped(`${header}\n`)).toEqual(mapping);
  });

  test('none that could be it: the message lists what there is', async () => {
    await expect(detect('a,b\n1,2\n')).rejects.toMatchObject({
      message: 'x: no column could be recognized as the target URL',
      hint: expect.stringContaining('"a", "b"'),
    });
  });

  test('a name that stands twice is refused only if it is needed', async () => {
    await expect(detect('url,url\n')).rejects.toThrow('columns 1 and 2 could both be target_url');
    expect(await mapped('url,x,x\n')).toEqual({ target_url: 'url' });
    expect((await detect('url,url\n', { map: { target_url: '2' } })).plan.mapping.target_url).toBe(
      1,
    );
  });

  test('without a header the column of URLs is found, and named', async () => {
    const { plan } = await detect('A,https://a.example,x\nB,https://b.example,y\n');
    expect(plan).toMatchObject({
      hasHeader: false,
      columns: ['column_1', 'target_url', 'column_3'],
      mapping: { target_url: 1 },
    });
  });
});

describe('--map', () => {
  test.each(['Long URL', 'long url', 'LONGURL', 'long_url', '2'])('%s', async (column) => {
    const map = { target_url: column } satisfies ImportSettings['map'];
    expect(await mapped('url,Long URL\n', { map })).toEqual({ target_url: 'Long URL' });
  });

  test('a header that is a number wins over a number', async () => {
    expect(await mapped('2,1\n', { map: { target_url: '1' } })).toEqual({ target_url: '1' });
  });

  test('a column that is not there: those that are there are listed', async () => {
    await expect(detect('Agency,URL\n', { map: { tags: 'Agncy' } })).rejects.toMatchObject({
      message: 'x: --map tags=Agncy: there is no such column',
      hint: 'Its columns are "Agency", "URL"',
    });
    await expect(detect('a,url\n', { map: { tags: '3' } })).rejects.toThrow('no such column');
  });

  test('two columns that differ in case alone are ambiguous, unless one is named exactly', async () => {
    const content = 'URL,url \n';
    await expect(detect(content, { map: { target_url: 'Url' } })).rejects.toThrow('both');
    expect((await detect(content, { map: { target_url: 'url' } })).plan.mapping.target_url).toBe(1);
  });
});

describe('a column of URLs whose name is not usual', () => {
  test('is taken where it is the only one, and the plan says so', async () => {
    const { plan } = await detect('Adresse,Nom\nhttps://a.example,A\nhttp://b.example,B\n');
    expect(plan.mapping).toEqual({ target_url: 0 });
    expect(plan.notes).toEqual([expect.stringContaining('"Adresse"')]);
    expect((await detect('{"adresse":"https://a.example"}\n')).plan.mapping.target_url).toBe(0);
  });

  test.each([
    ['two of them', 'A,B\nhttps://a.example,https://b.example\n', 'URLs are in "A", "B"'],
    ['not in each row', 'A,B\nhttps://a.example,\nn/a,x\n', 'Its columns are "A", "B"'],
    ['no row', 'A,B\n', 'Its columns are "A", "B"'],
  ])('is not guessed with %s', async (_, content, hint) => {
    await expect(detect(content)).rejects.toMatchObject({ hint: expect.stringContaining(hint) });
  });
});

test('--map title= leaves the title out', async () => {
  expect(await mapped('url,title,tags\n', { map: { title: '' } })).toEqual({
    target_url: 'url',
    tags: 'tags',
  });
});

/** The header of each kind of export that is known. */
describe('a domain beside the short links of another service', () => {
  test.each(['keyword', 'short_url'])('is left out with %s, and a note says so', async (other) => {
    const { plan } = await detect(`url,domain_id,${other},redirect_type\n`);
    expect(plan.mapping).toEqual({ target_url: 0 });
    expect(plan.notes).toEqual([
      expect.stringContaining('--map domain_id=domain_id'),
      expect.stringContaining('--map redirect_type=redirect_type'),
    ]);
    const map = { domain_id: 'domain_id' };
    expect((await detect(`url,domain_id,${other}\n`, { map })).plan).toMatchObject({
      mapping: { target_url: 0, domain_id: 1 },
      notes: [],
    });
  });
});

describe('JSON Lines with a key that first appears far below', () => {
  const far = (line: string) =>
    `{"url":"https://a.example/1"}\n${`{"url":"https://a.example/2","x":"${'y'.repeat(1000)}"}\n`.repeat(500)}${line}\n`;
  const mappedAfter = async (line: string, options: Options = {}) => {
    const layout = await detect(far(line), options);
    for await (const _ of readRows({ path: join(directory, 'x'), name: 'x' }, layout));
    const { mapping, columns } = layout.plan;
    return Object.entries(mapping).map(([field, index]) => `${field}=${columns[index]}`);
  };

  test('it fills its field', async () => {
    const line = '{"name":"N","domain_id":"d1","title":"T","link":"https://b.example"}';
    expect(await mappedAfter(line)).toEqual([
      'target_url=url',
      'title=name',
      'domain_id=domain_id',
    ]);
  });

  test('but not where --map says otherwise, or where it is of another service', async () => {
    expect(await mappedAfter('{"title":"T"}', { map: { title: '' } })).toEqual(['target_url=url']);
    expect(await mappedAfter('{"title":"T"}', { map: { title: 'x' } })).toEqual([
      'target_url=url',
      'title=x',
    ]);
    expect(await mappedAfter('{"short_url":"https://s.example/x","domain_id":"d1"}')).toEqual([
      'target_url=url',
    ]);
  });
});

describe('a first line that may be a URL without its scheme', () => {
  test.each([
    'example.com/first',
    'bücher.example/',
    'www.example.de',
    'example.com',
    'a.example?x=1',
  ])('%s', async (first) => {
    for (const rest of ['https://a.example/b\n', 'https://a.example/b,c\nhttps://a.example/d\n']) {
      await expect(detect(`${first}\n${rest}`)).rejects.toMatchObject({
        exitCode: 2,
        message: expect.stringContaining(`"${first}"`),
        hint: expect.stringContaining('--map target_url=1'),
      });
    }
    const map = { target_url: '1' };
    expect((await detect(`${first}\nhttps://a.example/b\n`, { map })).plan.hasHeader).toBe(true);
  });

  test('a name with a dot is one', async () => {
    for (const name of ['Adresse Nr. 1', 'data.url', 'URL/Link']) {
      expect((await detect(`${name}\nhttps://a.example\n`)).plan.columns).toEqual([name]);
    }
  });
});

describe("other services' exports", () => {
  test.each<[string, string, Record<string, string>]>([
    ['Dub', 'Short link,Destination URL,Clicks,Created at', { target_url: 'Destination URL' }],
    [
      'Dub, all columns',
      'Short link,Destination URL,Clicks,Created at,Updated at,Tags,Title,Description,Archived',
      { target_url: 'Destination URL', title: 'Title', tags: 'Tags' },
    ],
    [
      'Shlink, command line',
      'createdAt,domain,shortCode,shortUrl,longUrl,title,tags,visits',
      { target_url: 'longUrl', title: 'title', tags: 'tags' },
    ],
    [
      'Shlink, web',
      'Long URL,Short code,Title,Tags',
      { target_url: 'Long URL', title: 'Title', tags: 'Tags' },
    ],
    ['YOURLS, tools', 'source,target,hits', { target_url: 'target' }],
    [
      'YOURLS, database',
      'keyword,url,title,timestamp,ip,clicks',
      { target_url: 'url', title: 'title' },
    ],
    [
      'Short.io',
      'idString,shortURL,originalPath,originalURL,title,tags,redirectType,DomainId,clicks,createdAt',
      { target_url: 'originalURL', title: 'title', tags: 'tags' },
    ],
    [
      'Rebrandly',
      'Domain,Slashtag,Destination,Title,Clicks',
      { target_url: 'Destination', title: 'Title' },
    ],
    [
      'Rebrandly, API',
      'id,title,slashtag,destination,createdAt,shortUrl,domainId,domain',
      { target_url: 'destination', title: 'title' },
    ],
    [
      'Bitly',
      'Link,Custom Link,Date created,Title,Destination URL,Engagements,Status',
      { target_url: 'Destination URL', title: 'Title' },
    ],
    [
      'Bitly, bulk',
      'Bitlink,Long URL,Title,Tags',
      { target_url: 'Long URL', title: 'Title', tags: 'Tags' },
    ],
    [
      'Bitly, API',
      'link,long_url,title,created_at,tags',
      { target_url: 'long_url', title: 'title', tags: 'tags' },
    ],
  ])('%s', async (_, header, mapping) => {
    expect(await mapped(`${header}\n`)).toEqual(mapping);
  });

  test('--map stands above the usual names', async () => {
    const map = { target_url: 'Link' };
    expect(await mapped('Link,Destination URL,Engagements\n', { map })).toEqual({
      target_url: 'Link',
    });
  });
});
