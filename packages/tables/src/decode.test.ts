import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { gzipSync } from 'node:zlib';
import fc from 'fast-check';
import { afterAll, describe, expect, test } from 'vitest';
import { decodeFile } from './decode.ts';

const directory = mkdtempSync(join(tmpdir(), 'shortlink-decode-'));
const path = join(directory, 'input');
afterAll(() => rmSync(directory, { recursive: true }));

async function decode(bytes: Uint8Array, encoding?: string, name = 'x.csv'): Promise<string> {
  writeFileSync(path, bytes);
  let text = '';
  for await (const piece of decodeFile(path, { name, encoding })) text += piece;
  return text;
}

function utf16(text: string, order: 'le' | 'be'): Buffer {
  const bytes = Buffer.from(`\uFEFF${text}`, 'utf16le');
  return order === 'le' ? bytes : bytes.swap16();
}

describe('encodings', () => {
  const text = 'url,titre\nhttps://example.com/é,Où 🦊\n';
  test.each([
    ['UTF-8', Buffer.from(text), undefined],
    ['UTF-8 with a BOM', Buffer.from(`\uFEFF${text}`), undefined],
    ['UTF-16LE by its BOM', utf16(text, 'le'), undefined],
    ['UTF-16BE by its BOM', utf16(text, 'be'), undefined],
    ['UTF-16BE by its BOM, called utf-16', utf16(text, 'be'), 'utf-16'],
    ['UTF-16LE without a BOM, by name', utf16(text, 'le').subarray(2), 'utf-16le'],
  ])('%s', async (_, bytes, encoding) => {
    expect(await decode(bytes, encoding)).toBe(text);
  });

  test('Windows-1252 by name', async () => {
    expect(await decode(Buffer.from([0x63, 0x61, 0x66, 0xe9, 0x20, 0x80]), 'windows-1252')).toBe(
      'café €',
    );
  });
});

test('characters that straddle the border of two reads are whole', async () => {
  // A border falls into every byte of a four-byte character for one of these lengths.
  for (const padding of [0, 1, 2, 3]) {
    const text = 'x'.repeat(padding) + '🦊'.repeat(70_000);
    expect(await decode(Buffer.from(text))).toBe(text);
  }
});

test('of a packed file nothing is lost where its reader is slow at times', async () => {
  const lines = Array.from({ length: 50_000 }, (_, n) => `${(n * 2_654_435_761) % 2 ** 32},${n}`);
  const text = `${lines.join('\n')}\n`;
  writeFileSync(path, gzipSync(text));
  let read = '';
  let pieces = 0;
  for await (const piece of decodeFile(path, { name: 'x.csv.gz', packing: 'gzip' })) {
    read += piece;
    pieces += 1;
    // Meanwhile more is unpacked than one block has room for.
    if (pieces % 3 === 0) await sleep(20);
  }
  expect(read === text, `${read.length} of ${text.length} characters`).toBe(true);
});

test('lines of any length come whole, and what comes in one piece ends with a line', async () => {
  const line = fc.integer({ min: 0, max: 20_000 }).map((length) => `${'é'.repeat(length)}\n`);
  const text = fc.array(line, { maxLength: 40 }).map((lines) => lines.join(''));
  await fc.assert(
    fc.asyncProperty(text, fc.constantFrom('', 'x', '\r'), async (whole, end) => {
      expect(await decode(Buffer.from(whole + end))).toBe(whole + end);
    }),
    { numRuns: 30 },
  );
  writeFileSync(path, 'https://example.com/\n'.repeat(20_000));
  const pieces: string[] = [];
  for await (const piece of decodeFile(path, { name: 'x.csv', encoding: undefined })) {
    pieces.push(piece);
  }
  expect(pieces.length).toBeGreaterThan(3);
  for (const piece of pieces) expect(piece.endsWith('\n')).toBe(true);
});

test('files that are read at the same time, or of which no more is read, mix nothing', async () => {
  const textOf = (letter: string) => `${letter.repeat(79)}\n`.repeat(5_000);
  const files = Array.from('abcdef', (letter) => ({ letter, file: join(directory, letter) }));
  for (const { letter, file } of files) writeFileSync(file, textOf(letter));
  const options = { name: 'x.csv' };
  for (let round = 0; round < 5; round += 1) {
    await Promise.all(
      files.map(async ({ letter, file }, at) => {
        const left = decodeFile(file, options);
        await left.next();
        // Its next block is still being read when the memory of it is given back.
        const isLeft = left.return(undefined);
        let text = '';
        for await (const piece of decodeFile(files.at(at - 1)?.file ?? '', options)) text += piece;
        expect(text === textOf(files.at(at - 1)?.letter ?? ''), `beside ${letter}`).toBe(true);
        await isLeft;
      }),
    );
  }
});

describe('bytes that are not in the encoding', () => {
  test('name the line and the byte', async () => {
    const bytes = Buffer.concat([
      Buffer.from('url,title\r\nhttps://example.com/,caf'),
      Buffer.from([0xe9, 0x2c, 0x0a]),
    ]);
    await expect(decode(bytes)).rejects.toMatchObject({
      message: 'x.csv, line 2, byte 35: E9 2C 0A is not UTF-8',
      hint: expect.stringContaining('--encoding windows-1252'),
      code: 'input',
    });
  });

  test.each(['b.xlsx', 'b.xls', 'B.XLSM', 'b.ods'])(
    'of %s say that it is no workbook',
    async (name) => {
      const bytes = Buffer.from([0xfb, 0x84, 0x0a]);
      await expect(decode(bytes, undefined, name)).rejects.toMatchObject({
        message: `${name} is no workbook, and its line 1, byte 0: FB 84 0A is not UTF-8`,
        hint: expect.stringMatching(/damaged or encrypted.* --encoding windows-1252$/),
      });
    },
  );

  test('at the very end', async () => {
    await expect(decode(Buffer.from([0x61, 0x0a, 0xf0, 0x9f]))).rejects.toThrow(
      'line 2, byte 2: F0 9F is not UTF-8',
    );
    await expect(decode(utf16('ab', 'le').subarray(0, 5))).rejects.toThrow('UTF-16LE');
  });

  test('count a line break once whose CR and LF are two bytes each', async () => {
    const bytes = Buffer.concat([utf16('a\r\nb\r\n', 'le'), Buffer.from([0x00, 0xdc, 0x0a, 0x00])]);
    await expect(decode(bytes)).rejects.toThrow('x.csv, line 3, byte');
  });

  test('anywhere in a file of several reads', async () => {
    const line = 'https://example.com/é,title\n';
    const good = Buffer.from(line.repeat(6000));
    const check = async (at: number) => {
      // A continuation byte after a whole character is wrong wherever it stands.
      const place = Buffer.from(
        good
          .subarray(0, at)
          .toString()
          .replace(/\uFFFD+$/, ''),
      ).length;
      const bytes = Buffer.concat([good.subarray(0, place), Buffer.from([0xbf]), good]);
      const before = good.subarray(0, place).toString();
      const lineNumber = before.split('\n').length;
      await expect(decode(bytes)).rejects.toThrow(`line ${lineNumber}, byte ${place}: BF`);
    };
    await fc.assert(fc.asyncProperty(fc.nat(good.length), check), { numRuns: 15 });
    for (const at of [65_534, 65_535, 65_536, 65_537, 131_072]) await check(at);
  });
});
