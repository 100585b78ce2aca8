import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import type { ImportSettings } from '../../src/import/types.ts';
import { ImportHarness } from './import-harness.ts';

let world: ImportHarness;
beforeEach(() => {
  world = new ImportHarness();
});
afterEach(() => world.dispose());

const url = (n: number) => `https://example.com/${n}`;
const inPlace = (name: string): Partial<ImportSettings> & { file: string } => {
  const path = world.path(name);
  return { file: path, inPlace: true, output: path };
};

/** A filled file, and its first row once more, with the results, the title and another target URL. */
async function copyFirstRow(name: 'input.csv' | 'input.jsonl'): Promise<void> {
  const isLines = name.endsWith('l');
  const lines = [1, 2].map((n) => (isLines ? JSON.stringify({ url: url(n) }) : url(n)));
  world.write(name, [...(isLines ? [] : ['url']), ...lines, ''].join('\n'));
  await world.import(inPlace(name));
  const filled = world.read(name);
  const first = filled.split('\n').find((line) => line.includes(url(1))) ?? '';
  world.write(name, `${filled}${first.replace(url(1), url(3))}\n`);
}

describe.each(['input.csv', 'input.jsonl'] as const)('a row of %s that was copied', (name) => {
  const [first, copy] = name.endsWith('l') ? [1, 3] : [2, 4];
  const reason = `its short_url is that of line ${first}: clear code and short_url to create a link`;

  test.each([
    ['in place', true, `${name}.shortlink-journal`],
    ['in place without its journal', true, 'fresh'],
    ['as input', false, 'fresh'],
  ])('with its results is rejected: %s', async (_, isInPlace, journal) => {
    await copyFirstRow(name);
    const text = world.read(name);
    const settings = {
      ...(isInPlace ? inPlace(name) : { file: world.path(name) }),
      journal: world.path(journal),
    };
    const rejected = { rejected: 1, existing: 2, created: 0 };
    expect(await world.import(settings)).toMatchObject({
      ...rejected,
      stopped: { reason: 'rejects' },
    });
    expect(world.events).toContainEqual(
      expect.objectContaining({ type: 'validated', firstRejects: [{ line: copy, reason }] }),
    );
    expect(world.read(`${name}.rejects.csv`)).toContain(reason);
    expect(world.read(name)).toBe(text);
    // Also where the others are sent.
    const all = { ...settings, maxRejects: 'all' } as const;
    for (const _run of [1, 2]) expect(await world.import(all)).toMatchObject(rejected);
    expect(world.read(isInPlace ? name : `${name}.results.csv`)).toContain(reason);
    expect(world.service.created.size).toBe(2);
  });
});

test('a copied row gets its link once code and short_url are cleared', async () => {
  await copyFirstRow('input.csv');
  const cleared = world.read('input.csv').replace(/(example.com\/3),.*/, '$1,,,,');
  world.write('input.csv', cleared);
  expect(await world.import(inPlace('input.csv'))).toMatchObject({ created: 1, existing: 2 });
});

test('a row that stands there twice, and one whose target URL was edited, have their link', async () => {
  await copyFirstRow('input.csv');
  const twice = world.read('input.csv').replace(url(3), url(1)).replace(url(2), url(4));
  world.write('input.csv', twice);
  expect(await world.import(inPlace('input.csv'))).toMatchObject({ existing: 3, rejected: 0 });
});
