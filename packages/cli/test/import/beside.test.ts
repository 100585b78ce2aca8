import {
  copyFileSync,
  mkdirSync,
  readFileSync,
  renameSync,
  rmSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { gzipSync } from 'node:zlib';
import { afterEach, beforeEach, describe, expect, onTestFinished, test, vi } from 'vitest';
import { Evidence } from '../../src/import/check/evidence.ts';
import type { ImportSettings } from '../../src/import/types.ts';
import { ImportHarness } from './import-harness.ts';

/** A service that has the three endpoints of the protocol and nothing else. */
let world: ImportHarness;
beforeEach(() => {
  world = new ImportHarness();
});
afterEach(() => world.dispose());

const file = (...rows: string[]) => ['url,title', ...rows, ''].join('\n');
const row = (n: number, title = `T${n}`) => `https://example.com/${n},${title}`;

test('links that another file doubts are asked for again with --on-unknown retry', async () => {
  const header = 'url,code,short_url,status,error,made_for';
  world.write('old.csv', `${header}\nhttps://example.com/1,,,unknown,no response,\n`);
  world.write('input.csv', 'url\nhttps://example.com/1\n');
  await expect(world.import()).rejects.toMatchObject({ code: 'input' });
  expect(await world.import({ onUnknown: 'retry' })).toMatchObject({ created: 1, unknown: 0 });
});

test('tables that name no link cost no comparison of the rows', async () => {
  world.write('input.csv', file(row(1)));
  await world.import();
  world.write('other.csv', file(row(1), row(2)));
  const compare = vi.spyOn(Evidence.prototype, 'compare');
  onTestFinished(() => compare.mockRestore());
  const compared = async () => {
    compare.mockClear();
    const again = world.import({ file: world.path('other.csv') });
    await expect(again).rejects.toThrow('input.csv.results.csv names them');
    return compare.mock.calls.length;
  };
  const before = await compared();
  for (let n = 0; n < 20; n += 1) world.write(`a${n}.csv`, file(row(n)));
  expect(await compared()).toBe(before);
});

describe('links that another file in the folder names', () => {
  test.each(['links-week2.csv', 'links (1).csv'])('are not created again: %s', async (name) => {
    world.write('input.csv', file(row(1), row(2)));
    await world.import();
    world.write(name, file(row(1), row(2), row(3)));
    const week2 = { file: world.path(name) };
    const { asked } = world.service;
    const before = asked.length;
    await expect(world.import(week2)).rejects.toMatchObject({
      code: 'input',
      message: expect.stringMatching(
        /2 rows ask.*input\.csv\.results\.csv.*line 2: https:.*line 3/,
      ),
      hint: expect.stringMatching(/--on-similar reuse.*--known FILE/),
    });
    expect(asked).toHaveLength(before);
    expect(await world.import({ ...week2, onSimilar: 'reuse' })).toMatchObject({
      created: 1,
      existing: 2,
    });
    expect(await world.import(week2)).toMatchObject({ created: 0, existing: 3 });
    expect(world.created()).toEqual({ links: 3, duplicates: 0 });
  });

  test.each([
    ['links.short', 1],
    ['links', 1],
    // What a killed run has left of its results.
    ['.links.csv.results.csv.0123456789abcdef01234567.partial', 0],
  ])('are found by their header in a file with the name of no table: %s', async (name, known) => {
    world.write('input.csv', file(row(1)));
    await world.import();
    renameSync(world.path('input.csv.results.csv'), world.path(name));
    rmSync(world.path('input.csv.shortlink-journal'));
    const again = world.import({ onSimilar: 'stop' });
    if (known === 0) expect(await again).toMatchObject({ created: 1 });
    else await expect(again).rejects.toThrow(`${name} names them`);
    expect(world.created()).toEqual({ links: 1, duplicates: 1 - known });
  });

  const utf16 = (text: string) => Buffer.from(`\ufeff${text}`, 'utf16le');
  const jsonl = { outputFormat: 'jsonl' } as const;
  test.each<[string, Partial<ImportSettings>, (text: string) => string | Buffer]>([
    ['JSON Lines', jsonl, (text) => text],
    [
      'a retyped header',
      {},
      (text) => text.replace(/^.*/, 'URL,Title,Code,Short URL,Status,Error,Made'),
    ],
    ['UTF-16', {}, utf16],
    ['gzip', {}, (text) => gzipSync(text)],
  ])(
    'are found by the names of results in a file with the name of no table: %s',
    async (_, how, change) => {
      world.write('input.csv', file(row(1)));
      const output = world.path('input.csv.out');
      await world.import({ ...how, output });
      world.write('input.csv.out', change(world.read('input.csv.out')));
      rmSync(world.path('input.csv.shortlink-journal'));
      await expect(world.import({ onSimilar: 'stop' })).rejects.toMatchObject({ code: 'input' });
      expect(world.created()).toEqual({ links: 1, duplicates: 0 });
    },
  );

  test.each(['input.csv', 'other.csv'])(
    'that have only made_for left are refused: %s',
    async (name) => {
      world.write('input.csv', file(row(1)));
      await world.import();
      const lines = world.read('input.csv.results.csv').trimEnd().split('\n');
      const parts = lines.map((line) => line.split(',').filter((_, at) => at < 2 || at === 6));
      for (const left of world.files()) if (left !== 'input.csv') rmSync(world.path(left));
      world.write(name, `${parts.join('\n')}\n`);
      const again = world.import();
      await expect(again).rejects.toThrow(
        `${name}, line 2: the row has a link of an earlier import`,
      );
      expect(world.created()).toEqual({ links: 1, duplicates: 0 });
    },
  );

  test.each(['l.jsonl.results (1).csv', 'old.csv'])(
    'of lines with other keys: %s',
    async (name) => {
      world.write(
        'l.jsonl',
        '{"url":"https://e.com/1","title":"A"}\n{"link":"https://e.com/2","name":"B"}\n',
      );
      const lines = { file: world.path('l.jsonl'), output: world.path('out.csv') };
      await world.import(lines);
      rmSync(world.path('l.jsonl.shortlink-journal'));
      renameSync(world.path('out.csv'), world.path(name));
      await expect(world.import(lines)).rejects.toThrow(/2 rows ask.*line 1: https:.*line 2/);
      expect(await world.import({ ...lines, onSimilar: 'reuse' })).toMatchObject({ existing: 2 });
      expect(world.created()).toEqual({ links: 2, duplicates: 0 });
    },
  );

  test('by its journal alone, and as a person decides', async () => {
    world.write('input.csv', file(row(1)));
    await world.import();
    rmSync(world.path('input.csv.results.csv'));
    world.write('b.csv', file(row(1)));
    const other = { file: world.path('b.csv') };
    await expect(world.import(other)).rejects.toMatchObject({
      message: expect.stringContaining('input.csv.shortlink-journal'),
      hint: expect.not.stringContaining('--journal'),
    });
    expect(await world.import({ ...other, onSimilar: 'create' })).toMatchObject({ created: 1 });
  });

  test('but not by what Excel and macOS keep beside a workbook', async () => {
    const name = `\x05Ada${' '.repeat(51)}`;
    const lock = [Buffer.from(name, 'latin1'), Buffer.from(name, 'utf16le')];
    world.write('~$input.csv.results.xlsx', Buffer.concat(lock));
    world.write(
      '._input.csv.results.xlsx',
      Buffer.from('\0\x05\x16\x07\0\x02\0\0Mac OS X', 'latin1'),
    );
    world.write('input.csv', file(row(1)));
    expect(await world.import()).toMatchObject({ created: 1 });
  });

  test('by the journal of another sheet of the input, which was not renamed', async () => {
    const sheet = (name: string) => ({
      journal: world.path(`input.csv.${name}.shortlink-journal`),
      output: world.path(`input.csv.${name}.results.csv`),
    });
    world.write('input.csv', file(row(1)));
    await world.import(sheet('A'));
    rmSync(sheet('A').output);
    await expect(world.import(sheet('B'))).rejects.toMatchObject({
      message: expect.stringContaining('input.csv.A.shortlink-journal'),
      hint: expect.not.stringContaining('--journal'),
    });
  });

  test('by the journal of a file that was renamed, with which it can be continued', async () => {
    world.write('input.csv', file(row(1), row(2)));
    world.service.traits.syncLinks = 1;
    world.service.onPoll = () => ({ type: 'answer', status: 501, body: { error: 'no' } });
    await world.import();
    world.service.onPoll = () => undefined;
    renameSync(world.path('input.csv'), world.path('input 2.csv'));
    rmSync(world.path('input.csv.results.csv'), { force: true });
    const journal = 'input.csv.shortlink-journal';
    const other = { file: world.path('input 2.csv') };
    const hint = `If that file was renamed to this one: --journal ${world.path(journal)}`;
    await expect(world.import(other)).rejects.toMatchObject({
      hint: expect.stringContaining(hint),
    });
    const continued = { ...other, journal: world.path(journal) };
    expect(await world.import(continued)).toMatchObject({ created: 2, unknown: 0 });
    expect(world.created()).toEqual({ links: 2, duplicates: 0 });
  });

  test('but not of the journal that --restart has set aside', async () => {
    world.write('input.csv', file(row(1)));
    await world.import();
    await world.import({ restart: true });
    world.write('input.csv', file(row(1), row(1)));
    rmSync(world.path('input.csv.results.csv'));
    expect(await world.import()).toMatchObject({ created: 1, existing: 1 });
    rmSync(world.path('input.csv.shortlink-journal'));
    rmSync(world.path('input.csv.results.csv'));
    await expect(world.import()).rejects.toThrow('input.csv.shortlink-journal.old');
  });

  test('of a rejects file that was corrected and imported by itself', async () => {
    world.write('input.csv', file(row(1), 'none,T2'));
    await world.import({ maxRejects: 'all' });
    const rejects = world.read('input.csv.rejects.csv').replace('none', 'https://example.com/2');
    world.write('input.csv.rejects.csv', rejects);
    expect(await world.import({ file: world.path('input.csv.rejects.csv') })).toMatchObject({
      created: 1,
    });
    world.write('input.csv', file(row(1), row(2)));
    await expect(world.import()).rejects.toThrow('input.csv.rejects.csv.results.csv');
    expect(world.created()).toEqual({ links: 2, duplicates: 0 });
  });

  test('of a rejects file in another folder, and of results in another one', async () => {
    mkdirSync(world.path('out'));
    const away = { rejects: world.path('out/r.csv'), maxRejects: 'all' } as const;
    world.write('input.csv', file(row(1), 'none,T2'));
    await world.import({ ...away, output: world.path('out/done.csv') });
    world.write('out/r.csv', file(row(2)));
    await world.import({ file: world.path('out/r.csv') });
    world.write('input.csv', file(row(1), row(2)));
    await expect(world.import(away)).rejects.toThrow('r.csv.results.csv');
    rmSync(world.path('input.csv.shortlink-journal'));
    world.write('b.csv', file(row(1)));
    const other = { file: world.path('b.csv'), output: world.path('out/b.csv') };
    await expect(world.import(other)).rejects.toThrow('out/done.csv names them');
    expect(world.created()).toEqual({ links: 2, duplicates: 0 });
  });

  test('of standard input whose import was not completed', async () => {
    const pipe = (...rows: string[]) => [Buffer.from(file(...rows))];
    const settings = { file: '-', output: '-', batchSize: 1, concurrency: 1 } as const;
    world.onEvent = (event) => event.type === 'rows-done' && world.stop.abort();
    await world.import(settings, pipe(row(1), row(2)));
    world.onEvent = () => undefined;
    expect(world.created().links).toBe(1);
    const longer = pipe(row(1), row(2), row(3));
    await expect(world.import(settings, longer)).rejects.toThrow(
      /stdin-\w+.shortlink-journal names/,
    );
    const reused = { ...settings, onSimilar: 'reuse' } as const;
    expect(await world.import(reused, longer)).toMatchObject({ created: 2, existing: 1 });
    // A file in the current folder has nothing to do with what is piped.
    world.write('input.csv', file(row(4)));
    await world.import();
    expect(await world.import(settings, pipe(row(4)))).toMatchObject({ created: 1 });
  });

  test('at the same service by another name of this machine', async () => {
    world.write('input.csv', file(row(1)));
    await world.import({ baseUrl: 'http://127.0.0.1:8787' });
    for (const baseUrl of ['http://localhost:8787/', 'http://[::1]:8787'])
      expect(await world.import({ baseUrl })).toMatchObject({ created: 0, existing: 1 });
  });

  test('of which a renamed journal says that more may exist than the own one', async () => {
    world.write('input.csv', file(row(1), row(1)));
    world.service.fault = () => ({ type: 'lost', created: true });
    expect(await world.import()).toMatchObject({ unknown: 2 });
    world.service.fault = () => undefined;
    world.write('input.csv', file(row(1)));
    const skip = { onUnknown: 'skip' } as const;
    expect(await world.import(skip)).toMatchObject({ unknown: 1 });
    renameSync(world.path('input.csv.shortlink-journal'), world.path('old.shortlink-journal'));
    expect(await world.import(skip)).toMatchObject({ unknown: 1 });
    world.write('input.csv', file(row(1), row(1)));
    await expect(world.import(skip)).rejects.toThrow('old.shortlink-journal names');
    expect(world.service.asked).toHaveLength(1);
    const reused = { ...skip, onSimilar: 'reuse' } as const;
    expect(await world.import(reused)).toMatchObject({ unknown: 2, created: 0 });
  });

  test.each([
    ['the journal and the results of one import doubt', [], 1],
    ['two imports doubt', ['c.csv'], 2],
  ])('of which %s, count once for each import', async (_, others, doubted) => {
    world.service.fault = () => ({ type: 'lost', created: true });
    for (const name of ['input.csv', ...others]) {
      world.write(name, file(row(1)));
      const settings = { file: world.path(name), onSimilar: 'create' } as const;
      expect(await world.import(settings)).toMatchObject({ unknown: 1 });
    }
    world.service.fault = () => undefined;
    world.write('b.csv', file(row(1), row(1), row(1)));
    const other = { file: world.path('b.csv'), onUnknown: 'skip', onSimilar: 'reuse' } as const;
    expect(await world.import(other)).toMatchObject({ created: 3 - doubted, unknown: doubted });
  });

  test('that is compressed', async () => {
    world.write('input.csv', file(row(1)));
    await world.import();
    const results = world.path('input.csv.results.csv');
    writeFileSync(`${results}.gz`, gzipSync(readFileSync(results)));
    for (const name of ['results.csv', 'shortlink-journal'])
      rmSync(world.path(`input.csv.${name}`));
    await expect(world.import()).rejects.toThrow('input.csv.results.csv.gz');
  });

  test('beside the file that a link from another folder leads to', async () => {
    mkdirSync(world.path('a'));
    world.write('a/input.csv', file(row(1)));
    await world.import({ file: world.path('a/input.csv') });
    symlinkSync(world.path('a/input.csv'), world.path('l.csv'));
    await expect(world.import({ file: world.path('l.csv') })).rejects.toThrow('input.csv');
  });

  test('are no other ones where its folder has two names, as on a Mac', async () => {
    mkdirSync(world.path('a'));
    symlinkSync(world.path('a'), world.path('b'));
    world.write('a/input.csv', file(row(1)));
    const settings = { file: world.path('b/input.csv') };
    await world.import(settings);
    // The results are those of the service before.
    const elsewhere = { ...settings, baseUrl: 'https://other.example' };
    expect(await world.import(elsewhere)).toMatchObject({ created: 1, stopped: undefined });
  });

  test('may exist: with --on-similar reuse, the row is in doubt and not sent', async () => {
    world.service.fault = () => ({ type: 'lost', created: true });
    world.write('input.csv', file(row(1)));
    expect(await world.import()).toMatchObject({ unknown: 1 });
    world.service.fault = () => undefined;
    world.write('b.csv', file(row(1), row(2)));
    const other = { file: world.path('b.csv'), onUnknown: 'skip' } as const;
    await expect(world.import(other)).rejects.toThrow('could be theirs or others');
    const reused = { ...other, onSimilar: 'reuse' } as const;
    expect(await world.import(reused)).toMatchObject({ created: 1, unknown: 1 });
    expect(await world.import(other)).toMatchObject({ created: 0, existing: 1, unknown: 1 });
    expect(world.created()).toEqual({ links: 2, duplicates: 0 });
  });

  test.each([
    ['of files with the same results', ['input.csv', 'b.csv']],
    ['of standard input', ['-', '-']],
  ])('may exist, and are counted once where the results say it too: %s', async (_, [one, two]) => {
    const pathOf = (name = '') => (name === '-' ? name : world.path(name));
    const settings = {
      output: world.path('out.csv'),
      onSimilar: 'reuse',
      onUnknown: 'skip',
    } as const;
    const rows = [file(row(1)), file(row(1), row(1))];
    world.write('input.csv', rows[0] ?? '');
    world.write('b.csv', rows[1] ?? '');
    const [first, second] = rows.map((text) => [Buffer.from(text)]);
    world.service.fault = () => ({ type: 'lost', created: true });
    const lost = await world.import({ ...settings, file: pathOf(one) }, first);
    expect(lost).toMatchObject({ unknown: 1 });
    world.service.fault = () => undefined;
    const next = await world.import({ ...settings, file: pathOf(two) }, second);
    expect(next).toMatchObject({ created: 1, unknown: 1 });
  });

  test('may exist, of which the journal knows more than the results that it has written', async () => {
    const settings = {
      output: world.path('out.csv'),
      onSimilar: 'reuse',
      onUnknown: 'skip',
    } as const;
    world.service.fault = () => ({ type: 'lost', created: true });
    world.write('input.csv', file(row(1), row(1)));
    expect(await world.import(settings)).toMatchObject({ unknown: 2 });
    world.write('input.csv', file(row(1)));
    expect(await world.import(settings)).toMatchObject({ unknown: 1 });
    world.service.fault = () => undefined;
    world.write('b.csv', file(row(1), row(1), row(1)));
    const next = await world.import({ ...settings, file: world.path('b.csv') });
    expect(next).toMatchObject({ created: 1, unknown: 2 });
  });

  test('results of standard input are replaced where all of their lines are in the new ones', async () => {
    const settings = { file: '-', output: world.path('out.csv'), onUnknown: 'skip' } as const;
    const text = [Buffer.from(file(row(1), row(2)))];
    world.service.fault = () => ({ type: 'lost', created: true });
    expect(await world.import(settings, text)).toMatchObject({ unknown: 2 });
    const lines = world.read('out.csv').split('\n');
    world.write('out.csv', `${lines.slice(0, 2).join('\n')}\n`);
    expect(await world.import(settings, text)).toMatchObject({ unknown: 2 });
    expect(world.read('out.csv').split('\n')).toEqual(lines);
    expect(() => world.read('out.csv.old')).toThrow('ENOENT');
  });

  test('that is kept of results which a person had changed', async () => {
    world.write('input.csv', file(row(1), row(2)));
    await world.import();
    const results = world.read('input.csv.results.csv').replace('T1', 'T1 by hand');
    world.write('input.csv.results.csv', results);
    world.write('input.csv', file(row(2)));
    await world.import();
    for (const name of ['.shortlink-journal', '.results.csv'])
      rmSync(world.path(`input.csv${name}`));
    world.write('input.csv', file(row(1), row(2)));
    await expect(world.import()).rejects.toThrow('input.csv.results.csv.old names them');
    expect(world.created()).toEqual({ links: 2, duplicates: 0 });
  });

  test('do not matter where no row asks for them', async () => {
    world.write('input.csv', file(row(1)));
    await world.import();
    world.write('b.csv', file(row(2)));
    expect(await world.import({ file: world.path('b.csv') })).toMatchObject({ created: 1 });
  });
});

describe('the results beside the input', () => {
  test('are known when the journal is gone, whoever has copied or touched them', async () => {
    world.write('input.csv', file(row(1), row(2)));
    await world.import();
    rmSync(world.path('input.csv.shortlink-journal'));
    utimesSync(world.path('input.csv.results.csv'), 1, 1);
    world.write('input.csv', file(row(2), row(3), row(1)));
    expect(await world.import()).toMatchObject({ created: 1, existing: 2 });
    expect(world.created()).toEqual({ links: 3, duplicates: 0 });
  });

  test('touched or copied back, they are no file that a person has changed', async () => {
    world.write('input.csv', file(row(1)));
    await world.import();
    copyFileSync(world.path('input.csv.results.csv'), world.path('copy'));
    world.write('input.csv', file(row(1), row(2)));
    await world.import();
    copyFileSync(world.path('copy'), world.path('input.csv.results.csv'));
    expect(await world.import()).toMatchObject({ created: 0, existing: 2 });
    expect(world.files().filter((name) => name.includes('.old'))).toEqual([]);
  });

  test.each([
    ['the input', 'input.csv'],
    ['the results', 'input.csv.results.csv'],
  ])('conflict markers of git are refused by name in %s', async (_, name) => {
    world.write('input.csv', file(row(1)));
    await world.import();
    if (name !== 'input.csv') rmSync(world.path('input.csv.shortlink-journal'));
    const text = world.read(name);
    for (const marker of ['<<<<<<< HEAD', '=======', '>>>>>>> main']) {
      for (const marked of [`${marker}\n${text}`, `${text}${marker}\n`]) {
        world.write(name, marked);
        await expect(world.import({ maxRejects: 'all' })).rejects.toMatchObject({
          code: 'conflict',
          message: expect.stringMatching(`${name}, line \\d: "${marker}" is a conflict marker`),
        });
      }
    }
  });

  test.each(['<<<<<<< HEAD', '=======', '>>>>>>> main, two'])(
    'far behind the head of the input too: %s',
    async (marker) => {
      const rows = Array.from({ length: 5_000 }, (_, n) => row(n, 'x'.repeat(200)));
      world.write('input.csv', file(...rows, marker, row(1)));
      await expect(world.import({ maxRejects: 'all' })).rejects.toMatchObject({
        code: 'conflict',
        message: expect.stringMatching(/line 5002: .* is a conflict marker of git/),
      });
      expect(world.created()).toEqual({ links: 0, duplicates: 0 });
    },
  );
});

describe('result columns', () => {
  test.each([
    'url,title,Code,Short_URL,Status,Error,Made for',
    'url,title,CODE,short url,status,Error,made_for',
  ])('are found however their header was retyped: %s', async (header) => {
    const inPlace = { inPlace: true, output: world.path('input.csv') };
    world.write('input.csv', file(row(1)));
    await world.import(inPlace);
    const text = world.read('input.csv').replace(/^.*/, header);
    world.write('input.csv', `${text}${row(2)},,,,,\n`);
    const fresh = { ...inPlace, journal: world.path('fresh') };
    expect(await world.import(fresh)).toMatchObject({ created: 1, existing: 1 });
    // Once more under the names of ours.
    expect(world.table('input.csv')[0]?.slice(2)).toEqual(['code', 'short_url', 'status', 'error']);
  });

  test.each([
    ['with a short URL of another name, used', 'url,title,code,Kurzlink,status,error,made_for'],
    ['with names of a person', 'url,title,a,Kurzlink,b,c,d'],
    ['without a header, refused', undefined],
  ])('of results whose journal is lost are not ignored: %s', async (_, header) => {
    world.write('input.csv', file(row(1), row(2)));
    await world.import();
    rmSync(world.path('input.csv.shortlink-journal'));
    const lines = world.read('input.csv.results.csv').split('\n').slice(1);
    world.write('input.csv.results.csv', [...(header ? [header] : []), ...lines].join('\n'));
    const again = world.import();
    if (header !== undefined) expect(await again).toMatchObject({ existing: 2 });
    else await expect(again).rejects.toThrow(/input.csv.results.csv holds short URLs, such as/);
    expect(world.created()).toEqual({ links: 2, duplicates: 0 });
  });

  test('of results of which little more than the short URLs is left are not replaced', async () => {
    world.write('input.csv', file(row(1)));
    await world.import();
    rmSync(world.path('input.csv.shortlink-journal'));
    const [url, , , shortUrl] = world.table('input.csv.results.csv')[1] ?? [];
    world.write('input.csv.results.csv', `url,Kurzlink\n${url},${shortUrl}\n`);
    await expect(world.import()).rejects.toThrow('in "Kurzlink", so their links would be created');
    expect(world.created()).toEqual({ links: 1, duplicates: 0 });
  });

  test('a file of somebody else where the results go is kept, though its targets look like short URLs', async () => {
    world.write('input.csv', file(row(1)));
    world.write('input.csv.results.csv', file(row(2), row(3)));
    expect(await world.import()).toMatchObject({ created: 1 });
    expect(world.read('input.csv.results.csv.old')).toBe(file(row(2), row(3)));
  });

  test('of JSON Lines are refused where their keys were retyped, also in one line', async () => {
    const filled = { file: world.path('l.jsonl'), inPlace: true, output: world.path('l.jsonl') };
    world.write('l.jsonl', '{"url":"https://example.com/1"}\n{"url":"https://example.com/2"}\n');
    await world.import(filled);
    rmSync(world.path('l.jsonl.shortlink-journal'));
    const [first = '', ...others] = world.read('l.jsonl').split('\n');
    const retyped = first.replace(/"(code|short_url|status|error)"/g, (key) => key.toUpperCase());
    world.write('l.jsonl', [...others.slice(0, -1), retyped, ''].join('\n'));
    await expect(world.import(filled)).rejects.toThrow('line 2: the row has a link of an earlier');
    // Of others, such keys say nothing.
    const theirs = '{"url":"https://example.com/3","Code":"x","Status":"created"}\n';
    world.write('l.jsonl', theirs);
    expect(await world.import(filled)).toMatchObject({ created: 1 });
  });

  test('short URLs of this service in a column of another name are refused', async () => {
    world.write('input.csv', file(row(1), row(2)));
    await world.import();
    world.write('other.csv', 'url,Kurzlink\nhttps://example.com/1,https://api.example/0000001\n');
    await expect(world.import({ file: world.path('other.csv') })).rejects.toMatchObject({
      code: 'input',
      message: expect.stringContaining(
        'line 2: "Kurzlink" has "https://api.example/0000001", a short URL of this service',
      ),
    });
    // The journal knows where its short URLs are.
    world.write('input.csv', 'url,Kurzlink\nhttps://example.com/3,https://s.example/0000001\n');
    await expect(world.import()).rejects.toMatchObject({ code: 'input' });
    expect(world.created()).toEqual({ links: 2, duplicates: 0 });
  });
});
