import { Readable } from 'node:stream';
import { expect, test } from 'vitest';
import { readFirstLine } from './prompt.ts';

const { signal } = new AbortController();

test('no more is read of a long line than a key may have', async () => {
  let read = 0;
  const long = Readable.from(
    (function* () {
      for (let pieces = 0; pieces < 1_000; pieces += 1) {
        read += 1_000;
        yield 'x'.repeat(1_000);
      }
    })(),
  );
  expect((await readFirstLine(long, signal)).length).toBeLessThan(6_000);
  expect(read).toBeLessThan(100_000);
});

test('a line that comes in pieces is read to its end, and no further', async () => {
  const pieces = Readable.from(['sl_0123456789abcdef', 'ghijkl', 'mn\r\nmore']);
  expect(await readFirstLine(pieces, signal)).toBe('sl_0123456789abcdefghijklmn');
});
