import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { openInput, readRows } from '@shortlink/tables';
import { afterAll, expect, test } from 'vitest';
import { workbook } from '../../../tables/test/workbook-fixture.ts';
import { detectLayout } from './layout.ts';
import { linkIdentity, madeFor } from './map/link-identity.ts';
import { createRowRules } from './map/row-rules.ts';

const directory = mkdtempSync(join(tmpdir(), 'shortlink-layout-'));
afterAll(() => rmSync(directory, { recursive: true }));

async function write(content: string | Uint8Array) {
  const path = join(directory, 'x');
  writeFileSync(path, content);
  return await openInput(path, (async function* () {})());
}

async function detect(content: string | Uint8Array) {
  const input = await write(content);
  try {
    return await detectLayout(input, { map: {}, inputFormat: 'auto' });
  } finally {
    await input.dispose();
  }
}

test('result columns are known by all four names', async () => {
  const header = 'url,note,code,short_url,status,error,added';
  const layout = await detect(`${header}\nhttps://a.example,,x,https://s.example/x,created,,\n`);
  expect(layout.resultColumns).toEqual({ code: 2, short_url: 3, status: 4, error: 5 });
  expect(layout).toMatchObject({ isOwnFile: true, plan: { mapping: { target_url: 0 } } });
  for (const other of [
    'url,code,short_url',
    'url,code,short_url,status',
    'code,url,status,error',
  ]) {
    expect(await detect(`${other}\n`)).toMatchObject({ resultColumns: {}, isOwnFile: false });
  }
  // Behind columns of another service, ours are those that we wrote.
  const behind = 'code,short_url,url,code,short_url,status,error\n';
  expect((await detect(behind)).resultColumns).toEqual({
    code: 3,
    short_url: 4,
    status: 5,
    error: 6,
  });
  const moved = 'status,url,error,short_url,code\n';
  expect((await detect(moved)).resultColumns).toEqual({
    code: 4,
    short_url: 3,
    status: 0,
    error: 2,
  });
});

test('result columns fill no field', async () => {
  const content =
    'Adresse,code,short_url,status,error\nhttps://a.example,x,https://s.example/x,created,\n';
  const { plan } = await detect(content);
  expect(plan.mapping).toEqual({ target_url: 0 });
  expect(plan.notes).toHaveLength(1);
});

test('where the column of targets has lost its name, the others keep theirs', async () => {
  const link = { target_url: 'https://a.example/1', title: 'One', tags: ['x'] };
  const made = madeFor(linkIdentity(link, undefined));
  const content = `Ziel,Bild,title,tags,code,short_url,status,error,made_for
https://a.example/1,https://b.example/1.png,One,x,c0,https://s.example/c0,created,,${made}
https://a.example/2,https://b.example/2.png,Two,y,,,,,
`;
  const { plan } = await detect(content);
  expect(plan.mapping).toEqual({ target_url: 0, title: 2, tags: 3 });
});

test('a column that fits a few rows by chance is not that of titles, which were taken out', async () => {
  const rows = ['One', 'Two', 'Three'].map((title, n) => {
    const made = madeFor(linkIdentity({ target_url: `https://a.example/${n}`, title }, undefined));
    const note = n === 0 ? title : 'x';
    return `https://a.example/${n},${note},c${n},https://s.example/c${n},created,,${made}\n`;
  });
  const header = 'url,note,code,short_url,status,error,made_for\n';
  expect((await detect(header + rows.join(''))).plan.mapping).toEqual({ target_url: 0 });
});

test('the sheet with the results of an import is taken before one with links', async () => {
  const results = [['url', 'code', 'short_url', 'status', 'error'], ['https://a.example']];
  const links = [['url'], ['https://a.example']];
  const { plan } = await detect(workbook({ Links: results, More: links }));
  expect(plan.sheet?.name).toBe('Links');
});

test('the header of results shows the delimiter, whatever that is', async () => {
  const { plan } = await detect('url^code^short_url^status^error\n');
  expect(plan.delimiter).toBe('^');
});

test('total rows are named, in a sheet and in other tables', async () => {
  const input = await write(
    workbook({
      Links: [
        ['url', 'title', 'clicks'],
        ['https://a.example', 'Total', 3],
        ['Total', '', 3],
        ['', 'Summe:', 3],
        ['', '', { formula: 'SUM(C2:C3)', value: '3' }],
        ['https://a.example', '', { formula: 'SUM(C2:C3)', value: '3' }],
        ['Totally', '', 1],
      ],
    }),
  );
  const layout = await detectLayout(input, { map: {}, inputFormat: 'auto' });
  const rules = createRowRules(layout, { defaults: {} });
  const problems: (string | undefined)[] = [];
  for await (const rows of readRows(input, layout)) {
    problems.push(...rows.map((row) => rules.check(row).problem));
  }
  await input.dispose();
  const total = (text: string) =>
    `no link, but a total row${text}: take it out, or end the table above it`;
  expect(problems).toEqual([
    undefined,
    total(' ("Total")'),
    total(' ("Summe:")'),
    total(''),
    undefined,
    'not an absolute http or https URL: "Totally"',
  ]);
});
