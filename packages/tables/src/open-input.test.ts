import { execFileSync, spawn } from 'node:child_process';
import {
  existsSync,
  mkdtempSync,
  readdirSync,
  renameSync,
  rmSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { afterAll, describe, expect, onTestFinished, test, vi } from 'vitest';
import { type SheetCell, workbook, zip } from '../test/workbook-fixture.ts';
import { detectTable } from './layout.ts';
import { inputGuard, openInput } from './open-input.ts';
import { readRows } from './read-rows.ts';
import type { Row, TableOptions } from './types.ts';

const directory = mkdtempSync(join(tmpdir(), 'shortlink-open-'));
afterAll(() => rmSync(directory, { recursive: true }));

async function* noStdin(): AsyncGenerator<Uint8Array> {}

async function* pieces(bytes: Uint8Array): AsyncGenerator<Uint8Array> {
  for (let at = 0; at < bytes.length; at += 100) yield bytes.subarray(at, at + 100);
}

type Options = Partial<TableOptions> & { stdin?: boolean };

/** Writes the bytes to a file, or passes them as standard input, and reads them as an import does. */
async function read(bytes: Uint8Array, name: string, { stdin = false, ...options }: Options = {}) {
  const path = join(directory, name);
  writeFileSync(path, bytes);
  const input = await openInput(stdin ? '-' : path, stdin ? pieces(bytes) : noStdin());
  try {
    const layout = await detectTable(input, { map: {}, inputFormat: 'auto', ...options });
    const passes: Row[][] = [];
    // An import reads its input several times.
    for (const pass of [0, 1]) {
      passes[pass] = [];
      for await (const rows of readRows(input, layout)) {
        passes[pass]?.push(...rows.map(({ line, cells }) => ({ line, cells })));
      }
    }
    expect(passes[1]).toEqual(passes[0]);
    return { layout, rows: passes[0] ?? [] };
  } finally {
    await input.dispose();
    if (input.scratch !== undefined) expect(existsSync(input.scratch)).toBe(false);
    if (stdin) expect(existsSync(input.path)).toBe(false);
  }
}

const TABLE = 'url,title\nhttps://a.example,Ä\nhttps://b.example,"B, b"\n';
const ROWS = [
  { line: 2, cells: ['https://a.example', 'Ä'] },
  { line: 3, cells: ['https://b.example', 'B, b'] },
];

describe('gzip', () => {
  test.each([false, true])('is unpacked whatever its name, standard input: %s', async (stdin) => {
    for (const name of ['x.csv.gz', 'x.csv', 'x']) {
      const { layout, rows } = await read(gzipSync(TABLE), name, { stdin });
      expect(rows).toEqual(ROWS);
      expect(layout.plan).toMatchObject({ format: 'csv', columns: ['url', 'title'] });
    }
  });

  test('the name below .gz says what it is', async () => {
    const content = gzipSync('https://a.example/?q=1,2\n');
    expect((await read(content, 'x.csv.gz')).layout.plan.format).toBe('csv');
    expect((await read(content, 'x.txt.gz')).layout.plan.format).toBe('urls');
  });

  test('several members are one text', async () => {
    const members = [TABLE.slice(0, 25), TABLE.slice(25, 26), TABLE.slice(26)];
    const { rows } = await read(Buffer.concat(members.map((text) => gzipSync(text))), 'x.csv.gz');
    expect(rows).toEqual(ROWS);
  });

  test('many blocks, and a byte order mark', async () => {
    const lines = Array.from({ length: 10_000 }, (_, index) => `https://a.example/${index}é,T`);
    const { layout, rows } = await read(
      gzipSync(`\uFEFFurl;title\r\n${lines.join('\r\n').replaceAll(',', ';')}`),
      'x.csv.gz',
    );
    expect(rows).toHaveLength(10_000);
    expect(rows.at(-1)).toEqual({ line: 10_001, cells: ['https://a.example/9999é', 'T'] });
    expect(layout.dialect).toMatchObject({ delimiter: ';', lineEnd: '\r\n', bom: true });
  });

  test.each<[string, string | Uint8Array]>([
    ['packed with gzip again', gzipSync(TABLE)],
    ['a tar archive', `links.csv${'\0'.repeat(248)}ustar\0`],
    ['a spreadsheet or a zip archive', zip({ 'xl/workbook.xml': '<x/>' })],
    ['a PDF document', '%PDF-1.7\n'],
  ])('%s is named', async (kind, content) => {
    await expect(read(gzipSync(content), 'x.gz')).rejects.toMatchObject({
      message: `x.gz is packed with gzip, and what is in it is ${kind}`,
      code: 'input',
    });
  });

  const large = gzipSync(
    `url\n${Array.from({ length: 50_000 }, (_, index) => `https://a.example/${index}/${Math.sin(index)}\n`).join('')}`,
  );

  test('a file that was cut short', async () => {
    await expect(read(large.subarray(0, large.length / 2), 'x.csv.gz')).rejects.toMatchObject({
      message: expect.stringMatching(
        /^x\.csv\.gz ends in the middle of its gzip data, about line \d+$/,
      ),
      code: 'input',
    });
  });

  test('a damaged file', async () => {
    const damaged = Buffer.from(large);
    damaged.fill(0xff, large.length / 2, large.length / 2 + 50);
    await expect(read(damaged, 'x.csv.gz')).rejects.toThrow(
      /can't be unpacked: the gzip data is damaged/,
    );
  });

  test('bytes that are no UTF-8 are named with their line', async () => {
    const lines = Array.from({ length: 20_000 }, (_, index) => `https://a.example/${index}\n`);
    const bytes = Buffer.concat([
      Buffer.from(`url\n${lines.join('')}`),
      Buffer.from('https://a.example/caf\xe9\n', 'latin1'),
    ]);
    await expect(read(gzipSync(bytes), 'x.csv.gz')).rejects.toThrow(
      `x.csv.gz, line 20002, byte ${bytes.length - 2}: E9 0A is not UTF-8`,
    );
  });

  test('one gigabyte of nothing in a megabyte costs no memory', async () => {
    const zeros = gzipSync(Buffer.alloc(16 * 1024 * 1024));
    const bomb = Buffer.concat(Array.from({ length: 64 }, () => zeros));
    const before = process.memoryUsage().rss;
    await expect(read(bomb, 'x.csv.gz')).rejects.toThrow('NUL characters');
    expect(process.memoryUsage().rss - before).toBeLessThan(200 * 1024 * 1024);
  });
});

describe('.xlsx', () => {
  const cells: SheetCell[][] = [
    [],
    ['URL', 'Title', 'Tags', 'Ref', 'Day', 'Time', 'Live', 'Error'],
    [
      { link: 'https://other.example', text: 'https://a.example/ä' },
      { rich: ['Rich ', 'text'] },
      'a,b',
      12_345_678_901_234_567n,
      { date: 45_293 },
      { date: 45_293.25 },
      true,
      { error: '#N/A' },
    ],
    [],
    [{ formula: '"https://b.example/"&1', value: 'https://b.example/1' }, '  two\nlines ', '', 0.1],
  ];

  test('the first sheet, with the row numbers that Excel shows', async () => {
    for (const name of ['x.xlsx', 'x.csv', 'x']) {
      const { layout, rows } = await read(workbook({ Links: cells, Other: [['x']] }), name);
      expect(layout.plan).toMatchObject({
        format: 'xlsx',
        mapping: { target_url: 0, title: 1, tags: 2 },
        firstUrl: 'https://a.example/ä',
      });
      expect(layout.dialect).toMatchObject({ delimiter: ',', lineEnd: '\r\n', bom: true });
      expect(rows).toEqual([
        {
          line: 3,
          cells: [
            'https://a.example/ä',
            'Rich text',
            'a,b',
            '12345678901234567',
            '2024-01-02',
            '2024-01-02',
            'TRUE',
            '#N/A',
          ],
        },
        { line: 5, cells: ['https://b.example/1', '  two\nlines ', '', '0.1', '', '', '', ''] },
      ]);
    }
  });

  test('a header below a title, with empty rows between', async () => {
    const book = workbook({
      A: [['Campaign Q4', '', ''], [], ['title', 'url'], ['A', 'https://a.example']],
    });
    const { rows, layout } = await read(book, 'x.xlsx');
    expect(layout.plan.notes).toEqual(['The header is on line 3. What stands above it is no row.']);
    expect(rows).toEqual([{ line: 4, cells: ['A', 'https://a.example'] }]);
  });

  test('from standard input', async () => {
    const { rows } = await read(workbook({ A: [['url'], ['https://a.example']] }), 'x', {
      stdin: true,
    });
    expect(rows).toEqual([{ line: 2, cells: ['https://a.example'] }]);
  });

  test('--sheet and --skip-lines', async () => {
    const book = workbook({
      A: [['x']],
      'Mai & Juni': [['Report'], [], ['url'], ['https://a.example']],
    });
    const { rows } = await read(book, 'x.xlsx', { sheet: 'Mai & Juni', skipLines: 2 });
    expect(rows).toEqual([{ line: 4, cells: ['https://a.example'] }]);
    await expect(read(book, 'x.xlsx', { sheet: 'mai' })).rejects.toMatchObject({
      message: 'x.xlsx has no sheet "mai"',
      hint: 'Its sheets: "A", "Mai & Juni".',
    });
  });

  test.each<[string, Uint8Array, Options, RegExp]>([
    ['an empty sheet', workbook({ A: [] }), {}, /x\.xlsx: the sheet is empty/],
    [
      'another format asked for',
      workbook({ A: [['url']] }),
      { inputFormat: 'csv' },
      /is an Excel workbook/,
    ],
    ['cut short', workbook({ A: [['url']] }).subarray(0, 700), {}, /its end is missing/],
    [
      'damaged',
      zip({ 'xl/workbook.xml': '<workbook' }),
      {},
      /can't be read as an Excel workbook: /,
    ],
    [
      'smaller or larger than its directory says',
      zip({ 'xl/workbook.xml': '<workbook/>' }, 5),
      {},
      /can't be read as an Excel workbook: |its end is missing/,
    ],
  ])('%s', async (_, bytes, options, message) => {
    await expect(read(bytes, 'x.xlsx', options)).rejects.toThrow(message);
    await expect(read(bytes, 'x.xlsx', options)).rejects.toMatchObject({ code: 'input' });
  });
});

describe('other binary files are named for what they are', () => {
  test.each<[string, Uint8Array]>([
    ['a zip archive', zip({ 'links.csv': TABLE })],
    ['a zip archive', zip({})],
    ['a Word document', zip({ 'word/document.xml': '<x/>' })],
    ['an OpenDocument file', zip({ mimetype: 'x', 'content.xml': '<x/>' })],
    ['a binary Excel workbook', zip({ 'xl/workbook.bin': 'x' })],
    ['an old Excel file', Buffer.from('d0cf11e0a1b11ae1000000', 'hex')],
    ['a PDF document', Buffer.from('%PDF-1.7\n')],
    ['a PNG image', Buffer.from('89504e470d0a1a0a', 'hex')],
    ['a JPEG image', Buffer.from('ffd8ffe000104a464946', 'hex')],
    ['a SQLite database', Buffer.from('SQLite format 3\0rest')],
    ['a Parquet file', Buffer.from('PAR1rest')],
    ['a tar archive', Buffer.from(`links.csv${'\0'.repeat(248)}ustar\0`)],
    ['packed with bzip2', Buffer.from('BZh91AY&SY')],
    ['packed with xz', Buffer.from('fd377a585a0000', 'hex')],
    ['packed with zstd', Buffer.from('28b52ffd2400', 'hex')],
  ])('%s', async (kind, bytes) => {
    const error = { message: expect.stringContaining(`x.csv is ${kind}`), code: 'input' };
    await expect(read(bytes, 'x.csv')).rejects.toMatchObject(error);
    await expect(read(bytes, 'x.csv', { stdin: true })).rejects.toThrow(kind);
  });
});

test('a pipe can be read, and a folder is refused', async () => {
  const path = join(directory, 'pipe');
  execFileSync('sh', ['-c', 'mkfifo "$0"', path]);
  const writer = spawn('sh', ['-c', `printf 'https://a.example\\n' > "$0"`, path], {
    stdio: 'ignore',
  });
  const ended = new Promise((resolve) => writer.on('exit', resolve));
  const input = await openInput(path, noStdin());
  await ended;
  expect(input.size).toBe(18);
  await input.dispose();
  await expect(openInput(directory, noStdin())).rejects.toThrow('is a directory');
  await expect(openInput(join(directory, 'none'), noStdin())).rejects.toThrow("can't be read");
});

test('lines that are skipped may be more than one read of the file', async () => {
  const above = `${'x'.repeat(99)}\n`.repeat(2_000);
  const { rows } = await read(Buffer.from(above + TABLE), 'x.csv', { skipLines: 2_000 });
  expect(rows).toEqual(ROWS.map(({ line, cells }) => ({ line: line + 2_000, cells })));
});

test('a file in the place of another one is a change, though it has its size and its time', async () => {
  const [path, other] = [join(directory, 'guarded.csv'), join(directory, 'other.csv')];
  for (const [name, text] of [
    [path, 'url\nhttps://example.com/1\n'],
    [other, 'url\nhttps://example.com/2\n'],
  ] as const) {
    writeFileSync(name, text);
    utimesSync(name, 1_000, 1_000);
  }
  const guard = await inputGuard(await openInput(path, noStdin()));
  await guard();
  renameSync(other, path);
  await expect(guard()).rejects.toThrow('guarded.csv was changed while');
});

test('so is a file that was written over with as many bytes', async () => {
  const path = join(directory, 'guarded.csv');
  writeFileSync(path, 'url\nhttps://example.com/1\n');
  utimesSync(path, 1_000, 1_000);
  const guard = await inputGuard(await openInput(path, noStdin()));
  writeFileSync(path, 'url\nhttps://example.com/2\n');
  await expect(guard()).rejects.toThrow('guarded.csv was changed while');
});

test('standard input that can not be used leaves no copy', async () => {
  const temporary = mkdtempSync(join(directory, 'temporary-'));
  vi.stubEnv('TMPDIR', temporary);
  onTestFinished(() => void vi.unstubAllEnvs());
  const stop = new AbortController();
  const lost = new Error('lost');
  async function* broken() {
    yield Buffer.from('url\n');
    throw lost;
  }
  async function* stopped() {
    yield Buffer.from('url\n');
    stop.abort(new Error('enough'));
    yield* pieces(Buffer.from('https://example.com/\n'));
  }
  await expect(openInput('-', pieces(Buffer.from('%PDF-1.7')))).rejects.toThrow('a PDF document');
  await expect(openInput('-', broken())).rejects.toBe(lost);
  await expect(openInput('-', stopped(), stop.signal)).rejects.toThrow();
  expect(readdirSync(temporary)).toEqual([]);
});
