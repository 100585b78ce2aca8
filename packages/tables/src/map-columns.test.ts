import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, test } from 'vitest';
import { layouts } from '../test/layouts.ts';
import type { TableOptions } from './types.ts';

const directory = mkdtempSync(join(tmpdir(), 'shortlink-detect-'));
afterAll(() => rmSync(directory, { recursive: true }));
const { detect, mapped } = layouts(directory);

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
    const map = { target_url: column } satisfies TableOptions['map'];
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
    const two = await detect(`url,domain_id,Domain ID,${other}\n`);
    expect(two.plan.mapping).toEqual({ target_url: 0 });
    const map = { domain_id: 'domain_id' };
    expect((await detect(`url,domain_id,${other}\n`, { map })).plan).toMatchObject({
      mapping: { target_url: 0, domain_id: 1 },
      notes: [],
    });
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
        code: 'input',
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
