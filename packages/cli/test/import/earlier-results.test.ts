import { closeSync, openSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, onTestFinished, test } from 'vitest';
import type { ImportSettings } from '../../src/import/types.ts';
import { testFolder } from '../test-io.ts';
import { ImportHarness } from './import-harness.ts';

let world: ImportHarness;
beforeEach(() => {
  world = new ImportHarness();
});
afterEach(() => world.dispose());

const RESULTS = 'input.csv.results.csv';
const row = (n: number, title = `T${n}`) => `https://example.com/${n},${title}`;
const file = (...rows: string[]) => ['url,title', ...rows, ''].join('\n');
const object = (n: number, more: object = {}) =>
  `${JSON.stringify({ url: `https://example.com/${n}`, ...more })}\n`;
const inPlace = (name: string) => {
  const path = world.path(name);
  const outputFormat = name.endsWith('l') ? 'jsonl' : 'csv';
  return { file: path, inPlace: true, output: path, outputFormat } as const;
};

describe('results that may be the only record of links', () => {
  test.each<[string, Partial<ImportSettings>]>([
    ['url,title', {}],
    ['url,title', { restart: true }],
    ['goal,what', { map: { target_url: 'goal', title: 'what' } }],
  ])('are kept where no journal knows of them: %s, %j', async (header, settings) => {
    world.write('input.csv', `${header}\n${row(1)}\n`);
    await world.import(settings);
    const results = world.read(RESULTS);
    world.write('input.csv', `${header}\n${row(2)}\n`);
    await world.import({ ...settings, journal: world.path('lost') });
    expect(world.read(`${RESULTS}.old`)).toBe(results);
    expect(world.events).toContainEqual({
      type: 'warning',
      message: expect.stringContaining(`${RESULTS}.old`),
    });
    expect(world.table().map(([url]) => url)).toEqual([
      header.split(',')[0],
      'https://example.com/2',
    ]);
    // The journal knows of them now.
    world.write('input.csv', `${header}\n${row(3)}\n`);
    await world.import({ ...settings, journal: world.path('lost') });
    expect(world.files()).not.toContain(`${RESULTS}.old2`);
  });

  test('are whole in UTF-16 too where their last row, which somebody has added, has no made_for', async () => {
    world.write('input.csv', file(row(1)));
    const link = 'https://example.com/1,T1,a,https://s.example/a,created,,';
    const text = `\ufeffurl,title,code,short_url,status,error,made_for\r\n${link}\r\n`;
    world.write('known.csv', Buffer.from(text, 'utf16le'));
    const known = [world.path('known.csv')];
    expect(await world.import({ known })).toMatchObject({ existing: 1, created: 0 });
  });

  test('do not make rows seem edited where a spreadsheet has changed the cells of others', async () => {
    const text = file(row(1, '00123'), row(2, 'May 2026'), row(3));
    world.write('input.csv', text);
    await world.import();
    world.write(RESULTS, world.read(RESULTS).replace('00123', '123').replace('May 2026', '46143'));
    rmSync(world.path('input.csv.shortlink-journal'));
    expect(await world.import()).toMatchObject({ created: 0, existing: 3, changed: 0 });
    expect(await world.import()).toMatchObject({ created: 0, existing: 3, changed: 0 });
    // What is edited in the input itself is still said, by each run.
    world.write('input.csv', text.replace('T3', 'Third').replace('00123', '0123'));
    expect(await world.import()).toMatchObject({ existing: 3, changed: 2 });
    expect(await world.import()).toMatchObject({ existing: 3, changed: 2 });
  });

  test('are replaced where all of them are in the new ones too, whatever journal is lost', async () => {
    const rows = [1, 3, 5];
    for (const next of [2, 4]) {
      world.write('input.csv', file(...rows.map((n) => row(n))));
      await world.import();
      rmSync(world.path('input.csv.shortlink-journal'));
      rows.splice(next - 1, 0, next);
      world.write('input.csv', file(...rows.map((n) => row(n))));
      expect(await world.import()).toMatchObject({ created: 1, existing: rows.length - 1 });
      rmSync(world.path('input.csv.shortlink-journal'));
    }
    expect(world.files()).toEqual(['input.csv', RESULTS]);
  });

  test('are saved and replaced where each row failed, so that the reasons are in a file', async () => {
    world.write('input.csv', file(row(1)));
    await world.import();
    const results = world.read(RESULTS);
    world.service.refusedTitle = 'T2';
    world.write('input.csv', file(row(2)));
    expect(await world.import({ journal: world.path('lost') })).toMatchObject({
      failed: 1,
      output: world.path(RESULTS),
    });
    expect(world.read(`${RESULTS}.old`)).toBe(results);
    expect(world.table().at(-1)?.slice(-2)).toEqual(['failed', 'title: not allowed']);
  });

  test('are kept where a restart finds a journal that a killed run has left empty', async () => {
    world.write('input.csv', file(row(1)));
    await world.import();
    world.write('empty', '');
    world.write('input.csv', file(row(2)));
    await world.import({ journal: world.path('empty'), restart: true });
    expect(world.read(`${RESULTS}.old`)).toContain('https://example.com/1');
  });

  test('are replaced where the journal has another record, and where they hold no link', async () => {
    world.write('input.csv', file(row(1)));
    await world.import();
    await world.import({ restart: true });
    await world.import({ baseUrl: 'https://other.example' });
    world.write('input.csv', file('none,T'));
    await world.import({
      maxRejects: 'all',
      journal: world.path('fresh'),
      output: world.path('o'),
    });
    await world.import({
      maxRejects: 'all',
      journal: world.path('fresh'),
      output: world.path('o'),
    });
    expect(world.files().filter((name) => /results.*old|^o\./.test(name))).toEqual([]);
  });
});

describe('links that only a file names are known to the journal before the file is replaced', () => {
  test('those of an input that is a results file itself', async () => {
    world.write('input.csv', file(row(1), row(2)));
    await world.import();
    const filled = world.read(RESULTS);
    world.write('filled.csv', filled);
    const again = { file: world.path('filled.csv'), output: world.path('out.csv') };
    for (const title of ['A', 'B', 'C']) {
      world.write('filled.csv', world.read('filled.csv').replace(/,T1|,A|,B/, `,${title}`));
      expect(await world.import(again)).toMatchObject({ created: 0, existing: 2, changed: 1 });
    }
    // A row that is taken out, and comes back without its cells.
    world.write('filled.csv', filled.replace(/^.*example.com\/2.*\n/m, ''));
    expect(await world.import(again)).toMatchObject({ existing: 1, gone: 1 });
    world.write('filled.csv', file(row(2)));
    expect(await world.import(again)).toMatchObject({ created: 0, existing: 1 });
    expect(world.files().filter((name) => name.startsWith('out.csv'))).toEqual(['out.csv']);
  });

  test.each(['master.csv', RESULTS])('those of the known file %s', async (name) => {
    world.write('input.csv', file(row(1), row(2)));
    await world.import();
    world.write('master.csv', world.read(RESULTS));
    const known = { known: [world.path(name)], journal: world.path('other') };
    world.write('input.csv', file(row(1, 'A'), row(3)));
    expect(await world.import(known)).toMatchObject({ created: 1, existing: 1, changed: 1 });
    world.write('input.csv', file(row(2), row(1, 'A')));
    expect(await world.import({ journal: world.path('other') })).toMatchObject({
      created: 0,
      existing: 2,
    });
  });
});

test('a file that is no results file is kept, and not called one', async () => {
  world.write('input.csv', file(row(1)));
  world.write(RESULTS, Buffer.from([0x89, 0x50, 0x4e, 0x47, 0, 1, 2, 3]));
  await world.import();
  expect(world.files()).toContain(`${RESULTS}.old`);
  const kept = world.events.filter(({ type }) => type === 'warning');
  expect(kept).toEqual([
    {
      type: 'warning',
      message: expect.stringMatching(/^A file that no import is known to have written is kept/),
    },
  ]);
});

test.each([
  ['sho.rt/k1', 'k1'],
  ['https://sho.rt/12E4', '1.20E+05'],
])('a link of the known file that is not clear is named: %s', async (short_url, code) => {
  world.write('input.csv', file(row(1)));
  const header = 'url,code,short_url,status,error\n';
  world.write('known.csv', `${header}https://example.com/1,${code},${short_url},,\n`);
  await expect(world.import({ known: [world.path('known.csv')] })).rejects.toMatchObject({
    code: 'input',
    message: expect.stringMatching(`known.csv, line 2: "${short_url}"`),
  });
  expect(world.service.requests).toBe(0);
});

describe('a results file without some of its columns', () => {
  test.each([
    ['short_url'],
    ['code'],
    ['status'],
    ['error'],
    ['code', 'error'],
    ['short_url', 'error'],
    ['status', 'error'],
    ['code', 'status', 'error'],
  ])('without %s %s is not imported again, wherever its links are', async (...missing) => {
    const baseUrl = 'https://s.example';
    world.write('input.csv', file(row(1), row(2)));
    await world.import({ baseUrl });
    const [header = [], ...rows] = world.table();
    const kept = (cells: string[]) => cells.filter((_, at) => !missing.includes(header[at] ?? ''));
    const added = Array.from({ length: 100 }, (_, n) => [row(n + 3), '', '', '', ''].join());
    const cut = [header, ...added.map((line) => line.split(',')), ...rows].map(kept);
    world.write('cut.csv', cut.map((cells) => cells.join()).join('\n'));
    const [names = [], ...values] = cut;
    const objects = values.map((cells) =>
      Object.fromEntries(
        cells.map((cell, at) => [names[at], cell]).filter(([, cell]) => cell !== ''),
      ),
    );
    world.write('cut.jsonl', objects.map((cells) => JSON.stringify(cells)).join('\n'));
    const isEnough = missing.join() === 'error';
    for (const name of isEnough ? ['cut.csv'] : ['cut.csv', 'cut.jsonl']) {
      await expect(world.import({ baseUrl, file: world.path(name) })).rejects.toMatchObject({
        code: 'input',
        message: expect.stringContaining(`"${missing[0]}"`),
      });
    }
    expect(world.service.created.size).toBe(2);
    if (!isEnough) return;
    // A line without its empty values still says which link it has.
    const lines = { file: world.path('cut.jsonl'), known: [world.path('input.csv.results.csv')] };
    expect(await world.import({ baseUrl, ...lines })).toMatchObject({ existing: 2, created: 100 });
  });

  test.each(['csv', 'jsonl'] as const)(
    'in %s, a link that lost its cell is named',
    async (format) => {
      const cells = {
        ...{ url: 'https://example.com/1', title: 'T1', code: 'abc', short_url: '' },
        ...{ status: 'created', error: '' },
      };
      const text =
        format === 'csv'
          ? `${Object.keys(cells)}\n${Object.values(cells)}\n`
          : `${JSON.stringify(cells)}\n`;
      world.write(`input.${format}`, text);
      world.write('other.csv', file(row(1)));
      for (const settings of [
        { file: world.path(`input.${format}`) },
        { file: world.path('other.csv'), known: [world.path(`input.${format}`)] },
      ]) {
        await expect(world.import(settings)).rejects.toMatchObject({
          code: 'input',
          message: expect.stringContaining('but has no short_url'),
        });
      }
      expect(world.service.requests).toBe(0);
    },
  );

  test.each([
    'url,status,code\nhttps://example.com/1,active,x\n',
    'url,short_url,status\nhttps://example.com/1,,unsent\n',
    'url,status,error\nhttps://example.com/1,created,\n',
    'url,code,short_url\nhttps://example.com/1,x,https://s.example/x\n',
  ])('other columns are no such thing: %j', async (text) => {
    world.write('input.csv', text);
    expect(await world.import()).toMatchObject({ created: 1 });
  });
});

test('a part of the results is no file for --known, which says what is missing', async () => {
  world.write('input.csv', file(row(1)));
  world.write(
    'known.csv',
    'url,code,short_url,status\nhttps://example.com/1,x,https://s.example/x,created\n',
  );
  await expect(world.import({ known: [world.path('known.csv')] })).rejects.toThrow(
    'no column error',
  );
});

test.each(['^', '~', 'x'])('our results are read whatever their delimiter is: %j', async (mark) => {
  world.write('input.csv', file(row(1, 'A'), row(2, 'B')).replaceAll(',', mark));
  const own = { delimiter: mark, map: { target_url: '1', title: '2' } };
  // A letter cuts the header too.
  const settings = mark === 'x' ? own : { delimiter: mark };
  if (mark === 'x') world.write('input.csv', 'urlxtitle\nhttps://a.ie/1xA\nhttps://a.ie/2xB\n');
  await world.import(settings);
  const known = { ...settings, journal: world.path('fresh'), known: [world.path(RESULTS)] };
  expect(await world.import(known)).toMatchObject({ created: 0, existing: 2 });
  expect(await world.import({ file: world.path(RESULTS), journal: world.path('f') })).toMatchObject(
    {
      created: 0,
      existing: 2,
    },
  );
});

describe('JSON Lines in place', () => {
  test.each([
    ['latin1', 'Café'],
    ['utf-16le', '日本 ü'],
  ] as const)(
    'in %s stay what they are, with the option and without it',
    async (encoding, title) => {
      world.write('input.jsonl', Buffer.from(object(1, { title }), encoding));
      const settings = inPlace('input.jsonl');
      expect(await world.import({ ...settings, encoding })).toMatchObject({ created: 1 });
      const filled = world.read('input.jsonl');
      expect(filled).toContain(`"title":"${title}","code":"0000001"`);
      for (const again of [{ encoding }, {}]) {
        expect(await world.import({ ...settings, ...again })).toMatchObject({
          existing: 1,
          changed: 0,
        });
        expect(world.read('input.jsonl')).toBe(filled);
      }
    },
  );

  test.each(['code', 'status', 'error', 'short_url'])(
    'with a key of their own that is named %s are rejected, and keep it',
    async (key) => {
      const far = 'x'.repeat(1000);
      const many = Array.from({ length: 600 }, (_, n) => object(n, { far })).join('');
      for (const text of [object(1, { [key]: 'mine' }), many + object(0, { [key]: 1 })]) {
        world.write('input.jsonl', text);
        expect(await world.import(inPlace('input.jsonl'))).toMatchObject({
          rejected: 1,
          stopped: { reason: 'rejects' },
        });
        expect(world.events).toContainEqual(
          expect.objectContaining({
            type: 'validated',
            firstRejects: [
              {
                line: text.split('\n').length - 1,
                reason: expect.stringMatching(/^"(mine|1)" stands in a key that the import fills/),
              },
            ],
          }),
        );
        expect(world.read('input.jsonl')).toBe(text);
      }
      expect(world.service.requests).toBe(0);
    },
  );

  test('a row that was added with such a key is rejected, and keeps it', async () => {
    world.write('input.jsonl', object(1));
    await world.import(inPlace('input.jsonl'));
    const filled = world.read('input.jsonl');
    const added = object(2, { code: 'mine' });
    world.write('input.jsonl', filled + added);
    for (const _run of [1, 2]) {
      const settings = { ...inPlace('input.jsonl'), maxRejects: 'all' } as const;
      expect(await world.import(settings)).toMatchObject({ existing: 1, rejected: 1 });
      expect(world.read('input.jsonl')).toBe(filled + added);
    }
  });

  test('are filled whatever the name of the file is', async () => {
    world.write('input.json', object(1));
    expect(await world.import({ ...inPlace('input.json'), outputFormat: 'csv' })).toMatchObject({
      created: 1,
    });
    expect(world.read('input.json')).toContain('"code":"0000001"');
  });
});

test('JSON results keep columns that have one name apart', async () => {
  world.write('input.csv', 'url,note,note\nhttps://example.com/1,a,b\n');
  await world.import({ output: world.path('out.jsonl'), outputFormat: 'jsonl' });
  expect(JSON.parse(world.read('out.jsonl'))).toMatchObject({ note: 'a', note_2: 'b' });
});

test('a code that begins like a formula is the same wherever it is read', async () => {
  const results =
    "url,code,short_url,status,error\nhttps://example.com/1,'-ab,https://s.example/-ab,created,\n";
  world.write('input.csv', results);
  await world.import({ output: world.path('out.jsonl'), outputFormat: 'jsonl' });
  expect(JSON.parse(world.read('out.jsonl'))).toMatchObject({ code: '-ab' });
  await world.import();
  expect(world.read(RESULTS)).toContain(
    "https://example.com/1,'-ab,https://s.example/-ab,created,",
  );
});

test('what the shell has opened to append to is no record: each run adds its results', async () => {
  const log = join(await testFolder(), 'log.csv');
  const opened = openSync(log, 'a');
  onTestFinished(() => closeSync(opened));
  for (const n of [1, 2, 3]) {
    world.write('input.csv', file(...[1, 2, 3].slice(0, n).map((at) => row(at))));
    const summary = await world.import({ output: `/dev/fd/${opened}` });
    expect(summary).toMatchObject({ created: 1, existing: n - 1 });
  }
  expect(readFileSync(log, 'utf8').match(/^url,title/gm)).toHaveLength(3);
});
