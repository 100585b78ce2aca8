import { rmSync } from 'node:fs';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import type { ImportSettings } from '../../src/import/types.ts';
import { ImportHarness } from './import-harness.ts';

let world: ImportHarness;
let settings: Partial<ImportSettings>;
beforeEach(async () => {
  world = new ImportHarness();
  const file = world.path('input.csv');
  settings = { file, inPlace: true, output: file };
  world.write('input.csv', 'url\nhttps://example.com/1\n');
  await world.import(settings);
});
afterEach(() => world.dispose());

const warnings = () => world.events.filter(({ type }) => type === 'warning');
const append = () =>
  world.write('input.csv', `${world.read('input.csv')}https://example.com/2,,,,\n`);

test('a filled file at another service is said to keep its links, and not to be new there', async () => {
  const other = { ...settings, baseUrl: 'https://other.example' };
  expect(await world.import(other)).toMatchObject({ existing: 1, created: 0 });
  const of = 'The journal has links of https://api.example, and none of https://other.example';
  const keeps = '1 row keeps the link that it names, wherever that is';
  expect(warnings()).toEqual([{ type: 'warning', message: `${of}: ${keeps}.` }]);
  append();
  expect(await world.import(other)).toMatchObject({ existing: 1, created: 1 });
  const both = `${of}: 1 row is not known there yet, and ${keeps}.`;
  expect(warnings()).toEqual([{ type: 'warning', message: both }]);
});

test('rows that were edited are named in the order of the file, whoever knows their links', async () => {
  world.write('input.csv', 'url,title\nhttps://example.com/1,A\nhttps://example.com/2,B\n');
  await world.import(settings);
  const [header, first, second] = world.read('input.csv').split('\n');
  const edited = [header, first?.replace(',A,', ',X,'), second?.replace(/,B,.*/, ',Y,,,,,'), ''];
  world.write('input.csv', edited.join('\n'));
  expect(await world.import(settings)).toMatchObject({ existing: 2, changed: 2 });
  expect(world.events).toContainEqual(expect.objectContaining({ changedLines: [2, 3] }));
});

test('a restart says which cells keep filled rows from being created again', async () => {
  append();
  expect(await world.import({ ...settings, restart: true })).toMatchObject({ created: 1 });
  expect(warnings()).toEqual([
    {
      type: 'warning',
      message:
        '1 row names its link itself and is not created again by --restart. To create a row again, clear its code, short_url, status and error.',
    },
  ]);
});

test.each([
  ['a table', 'input.csv', 'url,short_url,made_for'],
  ['JSON Lines', 'input.jsonl', ''],
])(
  'made_for beside a short URL tells whose it is, where its journal and other columns are lost: %s',
  async (_, name, header) => {
    const [url, , short_url, , , made_for] =
      world.read('input.csv').split('\n')[1]?.split(',') ?? [];
    const cells = [url, short_url, made_for].join();
    const text =
      header === '' ? JSON.stringify({ url, short_url, made_for }) : `${header}\n${cells}`;
    for (const file of world.files()) rmSync(world.path(file));
    world.write(name, `${text}\n`);
    const file = world.path(name);
    await expect(world.import({ ...settings, file, output: file })).rejects.toMatchObject({
      code: 'input',
      message: expect.stringContaining(
        'no "code", "status", "error", so the link would be created',
      ),
    });
    expect(world.service.made).toHaveLength(1);
    expect(world.read(name)).toBe(`${text}\n`);
  },
);

describe('our own table of JSON Lines whose lines have other keys is read line by line', () => {
  const lines = [
    { url: 'https://example.com/a', title: 'A', tags: ['x', 'y'] },
    { link: 'https://example.com/b', name: 'B', labels: 'z' },
  ];
  const asked = () => world.service.asked.at(-1);
  const write = (objects: readonly object[]) =>
    world.write('lines.jsonl', objects.map((object) => `${JSON.stringify(object)}\n`).join(''));

  test('rejects', async () => {
    const broken = lines.map((line) => JSON.stringify(line).replaceAll('https://', ''));
    write(broken.map((line) => JSON.parse(line)));
    const file = world.path('lines.jsonl');
    expect(await world.import({ file })).toMatchObject({ rejected: 2 });
    const name = 'lines.jsonl.rejects.csv';
    world.write(name, world.read(name).replaceAll(/(?<=^|,)example/gm, 'https://example'));
    expect(await world.import({ file: world.path(name) })).toMatchObject({ created: 2 });
    expect(asked()).toEqual([
      { target_url: 'https://example.com/a', title: 'A', tags: ['x', 'y'] },
      { target_url: 'https://example.com/b', title: 'B', tags: ['z'] },
    ]);
  });

  test('results', async () => {
    write(lines);
    world.service.fault = () => ({ type: 'answer', status: 401, body: { error: 'no' } });
    await world.import({ file: world.path('lines.jsonl') });
    world.service.fault = () => undefined;
    const file = world.path('lines.jsonl.results.csv');
    expect(await world.import({ file })).toMatchObject({ created: 2 });
    expect(asked()?.map(({ title }) => title)).toEqual(['A', 'B']);
  });

  test('but not that of a table, where an empty cell is an empty value', async () => {
    world.write('table.csv', 'url,link,title,name\nhttps://example.com/a,https://b.example,,B\n');
    world.service.fault = () => ({ type: 'answer', status: 401, body: { error: 'no' } });
    await world.import({ file: world.path('table.csv') });
    world.service.fault = () => undefined;
    await world.import({ file: world.path('table.csv.results.csv') });
    expect(asked()).toEqual([{ target_url: 'https://example.com/a' }]);
  });
});
