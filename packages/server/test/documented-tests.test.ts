import { readFile } from 'node:fs/promises';
import { expect, test } from 'vitest';

const read = (path: string) => readFile(new URL(`../${path}`, import.meta.url), 'utf8');
const [protocol, security] = await Promise.all([read('../docs/protocol.md'), read('SECURITY.md')]);

/** A statement about the service, and the places that are said to test it. */
interface Statement {
  text: string;
  /** Each names a file and then tests of that file. */
  places: string[];
}

const statements = [...statementsOf(protocol), ...risksOf(security)];

test('the statements of the protocol and the risks are found', () => {
  expect(statementsOf(protocol).length).toBeGreaterThan(70);
  expect(protocol.match(/^- /gm)).toHaveLength(statementsOf(protocol).length);
  expect(risksOf(security)).toHaveLength(10);
});

test.each(statements)('$text', async ({ places }) => {
  for (const place of places) {
    const file = /`([^`]+\.ts)`|\]\(\.\.\/(.+?\.ts)\)/.exec(place);
    const path = pathOf(file?.[1] ?? `../${file?.[2]}`);
    const source = await read(path);
    const names = [...place.matchAll(/"([^"]+)"/g)].map(([, name = '']) => name);
    for (const name of names) {
      expect(source.includes(name), `${path} has a test "${name}"`).toBe(true);
    }
  }
});

/** The items of the protocol's lists: a statement, and on the next line its tests. */
function statementsOf(text: string): Statement[] {
  return [...text.matchAll(/^- (.*)\.\\\n {2}Tested by (.*)$/gm)].map(
    ([, statement = '', tests = '']) => ({
      text: statement,
      places: tests.split(/; (?=\[)/),
    }),
  );
}

/** The rows of the table of risks. */
function risksOf(text: string): Statement[] {
  const lines = text.slice(text.indexOf('## OWASP')).split('\n');
  const rows = lines.filter((line) => /^\| (?!-)/.test(line)).slice(1);
  return rows.map((row) => {
    const cells = row.split(' | ');
    return { text: cells[0] ?? '', places: (cells.at(-1) ?? '').split(/; (?=`)/) };
  });
}

/** SECURITY.md shortens two folders. */
function pathOf(file: string): string {
  return file
    .replace(/^contract\//, 'src/store/contract/')
    .replace(/^e2e\//, '../e2e/')
    .replace(/^\.\.\/server\//, '');
}
