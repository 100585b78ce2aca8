import { rmSync } from 'node:fs';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { linkIdentity, madeFor } from '../../src/import/map/link-identity.ts';
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
  test.each([
    ['in place', true, `${name}.shortlink-journal`],
    ['in place without its journal', true, 'fresh'],
    ['as input', false, 'fresh'],
  ])('with its results is a new row: %s', async (_, isInPlace, journal) => {
    await copyFirstRow(name);
    const settings = {
      ...(isInPlace ? inPlace(name) : { file: world.path(name) }),
      journal: world.path(journal),
    };
    const done = { created: 0, existing: 3, rejected: 0, changed: 0 };
    expect(await world.import(settings)).toMatchObject({ ...done, created: 1, existing: 2 });
    expect(await world.import(settings)).toMatchObject(done);
    expect(world.read(isInPlace ? name : `${name}.results.csv`)).toContain(
      'https://s.example/0000003',
    );
    expect(world.service.created.size).toBe(3);
  });
});

const inRows = (name = 'input.csv') =>
  world
    .table(name)
    .slice(1)
    .map(([target, code]) => [target, code]);

test.each([true, false])(
  'a row that is copied above its original takes no link: journal %s',
  async (hasJournal) => {
    await copyFirstRow('input.csv');
    const [header = '', one = '', two = '', copy = ''] = world.read('input.csv').split('\n');
    world.write('input.csv', [header, copy, one, two, ''].join('\n'));
    const settings = {
      ...inPlace('input.csv'),
      ...(hasJournal ? {} : { journal: world.path('fresh') }),
    };
    expect(await world.import(settings)).toMatchObject({ created: 1, existing: 2, rejected: 0 });
    expect(inRows()).toEqual([
      [url(3), '0000003'],
      [url(1), '0000001'],
      [url(2), '0000002'],
    ]);
    expect(world.events.filter(({ type }) => type === 'warning')).toEqual([]);
  },
);

test('a row that stands there twice is two rows, and the one that was not edited keeps the link', async () => {
  world.write('input.csv', `url,title\n${url(1)},A\n`);
  await world.import(inPlace('input.csv'));
  const [header = '', row = ''] = world.read('input.csv').split('\n');
  world.write('input.csv', [header, row.replace(',A,', ',B,'), row, row, ''].join('\n'));
  expect(await world.import(inPlace('input.csv'))).toMatchObject({
    created: 2,
    existing: 1,
    changed: 0,
  });
  expect(world.table('input.csv').map((cells) => cells[2])).toEqual([
    'code',
    '0000002',
    '0000001',
    '0000003',
  ]);
});

test.each([true, false])(
  'an edited target asks for another link, and the old one is named: journal %s',
  async (hasJournal) => {
    world.write('input.csv', `url\n${url(1)}\n${url(2)}\n`);
    await world.import(inPlace('input.csv'));
    world.write('input.csv', world.read('input.csv').replace(url(1), url(9)));
    const settings = {
      ...inPlace('input.csv'),
      ...(hasJournal ? {} : { journal: world.path('fresh') }),
    };
    world.service.fault = () => ({ type: 'answer', status: 401, body: { error: 'no' } });
    expect(await world.import(settings)).toMatchObject({ created: 0, existing: 1, unsent: 1 });
    // Until there is another one, the file names the old link.
    expect(inRows()[0]).toEqual([url(9), '0000001']);
    world.service.fault = () => undefined;
    expect(await world.import(settings)).toMatchObject({ created: 1, existing: 1 });
    expect(world.events).toContainEqual({
      type: 'warning',
      message:
        '1 row asks for another link than before, and the old one still leads to the old target (line 2: https://s.example/0000001).',
    });
    expect(inRows()[0]).toEqual([url(9), '0000003']);
    expect(await world.import(settings)).toMatchObject({ created: 0, existing: 2 });
  },
);

test('edited targets beyond those that are named are counted', async () => {
  const rows = Array.from({ length: 7 }, (_, n) => url(n + 1)).join('\n');
  world.write('input.csv', `url\n${rows}\n`);
  await world.import(inPlace('input.csv'));
  const edited = world.read('input.csv').replace(/^(https:\/\/[^,]+),/gm, '$1/edited,');
  world.write('input.csv', edited);
  expect(await world.import(inPlace('input.csv'))).toMatchObject({ created: 7, existing: 0 });
  const warnings = world.events.filter(({ type }) => type === 'warning');
  expect(warnings).toEqual([
    {
      type: 'warning',
      message: expect.stringMatching(
        /^7 rows ask for another link than before, .*\(line 2: https:\S+1, .*line 6: https:\S+5, …\)\.$/,
      ),
    },
  ]);
});

test('an edited title is noticed wherever the file is, for ever', async () => {
  world.write('input.csv', `url,title\n${url(1)},A\n`);
  await world.import(inPlace('input.csv'));
  world.write('input.csv', world.read('input.csv').replace(',A,', ',B,'));
  for (const journal of ['one', 'two']) {
    const settings = { ...inPlace('input.csv'), journal: world.path(journal) };
    expect(await world.import(settings)).toMatchObject({ created: 0, existing: 1, changed: 1 });
  }
  // Results name it too.
  world.write('next.csv', `url,title\n${url(1)},C\n`);
  const known = { file: world.path('next.csv'), known: [world.path('input.csv')] };
  expect(await world.import(known)).toMatchObject({ existing: 1, changed: 1 });
  expect(await world.import({ ...known, known: undefined })).toMatchObject({
    existing: 1,
    changed: 1,
  });
});

test.each(['results', 'service'])(
  'made_for says what the link was made with, after an edit and without the journal: %s',
  async (left) => {
    const madeFor = () => world.read('input.csv.results.csv').trim().split(',').at(-1);
    const original = `url,title\n${url(1)},A\n`;
    world.write('input.csv', original);
    await world.import();
    const made = madeFor();
    world.write('input.csv', original.replace('A', 'B'));
    world.service.features = left === 'service' ? ['lookup'] : undefined;
    rmSync(world.path('input.csv.shortlink-journal'));
    if (left === 'service') rmSync(world.path('input.csv.results.csv'));
    const settings = { onSimilar: 'reuse' } as const;
    for (const _ of ['first', 'again']) {
      expect(await world.import(settings)).toMatchObject({ existing: 1, changed: 1 });
      expect(madeFor()).toBe(made);
    }
    world.write('input.csv', original);
    expect(await world.import(settings)).toMatchObject({ existing: 1, changed: 0 });
    expect(madeFor()).toBe(made);
  },
);

test('no cell of made_for is a number in powers of ten, of which a spreadsheet would keep three digits', async () => {
  const count = 1_000;
  const rows = Array.from({ length: count }, (_, n) => `${url(n)},T${n}`);
  world.write('input.csv', ['url,title', ...rows, ''].join('\n'));
  await world.import(inPlace('input.csv'));
  const cells = world.read('input.csv').match(/[^,]+$/gm) ?? [];
  expect(cells.filter((cell) => /^\d+e\d+$/i.test(cell))).toEqual([]);
  expect(cells.filter((cell) => /^x\d+e\d+$/.test(cell)).length).toBeGreaterThan(0);
  const settings = { ...inPlace('input.csv'), journal: world.path('fresh') };
  expect(await world.import(settings)).toMatchObject({ existing: count, changed: 0 });
});

test('what can not be read in made_for is written again', async () => {
  world.write('input.csv', `url\n${url(1)}\n`);
  await world.import(inPlace('input.csv'));
  const filled = world.read('input.csv');
  world.write('input.csv', filled.replace(/[^,\n]+(?=\n$)/, '4.93E+05'));
  await world.import({ ...inPlace('input.csv'), journal: world.path('fresh') });
  expect(world.read('input.csv')).toBe(filled);
});

test('zeros that a spreadsheet dropped from made_for change nothing', async () => {
  world.write('input.csv', `url\n${Array.from({ length: 200 }, (_, n) => url(n)).join('\n')}\n`);
  await world.import(inPlace('input.csv'));
  world.write('input.csv', world.read('input.csv').replace(/,0+([0-9a-f]+)$/gm, ',$1'));
  const settings = { ...inPlace('input.csv'), journal: world.path('fresh') };
  expect(await world.import(settings)).toMatchObject({ created: 0, existing: 200, changed: 0 });
});

test('a copy that gets no link of its own does not keep that of its original', async () => {
  world.write('input.csv', `url,title\n${url(1)},A\n`);
  await world.import(inPlace('input.csv'));
  const [header = '', row = ''] = world.read('input.csv').split('\n');
  world.write('input.csv', [header, row, row, row.replace(url(1), url(2)), ''].join('\n'));
  expect(await world.import({ ...inPlace('input.csv'), limit: 0 })).toMatchObject({ unsent: 2 });
  const [, first, ...copies] = world.table('input.csv');
  expect(first?.slice(2, 5)).toEqual(['0000001', 'https://s.example/0000001', 'created']);
  for (const copy of copies) expect(copy.slice(2, 5)).toEqual(['', '', 'unsent']);
});

test('a row with another target that gets no link keeps what nothing else names', async () => {
  world.write('input.csv', `url,title\n${url(1)},A\n`);
  await world.import(inPlace('input.csv'));
  world.write('input.csv', world.read('input.csv').replace(url(1), url(2)));
  expect(await world.import({ ...inPlace('input.csv'), limit: 0 })).toMatchObject({ unsent: 1 });
  expect(world.table('input.csv')[1]?.slice(2, 5)).toEqual([
    '0000001',
    'https://s.example/0000001',
    'unsent',
  ]);
});

test('where cells with links were shifted by a row, the journal knows whose they are', async () => {
  world.write('input.csv', `url\n${[1, 2, 3].map((n) => `${url(n)}\n`).join('')}`);
  await world.import(inPlace('input.csv'));
  const [header = '', ...rows] = world.read('input.csv').trimEnd().split('\n');
  const cells = rows.map((row) => row.split(','));
  const shifted = cells.map(([target, , , ...rest], index) => {
    const [, code, short] = cells[(index + 1) % cells.length] ?? [];
    return [target, code, short, ...rest].join(',');
  });
  world.write('input.csv', [header, ...shifted, ''].join('\n'));
  expect(await world.import(inPlace('input.csv'))).toMatchObject({ existing: 3, created: 0 });
  expect(inRows()).toEqual([1, 2, 3].map((n) => [url(n), `000000${n}`]));
  expect(world.events.filter(({ type }) => type === 'warning')).toEqual([]);
});

test('but a journal that is older than the file takes no link away', async () => {
  world.write('input.csv', `url\n${url(1)}\n${url(2)}\n`);
  await world.import(inPlace('input.csv'));
  // Another machine has filled in what the operator has corrected.
  const corrected = madeFor(linkIdentity({ target_url: url(3) }, undefined));
  const [header, first, ...rest] = world.read('input.csv').split('\n');
  const filled = first?.replace(url(1), url(3)).replace(/[^,]*$/, corrected);
  world.write('input.csv', [header, filled, ...rest].join('\n'));
  expect(await world.import(inPlace('input.csv'))).toMatchObject({ existing: 2, created: 0 });
  expect(world.events.filter(({ type }) => type === 'warning')).toEqual([]);
});

test('a link that a row before has is not that of its copy, in a file of thousands', async () => {
  // Of so many links, the next ones are looked for by their places.
  const rows = Array.from({ length: 5_010 }, (_, n) => url(n));
  world.write('input.csv', `url\n${rows.join('\n')}\n`);
  await world.import();
  const [first = '', second = '', ...others] = rows;
  world.write('input.csv', ['url', second, first, second, ...others, ''].join('\n'));
  expect(await world.import()).toMatchObject({ created: 1, existing: 5_010 });
  expect(new Set(world.table().map((cells) => cells.at(-3))).size).toBe(5_012);
});

/** Cells of a filled file, by line. */
const edit = (change: (lines: string[][]) => void) => {
  const lines = world
    .read('input.csv')
    .trimEnd()
    .split('\n')
    .map((line) => line.split(','));
  change(lines);
  world.write('input.csv', `${lines.map((cells) => cells.join()).join('\n')}\n`);
};

describe('of a filled file with its journal', () => {
  test.each<[string, (lines: string[][]) => void]>([
    ['equal rows whose links changed places', (lines) => lines.splice(1, 0, ...lines.splice(2, 1))],
    ['one of several equal rows is gone', (lines) => lines.splice(2, 1)],
    [
      'short URLs have another address by now',
      (lines) => {
        for (const cells of lines) cells[2] = cells[2]?.replace('s.example', 'sho.rt') ?? '';
      },
    ],
  ])('each row keeps what it names: %s', async (_, change) => {
    world.write('input.csv', `url\n${[1, 1, 1, 2].map((n) => `${url(n)}\n`).join('')}`);
    await world.import(inPlace('input.csv'));
    edit(change);
    const changed = world.read('input.csv');
    expect(await world.import(inPlace('input.csv'))).toMatchObject({ created: 0, changed: 0 });
    expect(world.read('input.csv')).toBe(changed);
  });

  test('an equal row that was written above the others gets a link of its own', async () => {
    world.write('input.csv', `url\n${url(1)}\n${url(1)}\n`);
    await world.import(inPlace('input.csv'));
    edit((lines) => lines.splice(1, 0, [url(1), '', '', '', '', '']));
    expect(await world.import(inPlace('input.csv'))).toMatchObject({ created: 1, existing: 2 });
    expect(inRows().map(([, code]) => code)).toEqual(['0000003', '0000001', '0000002']);
  });

  test('the journal says that a title was edited where made_for is gone', async () => {
    world.write('input.csv', `url,title\n${url(1)},A\n${url(2)},B\n`);
    await world.import(inPlace('input.csv'));
    edit((lines) => {
      lines[1]?.splice(1, 1, 'edited');
      for (const cells of lines.slice(1)) cells[6] = '';
    });
    expect(await world.import(inPlace('input.csv'))).toMatchObject({ existing: 2, changed: 1 });
  });

  test('what a row says its link was created with counts, whatever the journal says', async () => {
    world.write('input.csv', `url,title\n${url(1)},A\n`);
    await world.import(inPlace('input.csv'));
    const other = madeFor(linkIdentity({ target_url: url(1), title: 'B' }, undefined));
    edit((lines) => lines[1]?.splice(6, 1, other));
    const changed = world.read('input.csv');
    expect(await world.import(inPlace('input.csv'))).toMatchObject({ existing: 1, changed: 1 });
    expect(world.read('input.csv')).toBe(changed);
  });
});

test('equal rows keep the order of their links where a row before them is gone', async () => {
  world.write('input.csv', `url\n${[1, 2, 2].map((n) => `${url(n)}\n`).join('')}`);
  await world.import();
  world.write('input.csv', `url\n${url(2)}\n${url(2)}\n`);
  expect(await world.import()).toMatchObject({ created: 0, existing: 2, gone: 1 });
  expect(world.table().map((cells) => cells[1])).toEqual(['code', '0000002', '0000003']);
});
