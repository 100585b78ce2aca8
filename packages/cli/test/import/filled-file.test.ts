import { afterEach, beforeEach, expect, test } from 'vitest';
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

test('a filled file at another service is not said to be new there', async () => {
  const other = { ...settings, baseUrl: 'https://other.example' };
  expect(await world.import(other)).toMatchObject({ existing: 1, created: 0 });
  expect(warnings()).toEqual([]);
  append();
  expect(await world.import(other)).toMatchObject({ existing: 1, created: 1 });
  expect(warnings()).toEqual([
    {
      type: 'warning',
      message:
        'The journal has links of https://api.example, and none of https://other.example: 1 row is new there.',
    },
  ]);
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
