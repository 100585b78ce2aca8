import { rmSync } from 'node:fs';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { ImportHarness } from './import-harness.ts';

let world: ImportHarness;
beforeEach(() => {
  world = new ImportHarness();
});
afterEach(() => world.dispose());

test('the same rows are new links where links exist already, and with --restart', async () => {
  world.write('input.csv', 'url\nhttps://a.example\n');
  const codes = new Set<string>();
  const remember = () => {
    for (const cells of world.table().slice(1)) codes.add(cells.at(-4) ?? '');
  };
  await world.import({ idempotency: true });
  remember();
  world.write('input.csv', 'url\nhttps://a.example\nhttps://a.example\n');
  await world.import({ idempotency: true });
  remember();
  expect(codes.size).toBe(2);
  await world.import({ idempotency: true, restart: true });
  remember();
  expect(codes.size).toBe(4);
});

test('--restart creates every row again, also where its journal is gone', async () => {
  world.writeRows(2);
  await world.import({ idempotency: true });
  await world.import({ idempotency: true, restart: true, journal: world.path('fresh') });
  expect(world.service.targets().size).toBe(4);
});

test('of equal rows, the first ones keep the links that results name', async () => {
  world.write('input.csv', 'url\nhttps://a.example\n');
  await world.import();
  rmSync(world.path('input.csv.shortlink-journal'));
  world.write('input.csv', 'url\nhttps://a.example\nhttps://a.example\n');
  expect(await world.import()).toMatchObject({ created: 1, existing: 1 });
  expect(world.table().map((cells) => cells[1])).toEqual(['code', '0000001', '0000002']);
});

test('rows that differ by their redirect type only have the links that they had, in any order', async () => {
  const rows = ['302', '302', '301', '301'].map((type) => `https://a.example,${type}\n`);
  const file = (lines: readonly string[]) => `url,redirect_type\n${lines.join('')}`;
  world.write('input.csv', file(rows));
  await world.import();
  rmSync(world.path('input.csv.shortlink-journal'));
  world.write('input.csv', file(rows.toReversed()));
  expect(await world.import()).toMatchObject({ created: 0, existing: 4, changed: 0 });
});
