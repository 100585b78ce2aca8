import { execFile } from 'node:child_process';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { expect, test } from 'vitest';
import { measureText } from '../src/sizes.ts';

const SIZES = fileURLToPath(new URL('../src/sizes.ts', import.meta.url));

test('comments and blank lines do not count, and a text over several lines does', () => {
  const text = `/** A comment
 * over two lines. */
export function first() {
  // Another one.

  return \`a
b\`; // beside code
}

const second = () => 1;
`;
  expect(measureText('x.ts', text)).toEqual({
    files: [{ name: 'x.ts', lines: 5 }],
    functions: [
      { name: 'x.ts:3', lines: 4 },
      { name: 'x.ts:10', lines: 1 },
    ],
  });
});

test('what has grown past its ceiling is named, and fails', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'shortlink-sizes-'));
  try {
    const ceilings = join(folder, 'ceilings.json');
    const run = () =>
      promisify(execFile)(process.execPath, [SIZES, '--quiet', '--ceilings', ceilings]);
    const most = { filesPer1000Lines: 1000, longestFunction: 1000, longestFile: 1000 };
    await writeFile(ceilings, JSON.stringify({ 'packages/tools/src': most }));
    expect(await run()).toEqual({ stdout: '', stderr: '' });
    await writeFile(
      ceilings,
      JSON.stringify({ 'packages/tools/src': { ...most, longestFile: 1 } }),
    );
    await expect(run()).rejects.toMatchObject({
      code: 1,
      stdout: expect.stringMatching(
        /^packages\/tools\/src: lines of the longest file: .* TOO LARGE\n$/,
      ),
    });
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
});
