import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, test } from 'vitest';
import { type SheetCell, workbook, zip } from '../test/workbook-fixture.ts';
import { numberText } from './book-cells.ts';
import { detectTable } from './layout.ts';
import { openInput } from './open-input.ts';
import { readRows } from './read-rows.ts';
import { SharedTexts } from './shared-texts.ts';
import type { TableOptions } from './types.ts';
import { Workbook } from './workbook.ts';

const directory = mkdtempSync(join(tmpdir(), 'shortlink-book-'));
afterAll(() => rmSync(directory, { recursive: true }));

const A = 'https://a.example';
const B = 'https://b.example';

async function read(bytes: Uint8Array, options: Partial<TableOptions> = {}) {
  const path = join(directory, 'x.xlsx');
  writeFileSync(path, bytes);
  const input = await openInput(path, (async function* () {})());
  try {
    const layout = await detectTable(input, { map: {}, inputFormat: 'auto', ...options });
    const rows = [];
    for await (const some of readRows(input, layout)) rows.push(...some);
    const { sheet, notes } = layout.plan;
    return {
      layout,
      sheet,
      notes,
      cells: rows.map((row) => row.cells),
      links: rows.map((row) => row.cells[layout.plan.mapping.target_url ?? -1]),
    };
  } finally {
    await input.dispose();
  }
}

describe('the sheet', () => {
  const links: SheetCell[][] = [['url'], [A]];
  const notes: SheetCell[][] = [['Please read'], ['The links are on the next sheet']];

  test('the visible one that has links is taken, and named', async () => {
    const {
      sheet,
      notes: said,
      cells,
    } = await read(workbook({ Front: notes, Links: links, Empty: [] }));
    expect(sheet).toEqual({ name: 'Links', number: 2, of: 3 });
    expect(said).toEqual(['Other sheets, which --sheet chooses: "Front", "Empty".']);
    expect(cells).toEqual([[A]]);
  });

  test.each<[string, Record<string, SheetCell[][]>]>([
    ['a link in a text is no list', { Front: [['Help'], [B]], Links: links }],
    ['cells that lead to a URL', { Front: notes, Links: [['Page'], [{ text: 'Go', link: A }]] }],
    ['targets without a scheme', { Front: notes, Links: [['url'], ['a.example']] }],
  ])('%s', async (_, sheets) => {
    const { sheet } = await read(workbook(sheets));
    expect(sheet?.name).toBe('Links');
  });

  test('hidden ones are left out, and --sheet takes one all the same', async () => {
    const states = { Old: 'hidden', Raw: 'veryHidden' } as const;
    const book = workbook({ Old: links, Links: links, Raw: [['url'], [B]] }, { states });
    const { sheet, notes: said } = await read(book);
    expect(sheet).toEqual({ name: 'Links', number: 1, of: 1 });
    expect(said).toEqual(['Other sheets, which --sheet chooses: "Old" (hidden), "Raw" (hidden).']);
    const named = await read(book, { sheet: 'Raw' });
    expect(named.sheet).toEqual({ name: 'Raw', number: 0, of: 1 });
    expect(named.cells).toEqual([[B]]);
  });

  test.each<[string, Buffer, string, string]>([
    [
      'two with links',
      workbook({ May: links, June: links, Notes: notes }),
      'x.xlsx has several sheets with links: "May", "June"',
      'Its sheets: "May", "June", "Notes". Name the one to import: --sheet "May"',
    ],
    [
      'none with links',
      workbook({ One: notes, Two: notes }),
      'x.xlsx has no sheet with links',
      'Its sheets: "One", "Two". Name the one to import: --sheet "One"',
    ],
    [
      'none that is visible',
      workbook({ One: links }, { states: { One: 'hidden' } }),
      'x.xlsx has no sheet that is visible',
      'Its sheets: "One" (hidden). To use one: --sheet NAME',
    ],
  ])('%s: the user has to say which', async (_, book, message, hint) => {
    await expect(read(book)).rejects.toMatchObject({ message, hint, code: 'input' });
  });
});

describe('a linked cell', () => {
  test('counts as its link, in the column of targets alone', async () => {
    const { cells, links, notes } = await read(
      workbook({
        Links: [
          ['Title', 'Page'],
          [
            { text: 'Sale', link: 'https://other.example' },
            { text: 'Spring sale', link: `${A}/sale?a=1&b=2` },
          ],
          ['Shown', { text: `${A}/shown`, link: `${A}/kept` }],
          ['Part', { text: 'Prices', link: `${A}/#prices` }],
          ['Formula', { formula: `HYPERLINK("${B}/x","Shop")`, value: 'Shop' }],
          ['Not opened', { formula: `HYPERLINK("${B}/y")`, value: '' }],
          ['Mail', { text: 'Write', link: 'mailto:a@a.example' }],
          ['Built', { formula: 'HYPERLINK(A2&B2,"x")', value: 'x' }],
        ],
      }),
      { map: { target_url: 'Page' } },
    );
    expect(notes).toEqual([]);
    expect(links).toEqual([
      `${A}/sale?a=1&b=2`,
      `${A}/shown`,
      `${A}/#prices`,
      `${B}/x`,
      `${B}/y`,
      'Write',
      'x',
    ]);
    expect(cells[0]?.[0]).toBe('Sale');
  });

  test('in a sheet without a header, where no line was cut', async () => {
    const rows: SheetCell[][] = [
      [{ text: 'shown', link: A }, 'One'],
      [B, 'Two'],
    ];
    const { links, notes } = await read(workbook({ Links: rows }));
    expect(links).toEqual([A, B]);
    expect(notes).toEqual([]);
  });

  test('below a header that names nothing, and in a merged range', async () => {
    const rows: SheetCell[][] = [
      ['Campaign'],
      ['Pages'],
      [{ text: 'One', link: A }],
      [{ text: 'Two', link: B }],
    ];
    const { links, notes } = await read(workbook({ Links: rows }, { merges: ['A1:C1'] }), {
      skipLines: 1,
    });
    expect(links).toEqual([A, B]);
    expect(notes).toHaveLength(1);
  });
});

describe('cells are what a person sees, and would type', () => {
  test('texts', async () => {
    const { cells } = await read(
      workbook({
        Links: [
          ['url', 'a', 'b', 'c', 'd', 'e'],
          [
            A,
            { rich: ['Rich ', 'text'] },
            { phonetic: 'トウキョウ', text: '東京' },
            { inline: ' in & line ' },
            'one_x000D_\ntwo _x005F_x0041_',
            '00123',
          ],
          [
            A,
            { error: '#N/A' },
            true,
            false,
            { formula: 'A1&"x"', value: 'ax' },
            { formula: 'LEFT(A2)', value: '' },
          ],
        ],
      }),
    );
    expect(cells).toEqual([
      [A, 'Rich text', '東京', ' in & line ', 'one\r\ntwo _x0041_', '00123'],
      [A, '#N/A', 'TRUE', 'FALSE', 'ax', '=LEFT(A2)'],
    ]);
  });

  test('formulas without results are texts, and are said to be', async () => {
    const formula = { formula: 'UPPER("x")', value: '' };
    const link = { formula: `HYPERLINK("${B}")`, value: '' };
    const { cells, notes } = await read(
      workbook({ Links: [['url', 'title'], [A, formula], [link]], Front: [[formula]] }),
    );
    expect(cells).toEqual([
      [A, '=UPPER("x")'],
      [B, ''],
    ]);
    expect(notes).toEqual([
      'Other sheets, which --sheet chooses: "Front".',
      'Cells with formulas without results, which are read as texts: 1. Open the workbook in a spreadsheet program, and save it.',
    ]);
  });

  test('a formula whose result is an empty text is an empty cell, also where nothing else is in its row', async () => {
    const empty = { formula: 'IF(A2="","","x")', value: '', isText: true };
    const { cells } = await read(
      workbook({
        Links: [
          ['url', 'title'],
          [A, empty],
          [empty, empty],
          [B, 'two'],
        ],
      }),
    );
    expect(cells).toEqual([
      [A, ''],
      [B, 'two'],
    ]);
  });

  test('a cell that is merged downwards stands in each of its rows', async () => {
    const { cells } = await read(
      workbook(
        {
          Links: [['url', 'tags', 'x'], [A, 'spring', 1], [B], [''], [`${B}/2`, 'own'], [`${B}/3`]],
        },
        { merges: ['B2:B5', 'A1:C1'] },
      ),
    );
    expect(cells).toEqual([
      [A, 'spring', '1'],
      [B, 'spring', ''],
      [`${B}/2`, 'own', ''],
      [`${B}/3`, '', ''],
    ]);
  });

  test.each([
    ['B2:B3', 'B4:B5'],
    ['B4:B5', 'B2:B3'],
  ])('merged cells end with their last row, in whatever order: %s, %s', async (...merges) => {
    const Links = [['url', 'tags'], [A, 'x'], [B], [`${A}/2`, 'y'], [`${B}/2`], [`${A}/3`]];
    const { cells } = await read(workbook({ Links }, { merges }));
    expect(cells.map(([, tags]) => tags)).toEqual(['x', 'x', 'y', 'y', '']);
  });

  test.each([
    ['12345678901234567', '', '12345678901234567'],
    ['0.30000000000000004', '', '0.3'],
    ['1E+5', '', '100000'],
    ['1234.5', '#,##0.00 "Euro"', '1234.5'],
    ['42', '00000', '00042'],
    ['42', '[$-407]00000', '00042'],
    ['42', '[$-1009]0000;-0000', '0042'],
    ['0.15', '0%', '15%'],
    ['0.155', '0.0%;[Red]-0.0%', '15.5%'],
    ['45293', 'dd.mm.yyyy', '2024-01-02'],
    ['45293.75', 'mmm yy', '2024-01-02'],
    ['45293.75', '[$-407]d. mmmm yyyy hh:mm;@', '2024-01-02 18:00'],
    ['45293.75', 'hh:mm', '18:00'],
    ['1.5', '[h]:mm', '36:00'],
    // As LibreOffice writes it.
    ['1.5', '[HH]:MM:SS', '36:00'],
    ['59', 'yyyy-mm-dd', '1900-02-28'],
    // Excel's own 29th of February, which never was.
    ['60', 'yyyy-mm-dd', '1900-02-28'],
    ['61', 'yyyy-mm-dd', '1900-03-01'],
    ['2958465', 'yyyy-mm-dd', '9999-12-31'],
    ['2958466', 'yyyy-mm-dd', '2958466'],
    ['-3', 'yyyy-mm-dd', '-3'],
    ['3', '0 "days"', '3'],
  ])('%s as %s is %s', (raw, format, text) => {
    expect(numberText(raw, format)).toBe(text);
  });

  test('rows and cells that do not say where they are, one after the other', async () => {
    const cellsOf = (...texts: string[]) =>
      texts.map((text) => `<c t="inlineStr"><is><t>${text}</t></is></c>`).join('');
    const rows = [cellsOf('url', 'title'), cellsOf(A, 'one'), cellsOf(B, 'two')];
    const sheet = sheetXml(rows.map((cells) => `<row>${cells}</row>`).join(''));
    const parts = partsOf(workbook({ Links: [['url']] }));
    const { cells } = await read(zip({ ...parts, 'xl/worksheets/sheet1.xml': sheet }));
    expect(cells).toEqual([
      [A, 'one'],
      [B, 'two'],
    ]);
  });

  test('days since 1904, where the workbook says so', async () => {
    const format = 'yyyy\\-mm\\-dd';
    const rows: SheetCell[][] = [
      ['url', 'day'],
      [A, { number: '43831', format }],
      [A, { number: '-1', format }],
    ];
    expect((await read(workbook({ Links: rows }, { is1904: true }))).cells).toEqual([
      [A, '2024-01-02'],
      [A, '-1'],
    ]);
    expect((await read(workbook({ Links: rows }))).cells[0]).toEqual([A, '2020-01-01']);
  });
});

describe('what unpacks to too much is refused', () => {
  const head = workbook({ Links: [['url']] });

  test('parts that have too many bytes together', async () => {
    const path = join(directory, 'total.xlsx');
    writeFileSync(path, head);
    const sizes = Object.entries(partsOf(head)).map(([name, text]) => [name, text.length] as const);
    const book = await Workbook.open(path, 'x.xlsx');
    const readSheet = async () => {
      for await (const _ of book.read('xl/worksheets/sheet1.xml', { open() {} }));
    };
    // Opening it has read three parts. What is left is enough to read the sheet once.
    const parts = /^xl\/(workbook|styles|_rels\/workbook|worksheets\/sheet1)\.xml/;
    const size = sizes.reduce((sum, [name, bytes]) => sum + (parts.test(name) ? bytes : 0), 0);
    book.count(8 * 2 ** 30 - size);
    await readSheet();
    await expect(readSheet()).rejects.toMatchObject({
      message: 'x.xlsx unpacks to more than 8 GiB, which is too much for a spreadsheet',
      code: 'input',
    });
    book.close();
  });

  test('a cell without an end', async () => {
    const text = 'x'.repeat(2 ** 20);
    const cell = `<worksheet><sheetData><row r="1"><c t="inlineStr"><is><t>${text}</t></is></c></row></sheetData></worksheet>`;
    const parts = partsOf(head);
    const book = zip({ ...parts, 'xl/worksheets/sheet1.xml': cell });
    const message =
      'x.xlsx has a cell with more than 32,767 characters, which is too much for a spreadsheet';
    await expect(read(book)).rejects.toMatchObject({ message, code: 'input' });
  });

  test('but not many rows of a length that is allowed', async () => {
    const rows = Array.from({ length: 300 }, () => [A, 'x'.repeat(32_000)]);
    const { cells } = await read(workbook({ Links: [['url', 'note'], ...rows] }));
    expect(cells).toHaveLength(300);
  });

  test('a row without an end', async () => {
    const cells = '<c t="inlineStr"><is><t>x</t></is></c>'.repeat(17_000);
    const sheet = `<worksheet><sheetData><row r="1">${cells}</row></sheetData></worksheet>`;
    const book = zip({ ...partsOf(head), 'xl/worksheets/sheet1.xml': sheet });
    await expect(read(book)).rejects.toThrow('x.xlsx has a row 1 with too many or too long cells');
  });

  const parts = partsOf(head);
  const sheet = 'xl/worksheets/sheet1.xml';
  const merges = '<mergeCell ref="A1:A2"/>'.repeat(140_000);
  test.each<[string, Record<string, string>, string]>([
    ['rows', { [sheet]: sheetXml('<row/>'.repeat(1_100_000)) }, '1,048,576 rows'],
    ['merged cells', { [sheet]: sheetXml('', merges) }, '131,072 merged cells'],
    [
      'formats',
      { 'xl/styles.xml': `<x><cellXfs>${'<xf/>'.repeat(140_000)}</cellXfs></x>` },
      '131,072 formats',
    ],
    [
      'sheets',
      {
        'xl/workbook.xml':
          parts['xl/workbook.xml']?.replace(/<sheet .*?\/>/, (one) => one.repeat(140_000)) ?? '',
      },
      '131,072 sheets',
    ],
    [
      'relations',
      {
        'xl/_rels/workbook.xml.rels': `<x>${Array.from({ length: 140_000 }, (_, id) => `<r Id="${id}"/>`).join('')}</x>`,
      },
      '131,072 links',
    ],
    [
      'elements within each other',
      { [sheet]: sheetXml('<row>'.repeat(101)) },
      '100 elements within each other',
    ],
  ])('more %s than a spreadsheet has', async (_, changed, what) => {
    const message = `x.xlsx has more than ${what}, which is too much for a spreadsheet`;
    await expect(read(zip({ ...parts, ...changed }))).rejects.toMatchObject({
      message,
      code: 'input',
    });
  });
});

function sheetXml(rows: string, behind = ''): string {
  return `<worksheet><sheetData>${rows}</sheetData>${behind}</worksheet>`;
}

/** The parts of a workbook that is not compressed. */
function partsOf(book: Buffer): Record<string, string> {
  const parts: Record<string, string> = {};
  for (let at = 0; book.readUInt32LE(at) === 0x04034b50; ) {
    const size = book.readUInt32LE(at + 18);
    const nameEnd = at + 30 + book.readUInt16LE(at + 26);
    parts[book.toString('utf8', at + 30, nameEnd)] = book.toString('utf8', nameEnd, nameEnd + size);
    at = nameEnd + size;
  }
  return parts;
}

test('millions of texts are kept outside of the memory', () => {
  const texts = new SharedTexts(join(directory, 'texts'));
  const text = (index: number) => `${index} ${'é'.repeat(index % 700)}`;
  const count = 120_000;
  for (let index = 0; index < count; index += 1) texts.add(text(index));
  expect([-1, NaN, count].map((index) => texts.get(index))).toEqual(['', '', '']);
  for (let index = 0; index < count; index += 7) expect(texts.get(index)).toBe(text(index));
  for (let index = count - 1; index > 0; index -= 4_999) expect(texts.get(index)).toBe(text(index));
  texts.close();
});

test('more texts than a workbook has are refused', () => {
  const texts = new SharedTexts(join(directory, 'many'));
  for (let count = 0; count < 2 ** 24; count += 1) texts.add('');
  expect(() => texts.add('')).toThrow('it has more than 16,777,216 texts');
  texts.close();
});
