import { existsSync, mkdtempSync, readdirSync, readlinkSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { SharedTexts } from './shared-texts.ts';

const DESCRIPTORS = '/proc/self/fd';

/** Whether this process has the file open, as far as the system tells. */
function isOpen(path: string): boolean {
  if (!existsSync(DESCRIPTORS)) return false;
  return readdirSync(DESCRIPTORS).some((descriptor) => {
    try {
      return readlinkSync(`${DESCRIPTORS}/${descriptor}`).startsWith(path);
    } catch {
      return false;
    }
  });
}

test('texts that do not fit into memory are read back in any order, and their file goes in the end', () => {
  const folder = mkdtempSync(join(tmpdir(), 'shortlink-texts-'));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  const path = join(folder, 'texts');
  const texts = new SharedTexts(path);
  const long = 'ü'.repeat(150_000);
  // Short ones stand side by side, and are read together.
  const textOf = (index: number) => (index % 4 === 0 ? `${index} ${long}` : `${index}`);
  for (let index = 0; index < 600; index += 1) expect(texts.add(textOf(index))).toBe(index);
  expect(existsSync(path)).toBe(true);
  for (const index of [0, 501, 502, 503, 500, 501, 560, 505, 506, 561, 501, 599, 1]) {
    expect(texts.get(index) === textOf(index), String(index)).toBe(true);
  }
  expect([texts.get(600), texts.get(-1), texts.get(Number.NaN)]).toEqual(['', '', '']);
  texts.close();
  expect([existsSync(path), isOpen(path)]).toEqual([false, false]);
});
