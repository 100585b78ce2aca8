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

test('a column of targets that was sorted by itself creates no link again', async () => {
  writeTargets(...sorted);
  await expect(world.import(settings)).rejects.toMatchObject({
    exitCode: 2,
    message:
      '4 rows ask for links to targets that have some already, which could be theirs or others. Other rows of input.csv name them, as if a column had been sorted by itself (line 2: https://s.example/0000004, line 3: https://s.example/0000003, line 4: https://s.example/0000002, line 5: https://s.example/0000001), so nothing was sent.',
    hint: 'To use these links: --on-similar reuse. To create others: --on-similar create.',
  });
  expect(world.service.created.size).toBe(4);
});

test('with --on-similar reuse, each link follows its target', async () => {
  writeTargets(...sorted, url(5));
  const reuse = { ...settings, onSimilar: 'reuse' } as const;
  expect(await world.import(reuse)).toMatchObject({ existing: 4, created: 1 });
  const moved = sorted.map((target) => [target, `000000${target.at(-1)}`]);
  expect(inRows()).toEqual([...moved, [url(5), '0000005']]);
  expect(world.events.filter(({ type }) => type === 'warning')).toEqual([]);
  rmSync(world.path('input.csv.shortlink-journal'));
  expect(await world.import(settings)).toMatchObject({ existing: 5, created: 0, changed: 0 });
});

test('with --on-similar create, rows get links of their own', async () => {
  writeTargets(...sorted);
  const create = { ...settings, onSimilar: 'create' } as const;
  expect(await world.import(create)).toMatchObject({ created: 4, existing: 0 });
});

test('where a cell was deleted, so that others moved up, a row that keeps its link has it still', async () => {
  writeTargets(url(2), url(3), url(4), url(4));
  await expect(world.import(settings)).rejects.toThrow('2 rows ask for links to targets');
  const reuse = { ...settings, onSimilar: 'reuse' } as const;
  expect(await world.import(reuse)).toMatchObject({ existing: 3, created: 1 });
  expect(inRows().map(([, code]) => code)).toEqual(['0000002', '0000003', '0000005', '0000004']);
});

test('new targets are no moved ones', async () => {
  writeTargets(url(11), url(12), url(13), url(14));
  expect(await world.import(settings)).toMatchObject({ created: 4, existing: 0 });
});

test('nor is one that equals another by chance, among many that were edited', async () => {
  writeTargets(url(11), url(12), url(13), url(1));
  expect(await world.import(settings)).toMatchObject({ created: 4, existing: 0 });
});

test('a service that can be asked knows whose each link is', async () => {
  world.service.features = ['lookup'];
  writeTargets(...sorted);
  expect(await world.import(settings)).toMatchObject({ created: 0, existing: 4 });
  expect(inRows()).toEqual(sorted.map((target) => [target, `000000${target.at(-1)}`]));
});
