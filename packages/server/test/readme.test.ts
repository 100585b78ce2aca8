import { readFile } from 'node:fs/promises';
import { expect, test } from 'vitest';

const read = (path: string) => readFile(new URL(`../${path}`, import.meta.url), 'utf8');
const [readme, security] = await Promise.all([read('README.md'), read('SECURITY.md')]);
const specRows = rowsAfter(readme, '## The spec, line by line');
const riskRows = rowsAfter(security, '## OWASP');
const rows = [...specRows, ...riskRows];

test('the tables of the spec and of the risks have their rows', () => {
  expect(specRows.length).toBeGreaterThan(40);
  expect(riskRows).toHaveLength(10);
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

/** Rows of the table under a heading, without its head. */
function rowsAfter(text: string, heading: string): string[] {
  const lines = text.slice(text.indexOf(heading)).split('\n');
  return lines.filter((line) => /^\| (?!-)/.test(line)).slice(1);
}

/** The tables shorten two folders. */
function pathOf(file: string): string {
  return file.replace(/^contract\//, 'src/store/contract/').replace(/^e2e\//, '../e2e/');
}
