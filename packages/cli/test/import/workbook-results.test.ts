import { copyFileSync, readFileSync, rmSync } from 'node:fs';
import { readXlsx } from 'hucre/xlsx';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { openInput } from '../../../tables/src/open-input.ts';
import { type SheetCell, workbook } from '../../../tables/test/workbook-fixture.ts';
import { detectLayout } from '../../src/import/layout.ts';
import { openResults } from '../../src/import/report/results.ts';
import { resultsWorkbook } from '../../src/import/report/results-workbook.ts';
import type { SendNewRows } from '../../src/import/send/send-new-rows.ts';
import type { ImportSettings } from '../../src/import/types.ts';
import { ImportHarness } from './import-harness.ts';

let world: ImportHarness;
beforeEach(() => {
  world = new ImportHarness();
});
afterEach(() => world.dispose());

const RESULTS = 'links.xlsx.results.xlsx';
const URL = 'https://example.com';
const COLUMNS = ['code', 'short_url', 'status', 'error', 'made_for'];

const settings = (changes: Partial<ImportSettings> = {}): Partial<ImportSettings> => ({
  file: world.path('links.xlsx'),
  output: world.path(RESULTS),
  outputFormat: 'xlsx',
  ...changes,
});

/** As another library reads it. */
async function sheetOf(name: string) {
  const book = await readXlsx(new Uint8Array(readFileSync(world.path(name))));
  expect(book.sheets).toHaveLength(1);
  return book.sheets[0];
}

test('the results of a workbook are its sheet with our columns', async () => {
  world.write(
    'links.xlsx',
    workbook({
      Front: [['Please read']],
      Links: [
        ['Campaign Q4'],
        ['Target URL', 'Title', 'Clicks', 'Start', 'Done'],
        [{ link: `${URL}/1`, text: 'Our page' }, '=1+1', 12.5, { date: 45000 }, true],
        [`${URL}/2`, 'A_x005F_x0041_ <&_x0007__x000D_\n', '', '', ''],
        ['', 'bad', 7, '', false],
      ],
    }),
  );
  expect(await world.import(settings({ maxRejects: 'all' }))).toMatchObject({ created: 2 });
  const { name, rows = [] } = (await sheetOf(RESULTS)) ?? {};
  expect(name).toBe('Links');
  const [header, one, two, bad] = rows;
  expect(header).toEqual(['Target URL', 'Title', 'Clicks', 'Start', 'Done', ...COLUMNS]);
  // The link stands in the cell itself, so that the results can be imported again.
  expect(one?.slice(0, 3)).toEqual([`${URL}/1`, '=1+1', 12.5]);
  expect(one?.[3]).toEqual(new Date('2023-03-15T00:00:00.000Z'));
  expect(one?.[4]).toBe(true);
  expect(one?.slice(5, 8)).toEqual([
    expect.any(String),
    expect.stringContaining('https:'),
    'created',
  ]);
  expect(two?.slice(0, 2)).toEqual([`${URL}/2`, 'A_x0041_ <&\u0007\r\n']);
  expect(bad?.slice(0, 3)).toEqual([null, 'bad', 7]);
  expect(bad?.slice(5, 9)).toEqual([null, null, 'rejected', 'no target URL']);
});

test.each([
  'Links of the spring campaign, second half',
  ...['A/B', 'A\\B', 'A:B', 'A*', 'A?', 'A[B', 'A]B', "'A", "A'", 'History'],
])('a sheet whose name Excel does not take (%s) has results', async (name) => {
  world.write('links.xlsx', workbook({ [name]: [['url'], [`${URL}/1`]] }));
  expect(await world.import(settings())).toMatchObject({ created: 1, stopped: undefined });
  expect(await sheetOf(RESULTS)).toMatchObject({ name: 'Links' });
  expect(await world.import(settings())).toMatchObject({ existing: 1, stopped: undefined });
});

test.each([
  ['Links of the spring campaign 26', true],
  ['Links of the spring campaign 026', false],
  ['History of links', true],
])('the name of a sheet (%s) is kept where Excel takes it: %s', async (name, isKept) => {
  world.write('links.xlsx', workbook({ [name]: [['url'], [`${URL}/1`]] }));
  await world.import(settings());
  expect(await sheetOf(RESULTS)).toMatchObject({ name: isKept ? name : 'Links' });
});

test('the same of a workbook that LibreOffice has written', async () => {
  // A title above the table, a linked cell, a date, a total, a sheet before it and a hidden one behind it.
  copyFileSync(new globalThis.URL('libreoffice.xlsx', import.meta.url), world.path('links.xlsx'));
  expect(await world.import(settings({ maxRejects: 'all' }))).toMatchObject({ created: 2 });
  const { name, rows = [] } = (await sheetOf(RESULTS)) ?? {};
  expect(name).toBe('Links');
  const [header, spring, autumn, total] = rows;
  expect(header).toEqual(['Title', 'Target URL', 'Clicks', 'Start', ...COLUMNS]);
  expect(spring?.slice(0, 3)).toEqual(['Spring', `${URL}/spring?a=1&b=2`, 12]);
  expect(spring?.[3]).toEqual(new Date('2026-11-26T00:00:00.000Z'));
  expect(autumn?.slice(0, 3)).toEqual(['Autumn', `${URL}/autumn#top`, 30]);
  expect(total?.slice(6, 8)).toEqual(['rejected', expect.stringContaining('a total row')]);
});

test('a number in a column of dates, or the other way round, is what a person sees', async () => {
  const day = { date: 45_000 };
  const rows: SheetCell[][] = [
    ['url', 'day', 'share', 'sum'],
    [`${URL}/1`, day, { number: '0.5', format: '0%' }, { number: '1234.5', format: '#,##0.00' }],
    [`${URL}/2`, 3.5, 12, 7],
    [`${URL}/3`, '', '', day],
  ];
  world.write('links.xlsx', workbook({ Links: rows }));
  await world.import(settings());
  const read = (await sheetOf(RESULTS))?.rows.slice(1).map((row) => row.slice(1, 4));
  expect(read).toEqual([
    [new Date('2023-03-15T00:00:00.000Z'), 0.5, 1_234.5],
    ['3.5', '12', 7],
    [null, null, '2023-03-15'],
  ]);
});

test('a date stays that day where the input counts from 1904', async () => {
  const rows: SheetCell[][] = [
    ['url', 'day', 'count'],
    [
      `${URL}/1`,
      { number: '43831', format: 'yyyy\\-mm\\-dd' },
      { number: '43831', format: '#,##0' },
    ],
  ];
  world.write('links.xlsx', workbook({ Links: rows }, { is1904: true }));
  await world.import(settings());
  const row = (await sheetOf(RESULTS))?.rows[1];
  expect(row?.slice(1, 3)).toEqual([new Date('2024-01-02T00:00:00.000Z'), 43_831]);
});

test('they are what the next import knows, also without the journal', async () => {
  const rows = [
    ['url', 'title'],
    [`${URL}/1`, "-50% '=x"],
    [`${URL}/2`, '@us'],
  ];
  world.write('links.xlsx', workbook({ Links: rows }));
  await world.import(settings());
  rmSync(world.path('links.xlsx.shortlink-journal'));
  world.write('links.xlsx', workbook({ Links: [...rows, [`${URL}/3`, '']] }));
  const again = { created: 1, existing: 2, changed: 0 };
  expect(await world.import(settings())).toMatchObject(again);
  // The results themselves are an input like any other.
  const own = settings({ file: world.path(RESULTS), output: world.path('again.xlsx') });
  expect(await world.import(own)).toMatchObject({ created: 0, existing: 3, changed: 0 });
  expect((await sheetOf('again.xlsx'))?.rows).toEqual((await sheetOf(RESULTS))?.rows);
});

test('a workbook with results beside the input is evidence under another name too', async () => {
  world.write('links.xlsx', workbook({ Links: [['url'], [`${URL}/1`]] }));
  await world.import(settings());
  rmSync(world.path('links.xlsx.shortlink-journal'));
  world.write('other.csv', `url\n${URL}/1\n`);
  const other = settings({
    file: world.path('other.csv'),
    output: world.path('other.results.csv'),
  });
  await expect(world.import(other)).rejects.toThrow(RESULTS);
});

test('any input becomes a workbook, with cells as long as one can hold', async () => {
  const long = 'x'.repeat(40_000);
  world.write('input.csv', `url,note\n${URL}/1,${long}\n`);
  await world.import({ output: world.path('o.xlsx'), outputFormat: 'xlsx' });
  const rows = (await sheetOf('o.xlsx'))?.rows;
  expect(rows?.[1]?.slice(0, 2)).toEqual([`${URL}/1`, long.slice(0, 32_767)]);
});

test('more rows than a sheet holds are refused when the results are opened, which is before anything is sent', async () => {
  const settings = world.settings({ output: world.path('o.xlsx'), outputFormat: 'xlsx' });
  // With the header it is one row too many.
  const known = { checked: { rows: 1_048_576 }, settings } as unknown as SendNewRows;
  await expect(openResults(known)).rejects.toMatchObject({
    code: 'input',
    message: expect.stringContaining("o.xlsx can't be written: a sheet has 1,048,576 rows"),
  });
});

test('a workbook that is left before its end, as on a full disk, ends the reading of the input', async () => {
  world.write('input.csv', `url\n${URL}/1\n`);
  const input = await openInput(world.path('input.csv'), (async function* () {})());
  const layout = await detectLayout(input, { map: {}, inputFormat: 'auto' });
  let ended = 0;
  async function* reported() {
    try {
      const row = { line: 2, cells: [`${URL}/1`] };
      for (;;) yield [{ row, outcome: { status: 'unsent', error: 'x' } as const }];
    } finally {
      ended += 1;
    }
  }
  const bytes = resultsWorkbook(reported(), layout);
  await bytes.next();
  await bytes.return(undefined);
  expect(ended).toBe(1);
});
