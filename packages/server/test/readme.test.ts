import { readFile } from 'node:fs/promises';
import { expect, test } from 'vitest';

const read = (path: string) => readFile(new URL(`../${path}`, import.meta.url), 'utf8');
const readme = await read('README.md');
const table = readme.slice(readme.indexOf('## The spec, line by line')).split('\n');
const rows = table.filter((line) => /^\| (?!-)/.test(line)).slice(1);

test('the table of the spec has its rows', () => {
  expect(rows.length).toBeGreaterThan(40);
});

test.each(rows)('%s', async (row) => {
  const places = (row.split(' | ').at(-1) ?? '').split(/; (?=`)/);
  for (const place of places) {
    const file = /`([^`]+\.ts)`/.exec(place)?.[1] ?? '';
    const source = await read(pathOf(file));
    for (const [, name = ''] of place.matchAll(/"([^"]+)"/g)) {
      expect(source.includes(name), `${file} has a test "${name}"`).toBe(true);
    }
  }
});

/** The table shortens two folders. */
function pathOf(file: string): string {
  return file.replace(/^contract\//, 'src/store/contract/').replace(/^e2e\//, '../e2e/');
}
