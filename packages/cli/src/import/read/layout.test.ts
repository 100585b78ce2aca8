import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, test } from 'vitest';
import type { ImportSettings } from '../types.ts';
import { detectLayout } from './layout.ts';

const directory = mkdtempSync(join(tmpdir(), 'shortlink-detect-'));
afterAll(() => rmSync(directory, { recursive: true }));

type Options = Partial<Parameters<typeof detectLayout>[1]>;

async function detect(content: string | Uint8Array, options: Options = {}, name = 'x') {
  const path = join(directory, name);
  writeFileSync(path, content);
  const settings: Parameters<typeof detectLayout>[1] = {
    map: {},
    from: undefined,
    inputFormat: 'auto',
    delimiter: undefined,
    tagSeparator: undefined,
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
    ['one column', 'url\nhttps://a.example/?x=1,2\n', 'csv', ','],
    ['delimiters inside quotes', 'url;title\nhttps://a.example;"a,b,c,d"\n', 'csv', ';'],
    ["Excel's sep line", 'sep=;\r\nurl;title\r\nhttps://a.example;A\r\n', 'csv', ';'],
    ['a URL list', 'https://a.example\nhttps://b.example/?x=1,2\n', 'urls', undefined],
    ['no header', 'https://a.example,A\nhttps://b.example,B\n', 'csv', ','],
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
    ['a spreadsheet', 'PK\u0003\u0004rest', 'spreadsheet'],
    ['UTF-16 without a BOM', Buffer.from('url\nhttps://a.example', 'utf16le'), 'NUL characters'],
    ['a JSON array', '[\n {"url":"https://a.example"}]', 'one JSON array'],
  ])('%s is refused with words', async (_, content, message) => {
    await expect(detect(content)).rejects.toThrow(message);
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
      message: 'x: no column is known to hold the target URL',
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

  test('a column that is not there: the nearest is suggested', async () => {
    await expect(detect('Agency,URL\n', { map: { tags: 'Agncy' } })).rejects.toMatchObject({
      message: 'x: --map tags=Agncy: there is no such column',
      hint: 'Did you mean "Agency"? Its columns are "Agency", "URL"',
    });
    await expect(detect('a,url\n', { map: { tags: '3' } })).rejects.toThrow('no such column');
  });

  test('two columns that differ in case alone are ambiguous, unless one is named exactly', async () => {
    const content = 'URL,url \n';
    await expect(detect(content, { map: { target_url: 'Url' } })).rejects.toThrow('both');
    expect((await detect(content, { map: { target_url: 'url' } })).plan.mapping.target_url).toBe(1);
  });
});

describe("other services' exports", () => {
  test.each([
    ['dub', 'Short link,Destination URL,Clicks,Created at', 'Destination URL'],
    ['dub', 'Short link,Destination URL,Clicks,Created at,Tags', 'Destination URL'],
    ['shlink', 'createdAt,domain,shortCode,shortUrl,longUrl,title,tags,visits', 'longUrl'],
    ['shlink', 'Long URL,Short code,Title,Tags', 'Long URL'],
    ['yourls', 'source,target,hits', 'target'],
    ['yourls', 'keyword,url,title,timestamp,ip,clicks', 'url'],
    [
      'short.io',
      'idString,shortURL,originalPath,originalURL,title,clicks,createdAt',
      'originalURL',
    ],
    ['rebrandly', 'Domain,Slashtag,Destination,Title,Clicks', 'Destination'],
    ['rebrandly', 'id,createdAt,shortUrl,domain,slashtag,destination', 'destination'],
    [
      'bitly',
      'Link,Custom Link,Date created,Title,Destination URL,Engagements,Status',
      'Destination URL',
    ],
    ['bitly', 'Bitlink,Long URL,Title,Tags', 'Long URL'],
    ['bitly', 'link,long_url,title,created_at,tags', 'long_url'],
  ])('%s: %s', async (preset, header, target) => {
    for (const from of [undefined, preset]) {
      const layout = await detect(`${header}\n`, { from });
      expect(layout.plan.preset).toBe(preset);
      expect(layout.plan.columns[layout.plan.mapping.target_url ?? -1]).toBe(target);
      expect(layout.tagSeparator).toBe(preset === 'shlink' ? '|' : undefined);
    }
  });

  test('the name is checked, and must fit the file', async () => {
    await expect(detect('url\n', { from: 'bitley' })).rejects.toMatchObject({
      hint: expect.stringContaining('Did you mean bitly?'),
    });
    await expect(detect('a,b\n', { from: 'dub' })).rejects.toThrow('none of the columns');
    expect((await detect('shortCode,longUrl\n', { from: 'Shlink' })).plan.preset).toBe('shlink');
  });

  test('--map stands above a preset', async () => {
    const map = { target_url: 'Link' };
    expect(await mapped('Link,Destination URL,Engagements\n', { map, from: 'bitly' })).toEqual({
      target_url: 'Link',
    });
  });
});
