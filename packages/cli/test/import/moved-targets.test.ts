import { rmSync } from 'node:fs';
import { afterEach, beforeEach, expect, test } from 'vitest';
import type { ImportSettings } from '../../src/import/types.ts';
import { ImportHarness } from './import-harness.ts';

let world: ImportHarness;
let settings: Partial<ImportSettings>;
const url = (n: number) => `https://example.com/${n}`;

beforeEach(async () => {
  world = new ImportHarness();
  const file = world.path('input.csv');
  settings = { file, inPlace: true, output: file };
  world.write('input.csv', ['url', ...[1, 2, 3, 4].map(url), ''].join('\n'));
  await world.import(settings);
  rmSync(world.path('input.csv.shortlink-journal'));
});
afterEach(() => world.dispose());

/** Writes these targets into the first column, from above, and leaves the other columns as they are. */
function writeTargets(...targets: string[]): void {
  const [header = '', ...rows] = world.read('input.csv').trimEnd().split('\n');
  const lines = targets.map((target, index) =>
    [target, ...(rows[index] ?? ',,,,,').split(',').slice(1)].join(','),
  );
  world.write('input.csv', [header, ...lines, ''].join('\n'));
}

const inRows = () =>
  world
    .table('input.csv')
    .slice(1)
    .map(([target, code]) => [target, code]);
const sorted = [url(4), url(3), url(2), url(1)];

test.each([undefined, 'reuse'] as const)(
  'a column of targets that was sorted by itself creates no link again, with --on-similar %s',
  async (onSimilar) => {
    writeTargets(...sorted);
    const before = world.read('input.csv');
    await expect(world.import({ ...settings, onSimilar })).rejects.toMatchObject({
      code: 'input',
      message:
        '4 rows of input.csv ask for links that other rows name, as if a column had been sorted by itself (line 2: https://s.example/0000004, line 3: https://s.example/0000003, line 4: https://s.example/0000002, line 5: https://s.example/0000001), so nothing was sent',
      hint: 'Put what belongs together into one row again. To create other links: --on-similar create.',
    });
    expect(world.service.created.size).toBe(4);
    expect(world.read('input.csv')).toBe(before);
  },
);

test('with --on-similar create, rows get links of their own', async () => {
  writeTargets(...sorted);
  const create = { ...settings, onSimilar: 'create' } as const;
  expect(await world.import(create)).toMatchObject({ created: 4, existing: 0 });
});

test('nor do cells that moved up because one was deleted', async () => {
  writeTargets(url(2), url(3), url(4), url(4));
  await expect(world.import(settings)).rejects.toThrow('2 rows of input.csv ask for links');
});

test('new targets are no moved ones', async () => {
  writeTargets(url(11), url(12), url(13), url(14));
  expect(await world.import(settings)).toMatchObject({ created: 4, existing: 0 });
});

test('nor is one that equals another by chance, among many that were edited', async () => {
  writeTargets(url(11), url(12), url(13), url(1));
  expect(await world.import(settings)).toMatchObject({ created: 4, existing: 0 });
});

test('nor are a few that equal others, among more that were edited', async () => {
  writeTargets(...[1, 2, 3, 4, 5, 6].map(url));
  await world.import(settings);
  rmSync(world.path('input.csv.shortlink-journal'));
  writeTargets(...[11, 12, 13, 14, 1, 2].map(url));
  expect(await world.import(settings)).toMatchObject({ created: 6, existing: 0 });
});

test('one row alone, which agrees with another one, was edited', async () => {
  writeTargets(url(11), url(2), url(3), url(4), url(1));
  expect(await world.import(settings)).toMatchObject({ created: 2, existing: 3 });
});

test('a service that can be asked knows whose each link is', async () => {
  world.service.features = ['lookup'];
  writeTargets(...sorted);
  expect(await world.import(settings)).toMatchObject({ created: 0, existing: 4 });
  expect(inRows()).toEqual(sorted.map((target) => [target, `000000${target.at(-1)}`]));
});

test.each(['input.csv', 'input.csv.results.csv'])(
  'a column of short URLs of %s that was sorted by itself gives no row the link of another one',
  async (name) => {
    world.write(name, world.read('input.csv').replaceAll('/000000', '/swap'));
    const swapped = [4, 3, 2, 1].map((n) => `/000000${n}`);
    world.write(
      name,
      world.read(name).replaceAll(/\/swap\d/g, () => swapped.shift() ?? ''),
    );
    if (name !== 'input.csv')
      world.write('input.csv', ['url', ...[1, 2, 3, 4].map(url), ''].join('\n'));
    const before = world.read(name);
    await expect(world.import(name === 'input.csv' ? settings : {})).rejects.toMatchObject({
      code: 'input',
      message: `${name}, line 2: 0000001 is not the code of https://s.example/0000004, as if a column had been sorted by itself`,
    });
    expect(world.read(name)).toBe(before);
    expect(world.service.created.size).toBe(4);
  },
);

test('a code that a spreadsheet took for a number does not matter', async () => {
  world.write('input.csv', world.read('input.csv').replaceAll(',000000', ','));
  expect(await world.import(settings)).toMatchObject({ existing: 4, created: 0 });
  expect(inRows()[0]).toEqual([url(1), '0000001']);
});
