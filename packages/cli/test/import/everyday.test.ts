import { existsSync, rmSync, statSync, writeFileSync } from 'node:fs';
import type { Usage } from '@shortlink/sdk';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { openJournal } from '../../src/import/journal/open-journal.ts';
import { USAGE } from '../stub-service.ts';
import { ImportHarness } from './import-harness.ts';

const JOURNAL = 'input.csv.shortlink-journal';

let world: ImportHarness;
beforeEach(() => {
  world = new ImportHarness();
});
afterEach(() => world.dispose());

const file = (...rows: string[]) => ['url,title', ...rows, ''].join('\n');
const row = (n: number, title = `T${n}`) => `https://example.com/${n},${title}`;
/** Target URLs of the results, with their codes. */
const codes = () =>
  new Map(
    world
      .table()
      .slice(1)
      .map(([url = '', , code]) => [url, code]),
  );

describe('the same command again', () => {
  test('a file that grew: only the new row is sent, and the others keep their codes', async () => {
    world.write('input.csv', file(row(1), row(2)));
    await world.import();
    const before = codes();
    world.write('input.csv', file(row(3), row(2), row(1)));
    expect(await world.import()).toMatchObject({ created: 1, existing: 2, unsent: 0, batches: 1 });
    expect(world.events).toContainEqual({ type: 'sending', existing: 2, links: 1 });
    expect(world.service.asked.at(-1)).toEqual([
      { target_url: 'https://example.com/3', title: 'T3' },
    ]);
    for (const [url, code] of before) expect(codes().get(url)).toBe(code);
    expect(world.statuses()).toEqual(['created', 'created', 'created']);
  });

  test('one more row in 12,000 is one request with one link, and nothing new is none', async () => {
    const urls = Array.from({ length: 12_000 }, (_, n) => `https://example.com/${n}`);
    world.write('urls.txt', urls.join('\n'));
    const settings = { file: world.path('urls.txt') };
    await world.import(settings);
    const { requests } = world.service;
    expect(await world.import(settings)).toMatchObject({ existing: 12_000, requests: 0 });
    world.write('urls.txt', [...urls, 'https://example.com/more'].join('\n'));
    expect(await world.import(settings)).toMatchObject({
      existing: 12_000,
      created: 1,
      requests: 1,
    });
    expect(world.service.requests).toBe(requests + 1);
    expect(world.service.asked.at(-1)).toEqual([{ target_url: 'https://example.com/more' }]);
  });

  test('the n-th row with the same URL is the n-th such link', async () => {
    world.write('input.csv', file(row(1, 'A'), row(1, 'B')));
    expect(await world.import()).toMatchObject({ created: 2 });
    const [, first = [], second = []] = world.table();
    world.write('input.csv', file(row(1, 'B'), row(1, 'C'), row(1, 'A')));
    expect(await world.import()).toMatchObject({ created: 1, existing: 2, changed: 0 });
    const [, b = [], c = [], a = []] = world.table();
    expect([a[2], b[2]]).toEqual([first[2], second[2]]);
    expect(new Set([a[2], b[2], c[2]]).size).toBe(3);
  });

  test('a dry run without a journal counts links of rows that are gone, as an import does', async () => {
    world.write('input.csv', file(row(1), row(2)));
    await world.import();
    const url = world.table()[1]?.at(3);
    world.write('input.csv', file(row(1).replace('/1', '/moved'), row(2)));
    rmSync(world.path('input.csv.shortlink-journal'));
    const compared = expect.objectContaining({ type: 'compared', gone: 1, goneLinks: [url] });
    expect(await world.import({ dryRun: true })).toMatchObject({ existing: 1, unsent: 1, gone: 1 });
    expect(world.events).toContainEqual(compared);
    expect(await world.import()).toMatchObject({ existing: 1, created: 1, gone: 1 });
  });

  test('an edited row is reported and not created again; one that is gone is counted', async () => {
    world.write('input.csv', file(row(1), row(2), row(3)));
    await world.import();
    world.write('input.csv', file(row(2, 'edited'), row(1)));
    expect(await world.import()).toMatchObject({ existing: 2, created: 0, changed: 1, gone: 1 });
    expect(world.events).toContainEqual(
      expect.objectContaining({ type: 'compared', changed: 1, changedLines: [2], gone: 1 }),
    );
    expect(world.service.asked).toHaveLength(1);
  });

  test('the short URL that still leads to the old target of an edited row is named', async () => {
    world.write('input.csv', file(row(1), row(2)));
    await world.import();
    const url = world.table()[1]?.at(3);
    world.write('input.csv', file(row(1).replace('/1', '/moved'), row(2)));
    expect(await world.import()).toMatchObject({ existing: 1, created: 1, gone: 1 });
    expect(world.events).toContainEqual(
      expect.objectContaining({ type: 'compared', gone: 1, goneLinks: [url] }),
    );
  });

  test('an edited row whose link may not exist is unknown, and not a changed one', async () => {
    world.write('input.csv', file(row(1), row(2)));
    world.service.fault = () => ({ type: 'lost', created: false });
    expect(await world.import()).toMatchObject({ unknown: 2 });
    world.write('input.csv', file(row(1, 'edited'), row(2)));
    expect(await world.import()).toMatchObject({ existing: 0, unknown: 2, changed: 0 });
  });

  test('a row that gets an older link, because its own is forgotten, is not counted as created', async () => {
    world.write('input.csv', file(row(1, 'older')));
    await world.import();
    world.write('input.csv', file(row(1, 'older'), row(1, 'newer')));
    world.service.fault = () => ({ type: 'lost', created: false });
    expect(await world.import()).toMatchObject({ existing: 1, unknown: 1 });
    world.write('input.csv', file(row(1, 'newer')));
    const summary = await world.import({ onUnknown: 'retry' });
    expect(summary).toMatchObject({ created: 0, existing: 1, changed: 1, unknown: 0 });
    expect(world.service.asked).toHaveLength(2);
  });

  test('a row that gets an older link is not counted as created where links of rows that are gone are found', async () => {
    const { service } = world;
    world.write('input.csv', file(row(1, 'older')));
    await world.import();
    world.write('input.csv', file(row(1, 'older'), row(2), row(3), row(1, 'newer')));
    service.traits.syncLinks = 1;
    service.fault = (_, links) =>
      links.length === 1 ? { type: 'lost', created: false } : undefined;
    service.onPoll = () => ({ type: 'answer', status: 401, body: { error: 'no' } });
    expect(await world.import({ batchSize: 2 })).toMatchObject({ existing: 1, unknown: 3 });
    service.onPoll = () => undefined;
    world.write('input.csv', file(row(1, 'newer'), row(2)));
    const summary = await world.import({ onUnknown: 'retry' });
    expect(summary).toMatchObject({ created: 1, existing: 1, unknown: 0, gone: 1 });
    expect(service.asked).toHaveLength(3);
  });

  test('another domain is another link, by a column or by --domain', async () => {
    world.write('input.csv', 'url,domain_id\nhttps://a.example,\nhttps://a.example,d2\n');
    expect(await world.import()).toMatchObject({ created: 2 });
    expect(await world.import({ defaults: { domain_id: 'd2' } })).toMatchObject({
      created: 1,
      existing: 1,
    });
  });

  test('the spelling of the address is no matter, another service is one', async () => {
    world.writeRows(3);
    await world.import({ baseUrl: 'http://host' });
    expect(await world.import({ baseUrl: 'http://HOST:80/' })).toMatchObject({ existing: 3 });
    const warnings = () => world.events.filter(({ type }) => type === 'warning');
    expect(warnings()).toEqual([]);
    expect(await world.import({ baseUrl: 'http://other' })).toMatchObject({ created: 3 });
    const message =
      'The journal has links of http://host, and none of http://other: 3 rows are not known there yet.';
    expect(warnings()).toEqual([{ type: 'warning', message }]);
    expect(await world.import({ baseUrl: 'http://host' })).toMatchObject({ existing: 3 });
  });

  test('a row that the service refused is tried again, alone', async () => {
    world.write('input.csv', file(row(1), row(2, 'bad'), row(3)));
    world.service.refusedTitle = 'bad';
    expect(await world.import()).toMatchObject({ created: 2, failed: 1, stopped: undefined });
    expect(world.table()[2]?.slice(2)).toEqual(['', '', 'failed', 'title: not allowed']);
    world.write('input.csv', file(row(1), row(2, 'good'), row(3)));
    expect(await world.import()).toMatchObject({ created: 1, existing: 2, failed: 0 });
    expect(world.service.asked.at(-1)).toEqual([
      { target_url: 'https://example.com/2', title: 'good' },
    ]);
  });
});

describe('a run that created nothing', () => {
  test('leaves nothing that blocks the corrected command', async () => {
    world.writeRows(3);
    world.service.fault = () => ({ type: 'answer', status: 401, body: { error: 'no' } });
    expect((await world.import()).stopped?.reason).toBe('authentication');
    expect(world.files()).toEqual(['input.csv', 'input.csv.results.csv', JOURNAL]);
    world.service.fault = () => undefined;
    world.write('input.csv', 'ziel\nhttps://a.example\n');
    expect(await world.import({ map: { target_url: 'ziel' } })).toMatchObject({ created: 1 });
  });
});

test('a run at another address that creates nothing leaves the results', async () => {
  world.writeRows(3);
  await world.import();
  const results = world.read('input.csv.results.csv');
  world.service.fault = () => ({ type: 'answer', status: 401, body: { error: 'no' } });
  const refused = await world.import({ baseUrl: 'https://other.example' });
  expect(refused).toMatchObject({ stopped: { reason: 'authentication' }, output: undefined });
  expect(world.read('input.csv.results.csv')).toBe(results);
});

describe('a rejects file of an earlier run', () => {
  test('goes when no row is rejected any more, unless a person has changed it', async () => {
    const rejects = 'input.csv.rejects.csv';
    for (const edit of [undefined, 'by hand\n', 'url,line,reason\nhttps://a.example,2,\n']) {
      world.write('input.csv', file('none,T1', row(2)));
      await world.import();
      expect(world.files()).toContain(rejects);
      if (edit !== undefined) world.write(rejects, edit);
      world.write('input.csv', file(row(1), row(2)));
      await world.import({ dryRun: true });
      expect(world.files()).toContain(rejects);
      await world.import();
      expect(world.files().includes(rejects)).toBe(edit !== undefined);
    }
    // One of ours that holds something else.
    const settings = { rejects: world.path('input.csv.results.csv'), output: world.path('o.csv') };
    await world.import(settings);
    expect(world.files()).toContain('input.csv.results.csv');
  });
});

describe('--restart', () => {
  test('that creates nothing brings the journal back, and leaves the results', async () => {
    world.writeRows(3);
    await world.import();
    const results = world.read('input.csv.results.csv');
    world.service.fault = () => ({ type: 'answer', status: 401, body: { error: 'no' } });
    const refused = await world.import({ restart: true });
    expect(refused).toMatchObject({ stopped: { reason: 'authentication' }, output: undefined });
    expect(world.read('input.csv.results.csv')).toBe(results);
    world.service.fault = () => undefined;
    world.write('bad.csv', 'url\nnone\n');
    await world.import({
      restart: true,
      file: world.path('bad.csv'),
      journal: world.path(JOURNAL),
    });
    expect(await world.import()).toMatchObject({ created: 0, existing: 3 });
    expect(world.files()).not.toContain(`${JOURNAL}.old`);
  });

  test('keeps the journal of each restart before it', async () => {
    world.writeRows(3);
    for (const restart of [false, true, true]) {
      expect(await world.import({ restart })).toMatchObject({ created: 3 });
    }
    expect(world.files()).toEqual([
      'input.csv',
      'input.csv.results.csv',
      JOURNAL,
      `${JOURNAL}.old`,
      `${JOURNAL}.old2`,
    ]);
  });
});

describe('what exists already', () => {
  test('--in-place keeps a line that is no object, and the digits of numbers', async () => {
    const [id, price] = ['12345678901234567890', '1.50'];
    const good = `{"url":"https://example.com/1","id":${id},"price":${price}}`;
    const zero = '{"url":"https://example.com/2","change":-0}';
    world.write('input.jsonl', `${good}\n["not an object", 7]\n${zero}\n`);
    const path = world.path('input.jsonl');
    const settings = { file: path, inPlace: true, output: path, outputFormat: 'jsonl' } as const;
    expect(await world.import({ ...settings, maxRejects: 'all' })).toMatchObject({
      created: 2,
      rejected: 1,
    });
    const [first, second, third] = world.read('input.jsonl').split('\n');
    expect(first).toContain(`"id":${id},"price":${price},"code":`);
    expect(second).toBe('["not an object", 7]');
    expect(third).toContain('"change":-0,"code":');
  });

  test('results are written like their input: semicolons, CRLF and byte order mark', async () => {
    world.write('input.csv', '\ufeffurl;title\r\nhttps://example.com/1;"a;ü"\r\n');
    expect(await world.import()).toMatchObject({ created: 1 });
    expect(world.read('input.csv.results.csv')).toBe(
      '\ufeffurl;title;code;short_url;status;error;made_for\r\n' +
        'https://example.com/1;"a;ü";0000001;https://s.example/0000001;created;;8b2b1cd8\r\n',
    );
  });

  test('results of lines that write one key in two ways are read back', async () => {
    world.write(
      'l.jsonl',
      '{"url":"https://e.com/1","title":"A"}\n{"url":"https://e.com/2","Title":"B"}\n',
    );
    const lines = { file: world.path('l.jsonl'), output: world.path('l.jsonl.results.csv') };
    expect(await world.import(lines)).toMatchObject({ created: 2 });
    rmSync(world.path('l.jsonl.shortlink-journal'));
    expect(await world.import(lines)).toMatchObject({ created: 0, existing: 2, changed: 0 });
  });

  test('JSON Lines that are filled in place keep CRLF', async () => {
    world.write(
      'l.jsonl',
      '{"url":"https://example.com/1"}\r\n{"url":"https://example.com/2"}\r\n',
    );
    const inPlace = { file: world.path('l.jsonl'), inPlace: true, output: world.path('l.jsonl') };
    expect(await world.import(inPlace)).toMatchObject({ created: 2 });
    expect(world.read('l.jsonl').match(/"\}\r\n/g)).toHaveLength(2);
    expect(await world.import(inPlace)).toMatchObject({ existing: 2 });
  });

  test('JSON results keep columns of the user that have the name of a result', async () => {
    world.write('input.csv', 'url,status,error\nhttps://example.com/1,draft,mine\n');
    const output = world.path('out.jsonl');
    expect(await world.import({ output, outputFormat: 'jsonl' })).toMatchObject({ created: 1 });
    const result = { status: 'created', error: null, status_2: 'draft', error_2: 'mine' };
    expect(JSON.parse(world.read('out.jsonl'))).toMatchObject(result);
  });

  test('--in-place fills the columns in, and the file is its own memory', async () => {
    world.write('input.csv', file(row(1), row(2)));
    const inPlace = { inPlace: true, output: world.path('input.csv') };
    expect(await world.import(inPlace)).toMatchObject({ created: 2 });
    const filled = world.read('input.csv');
    expect(filled).toBe(
      'url,title,code,short_url,status,error,made_for\n' +
        'https://example.com/1,T1,0000001,https://s.example/0000001,created,,8b2b187d\n' +
        'https://example.com/2,T2,0000002,https://s.example/0000002,created,,d2b19698\n',
    );
    expect(await world.import({ ...inPlace, journal: world.path('lost') })).toMatchObject({
      created: 0,
      existing: 2,
      requests: 0,
    });
    expect(world.read('input.csv')).toBe(filled);
    world.write('input.csv', `${filled.replace('T1', '=T1')}https://example.com/1,again,,,,,\n`);
    const again = await world.import({ ...inPlace, journal: world.path('lost') });
    expect(again).toMatchObject({ created: 1, existing: 2 });
    expect(world.read('input.csv')).toBe(
      `${filled.replace('T1', '=T1')}https://example.com/1,again,0000003,https://s.example/0000003,created,,8b2b1b09\n`,
    );
    // With the journal, the row that names its link keeps it, wherever the new one stands.
    expect(await world.import({ ...inPlace, journal: world.path(JOURNAL) })).toMatchObject({
      existing: 3,
      requests: 0,
    });
  });

  test('in place, a row with another title is a changed one, and one with another target a new one', async () => {
    world.write('input.csv', file(row(1), row(2), row(3)));
    const inPlace = { inPlace: true, output: world.path('input.csv') };
    await world.import(inPlace);
    expect(await world.import(inPlace)).toMatchObject({ existing: 3, changed: 0, gone: 0 });
    const edited = world
      .read('input.csv')
      .replace('example.com/1', 'example.com/other')
      .replace(',T2,', ',T2 edited,');
    world.write('input.csv', edited);
    // Another target is another link; another title is no reason to create one.
    expect(await world.import(inPlace)).toMatchObject({
      created: 1,
      existing: 2,
      changed: 1,
      gone: 1,
    });
    expect(world.events).toContainEqual(
      expect.objectContaining({ type: 'compared', changed: 1, changedLines: [3], gone: 1 }),
    );
    const kept = world
      .read('input.csv')
      .split('\n')
      .filter((line) => !line.includes(',T3,'));
    world.write('input.csv', kept.join('\n'));
    expect(await world.import(inPlace)).toMatchObject({ existing: 2, changed: 1, gone: 2 });
  });

  test("a journal without the file's columns, as a crash before the report leaves it, fills them in", async () => {
    world.write('input.csv', file(row(1), row(2)));
    await world.import();
    const inPlace = { inPlace: true, output: world.path('input.csv') };
    expect(await world.import(inPlace)).toMatchObject({ existing: 2, requests: 0 });
    expect(world.table('input.csv')[2]?.[2]).toBe('0000002');
  });

  test('lines before JSON Lines stay where they are skipped, and in place nothing else is skipped later', async () => {
    world.write(
      'links.jsonl',
      '# exported\n{"url":"https://a.example"}\n{"url":"https://b.example"}\n',
    );
    const links = world.path('links.jsonl');
    const settings = {
      file: links,
      output: links,
      outputFormat: 'jsonl',
      inPlace: true,
      skipLines: 1,
    } as const;
    for (const created of [2, 0, 0]) {
      expect(await world.import(settings)).toMatchObject({ rows: 2, created });
      expect(world.read('links.jsonl').split('\n')).toHaveLength(4);
    }
  });

  test('--known reads an earlier results file', async () => {
    world.write('input.csv', file(row(1), row(2)));
    await world.import();
    world.write('known.csv', world.read('input.csv.results.csv'));
    world.write('input.csv', file(row(3), row(1), row(1)));
    const fresh = { journal: world.path('fresh'), known: [world.path('known.csv')] };
    expect(await world.import(fresh)).toMatchObject({ created: 2, existing: 1 });
    expect(codes().get('https://example.com/3')).toBe('0000003');
    expect(await world.import(fresh)).toMatchObject({ created: 0, existing: 3 });
    world.write('known.csv', file(row(1)));
    await expect(world.import(fresh)).rejects.toMatchObject({ code: 'input' });
  });

  test('of several rows with one target, each keeps the known link that has its title', async () => {
    world.write('input.csv', file(row(1, 'A'), row(1, 'B'), row(1, 'C')));
    await world.import();
    world.write('known.csv', world.read('input.csv.results.csv'));
    world.write('input.csv', file(row(1, 'C'), row(1, 'D'), row(1, 'A')));
    const fresh = { journal: world.path('fresh'), known: [world.path('known.csv')] };
    const tags = { defaults: { tags: ['of-this-run'] } };
    expect(await world.import({ ...fresh, ...tags })).toMatchObject({ created: 0, existing: 3 });
    const links = world.table().map(([, title, code]) => [title, code]);
    expect(links.slice(1)).toEqual([
      ['C', '0000003'],
      ['D', '0000002'],
      ['A', '0000001'],
    ]);
  });

  test('--known is read with the same --map, and a file of other links is warned of', async () => {
    const map = { target_url: 'url', title: 'title' };
    world.write('input.csv', 'long_url,url,title\nhttps://old.example/1,https://a.example,A\n');
    expect(await world.import({ map })).toMatchObject({ created: 1 });
    world.write('known.csv', world.read('input.csv.results.csv'));
    const fresh = { map, journal: world.path('fresh'), known: [world.path('known.csv')] };
    expect(await world.import(fresh)).toMatchObject({ created: 0, existing: 1 });
    expect(world.events.filter(({ type }) => type === 'warning')).toEqual([]);
    // Written before the column had this name.
    const renamed = world.read('known.csv').replace('long_url,url', 'x,target');
    world.write('known.csv', renamed);
    expect(await world.import(fresh)).toMatchObject({ created: 0, existing: 1 });
    world.write('known.csv', renamed.replace('https://a.example', 'https://b.example'));
    world.write(
      'input.csv',
      world.read('input.csv').replace('https://a.example', 'https://c.example'),
    );
    expect(await world.import({ ...fresh, dryRun: true })).toMatchObject({ unsent: 1 });
    expect(world.events).toContainEqual({
      type: 'warning',
      message: expect.stringContaining('No row asks for a link of'),
    });
  });

  test('a results file as input sends the rows without a link', async () => {
    world.write('input.csv', file(row(1), row(2)));
    world.service.traits.links = 1;
    await world.import({ batchSize: 1, concurrency: 1 });
    world.service.traits.links = 10;
    world.write('again.csv', world.read('input.csv.results.csv'));
    expect(await world.import({ file: world.path('again.csv') })).toMatchObject({
      created: 1,
      existing: 1,
    });
    expect(world.created()).toEqual({ links: 2, duplicates: 0 });
    expect(world.table('again.csv.results.csv')[0]).toEqual([
      'url',
      'title',
      'code',
      'short_url',
      'status',
      'error',
    ]);
  });

  test('standard input is remembered by its content until it is done', async () => {
    const rows = [Buffer.from('https://a.example\nhttps://b.example\n')];
    world.service.traits.links = 1;
    const first = await world.import(
      { file: '-', output: '-', batchSize: 1, concurrency: 1 },
      rows,
    );
    expect(first.stopped?.reason).toBe('plan_limit');
    expect(world.files()).toEqual([
      expect.stringMatching(/^stdin-[0-9a-f]{16}\.shortlink-journal$/),
    ]);
    const other = [Buffer.from('https://c.example\n')];
    world.service.traits.links = 10;
    expect(await world.import({ file: '-', output: '-' }, other)).toMatchObject({ created: 1 });
    expect(await world.import({ file: '-', output: '-' }, rows)).toMatchObject({
      created: 1,
      existing: 1,
    });
    expect(world.files()).toEqual([]);
  });

  test('standard input with a rejected row creates no link twice, as it is or corrected', async () => {
    const input = { file: '-', output: '-', maxRejects: 'all' } as const;
    const rows = (last: string) => [Buffer.from(`url\nhttps://a.example\n${last}\n`)];
    expect(await world.import(input, rows('none'))).toMatchObject({ created: 1, rejected: 1 });
    expect(await world.import(input, rows('none'))).toMatchObject({ created: 0, existing: 1 });
    const corrected = rows('https://b.example');
    await expect(world.import(input, corrected)).rejects.toThrow(/stdin-\w+\.shortlink-journal/);
    const reuse = { ...input, onSimilar: 'reuse' } as const;
    expect(await world.import(reuse, corrected)).toMatchObject({ created: 1, existing: 1 });
    expect(world.created()).toEqual({ links: 2, duplicates: 0 });
  });
});

describe('the forecast', () => {
  const usage = (links: Usage['links'], batch_size: number | null): Usage => {
    const free = { used: 0, limit: null, resets_at: '2026-11-21T00:00:00.000Z' };
    return { ...USAGE, links, batch_size, requests: { minute: free, day: free, month: free } };
  };

  test("the plan's batch size is used from the start, and the plan is filled to its last link", async () => {
    world.writeRows(20);
    world.service.traits.batchSize = 4;
    world.service.traits.links = 15;
    world.service.usage = () => usage({ used: world.service.created.size, limit: 15 }, 4);
    const summary = await world.import({ concurrency: 1 });
    expect(summary).toMatchObject({ created: 15, unsent: 5, stopped: { reason: 'plan_limit' } });
    expect(summary.stopped?.message).toContain('it had room for only 15 more links');
    expect(world.service.asked.map(({ length }) => length)).toEqual([4, 4, 4, 3]);
    expect(await world.import()).toMatchObject({
      existing: 15,
      unsent: 5,
      requests: 0,
      output: world.path('input.csv.results.csv'),
    });
    expect(world.events.map(({ type }) => type)).not.toContain('sending');
    expect(world.statuses()).toEqual([...Array(15).fill('created'), ...Array(5).fill('unsent')]);
    world.service.traits.links = 100;
    world.service.usage = () => usage({ used: 15, limit: null }, 4);
    expect(await world.import()).toMatchObject({ created: 5, existing: 15, stopped: undefined });
  });

  test('--limit creates so many', async () => {
    world.writeRows(20);
    expect(await world.import({ limit: 5 })).toMatchObject({
      created: 5,
      unsent: 15,
      stopped: undefined,
    });
    expect(world.table()[6]?.at(-1)).toBe('left for another run by --limit');
    expect(await world.import({ limit: 5 })).toMatchObject({ created: 5, existing: 5, unsent: 10 });
  });

  test('a plan that is more than full has no room, and not less', async () => {
    world.writeRows(3);
    world.service.usage = () => usage({ used: 20, limit: 15 }, 4);
    const { stopped, forecast } = await world.import();
    expect(stopped?.message).toContain('it had room for no more links');
    expect(forecast).toMatchObject({ room: 0, links: 0, unsent: 3, requests: 0 });
  });

  test.each([
    [4, undefined],
    [5, undefined],
    [6, 'plan_limit'],
  ])('with room for 5 links, --limit %i stops for %s', async (limit, reason) => {
    world.writeRows(20);
    world.service.usage = () => usage({ used: 10, limit: 15 }, 4);
    expect((await world.import({ limit })).stopped?.reason).toBe(reason);
    const why = reason === undefined ? 'left for another run by --limit' : 'the plan has no room';
    expect(world.table().at(-1)?.at(-1)).toContain(why);
  });

  test.each([true, false])(
    '--limit counts the links of a batch that is sent again, idempotency %s',
    async (idempotency) => {
      world.writeRows(20);
      world.service.fault = (n) => (n === 2 ? { type: 'lost', created: idempotency } : undefined);
      const settings = { limit: 5, batchSize: 1, onUnknown: 'retry', idempotency } as const;
      expect(await world.import(settings)).toMatchObject({ created: 5, unsent: 15 });
      expect(world.created()).toEqual({ links: 5, duplicates: 0 });
    },
  );

  test('a key that the service refuses there ends the run before a link is sent', async () => {
    world.writeRows(3);
    const body = { error: 'Invalid API key' };
    world.service.usage = () => ({ type: 'answer', status: 401, body });
    const refused = await world.import();
    expect(refused).toMatchObject({ unsent: 3, stopped: { reason: 'authentication' } });
    expect(refused.stopped?.message).toContain('Invalid API key');
    expect(world.service.asked).toEqual([]);
  });

  test('a dry run forecasts, sends no link and writes nothing', async () => {
    world.writeRows(20);
    await world.import({ limit: 5 });
    const before = world.files().map((name) => [name, statSync(world.path(name)).mtimeMs]);
    const asked = world.service.requests;
    const month = { ...USAGE.requests.month, used: 200_000 };
    const requests = { ...USAGE.requests, month };
    world.service.usage = () => ({ ...usage({ used: 5, limit: 15 }, 4), requests });
    const now = Date.parse('2026-11-20T08:00:30.000Z');
    // The month's requests are used up.
    const untilDecember = Date.parse('2026-12-01T00:00:00.000Z') - now;
    world.wallClock = () => now;
    const summary = await world.import({ dryRun: true });
    expect(summary).toMatchObject({
      existing: 5,
      unsent: 15,
      requests: 0,
      forecast: {
        links: 10,
        unsent: 5,
        batchSize: 4,
        requests: 3,
        room: 10,
        durationMs: untilDecember,
        waitMs: untilDecember,
      },
    });
    expect(world.service.requests).toBe(asked);
    expect(world.files().map((name) => [name, statSync(world.path(name)).mtimeMs])).toEqual(before);
  });
});

test.each([
  [1, 0, 0],
  [2, 15_000, 15_000],
  [3, 15_000, 15_000],
  [4, 75_000, 60_000],
])(
  '%i requests, of which one fits into this minute, and two into each after it',
  async (count, durationMs, waitMs) => {
    const now = Date.parse('2026-11-20T08:00:45.000Z');
    const minute = { used: 1, limit: 2, resets_at: '2026-11-20T08:01:00.000Z' };
    const free = { used: 0, limit: null, resets_at: '' };
    const requests = { minute, day: free, month: free };
    world.service.usage = () => ({ ...USAGE, batch_size: 1, requests });
    world.wallClock = () => now;
    world.writeRows(count);
    const { forecast } = await world.import({ dryRun: true });
    expect(forecast).toMatchObject({ requests: count, durationMs, waitMs });
  },
);

describe('the lock', () => {
  test('a second run beside a first is refused', async () => {
    world.writeRows(3);
    const held = openJournal({
      path: world.path(JOURNAL),
      baseUrl: 'https://api.example',
      restart: false,
    });
    await expect(world.import()).rejects.toMatchObject({
      code: 'input',
      message: expect.stringContaining('in use by another run'),
    });
    held.close();
    expect(existsSync(world.path(JOURNAL))).toBe(false);
    expect(await world.import()).toMatchObject({ created: 3 });
  });

  test('a file that is no journal is refused with a way on', async () => {
    world.writeRows(3);
    writeFileSync(world.path('letter.txt'), 'Dear Sir or Madam');
    for (const restart of [true, false]) {
      const refused = world.import({ journal: world.path('letter.txt'), restart });
      await expect(refused).rejects.toMatchObject({
        message: expect.stringContaining('is not an import journal'),
      });
    }
    expect(world.read('letter.txt')).toBe('Dear Sir or Madam');
  });
});

test.each([
  ['this run', 2],
  ['an earlier run', 9],
])('rows whose request was lost in %s and sent again are listed as new', async (_, lost) => {
  world.writeRows(3);
  const settings = { idempotency: true, batchSize: 1, concurrency: 1, listsRows: true } as const;
  world.service.fault = (n) => (n < lost ? { type: 'lost', created: true } : undefined);
  const first = await world.import(settings);
  world.service.fault = () => undefined;
  const { created, lists } = lost === 2 ? first : await world.import(settings);
  expect(created).toBe(3);
  expect(lists?.new.map(({ row }) => row)).toEqual([1, 2, 3]);
});

test.each([
  [100, 1],
  [101, 3],
])(
  'a batch of %i links is forecast as %i requests, since a larger one is a job, which is polled',
  async (count, requests) => {
    world.service.usage = () => ({ ...USAGE, batch_size: null });
    world.writeRows(count);
    const { forecast } = await world.import({ dryRun: true, batchSize: 200 });
    expect(forecast).toMatchObject({ requests });
  },
);
