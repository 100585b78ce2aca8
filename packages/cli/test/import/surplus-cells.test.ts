import { rmSync } from 'node:fs';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { ImportHarness } from './import-harness.ts';

let world: ImportHarness;
beforeEach(() => {
  world = new ImportHarness();
});
afterEach(() => world.dispose());

const row = (n: number, title = `T${n}`) => `https://example.com/${n},${title}`;

test('a row with surplus cells keeps them, and is rejected again', async () => {
  const maps = 'https://maps.example/?q=48,2.29,My map';
  for (const [header, good, bad] of [
    ['url,title', row(1), maps],
    ['url', 'https://example.com/1', 'https://maps.example/?q=48,'],
  ] as const) {
    const all = { maxRejects: 'all', inputFormat: 'csv' } as const;
    world.write('input.csv', [header, good, bad, ''].join('\n'));
    const inPlace = { ...all, inPlace: true, output: world.path('input.csv') };
    const journal = world.path(`${header}.journal`);
    expect(await world.import({ ...all, journal })).toMatchObject({ created: 1, rejected: 1 });
    world.write('again.csv', world.read('input.csv.results.csv'));
    const again = { ...all, file: world.path('again.csv') };
    expect(await world.import(again)).toMatchObject({ created: 0, existing: 1, rejected: 1 });
    await world.import({
      ...all,
      journal,
      output: world.path('out.jsonl'),
      outputFormat: 'jsonl',
    });
    const lines = {
      ...all,
      file: world.path('out.jsonl'),
      inputFormat: 'auto',
      outputFormat: 'jsonl',
    } as const;
    expect(await world.import(lines)).toMatchObject({ created: 0, existing: 1, rejected: 1 });
    expect(await world.import({ ...inPlace, journal })).toMatchObject({ rejected: 1 });
    const filled = world.read('input.csv');
    expect(await world.import({ ...inPlace, journal })).toMatchObject({
      created: 0,
      rejected: 1,
    });
    const counts = /\d+ cells, the header has \d+/;
    expect(world.read('input.csv').replace(counts, '')).toBe(filled.replace(counts, ''));
    expect(world.table('input.csv')[2]?.slice(header.split(',').length + 4)).toEqual(
      bad.split(',').slice(header.split(',').length),
    );
    expect([...world.service.created.keys()]).toEqual(['https://example.com/1']);
    for (const name of world.files()) rmSync(world.path(name));
  }
});

test.each([
  ['a title with a comma', 'url,title', `${row(3, 'Hello')}, world`],
  ['a title with three', 'url,title', `${row(3, 'Hello')}, a, b, c`],
  ['a URL among what is cut off', 'url,title', `${row(3, 'Hello')}, a,https://other.example/b`],
  ['a URL with a comma', 'url', 'https://example.com/3,x'],
  ['a URL that ends with one', 'url', 'https://example.com/3,'],
])(
  'in place, a row that was appended without quotes is rejected whole: %s',
  async (_, header, added) => {
    const good = header === 'url' ? 'https://example.com/1' : row(1);
    world.write('input.csv', `${header}\n${good}\n`);
    const inPlace = { inPlace: true, output: world.path('input.csv'), maxRejects: 'all' } as const;
    await world.import(inPlace);
    world.write('input.csv', `${world.read('input.csv')}${added}\n`);
    for (const _run of [1, 2]) {
      expect(await world.import(inPlace)).toMatchObject({ existing: 1, created: 0, rejected: 1 });
      const [, , cells = []] = world.table('input.csv');
      for (const cell of added.split(',')) expect(cells).toContain(cell);
    }
    expect(world.created()).toEqual({ links: 1, duplicates: 0 });
  },
);

test('in place, a rejected row whose last cells were taken out has its results once', async () => {
  world.write('input.csv', `url,title\n${row(1)}\nno URL,T\n`);
  const inPlace = { inPlace: true, output: world.path('input.csv'), maxRejects: 'all' } as const;
  await world.import(inPlace);
  const filled = world.read('input.csv');
  world.write('input.csv', filled.replace(/(no URL,T,,,rejected).*/, '$1'));
  expect(await world.import(inPlace)).toMatchObject({ existing: 1, rejected: 1 });
  expect(world.read('input.csv')).toBe(filled);
});

test('a row that was appended to a rejects file without quotes is rejected', async () => {
  const text = 'url,title,line,reason\nhttps://example.com/1,A,7,no title\n';
  world.write('input.csv', `${text}${row(2, 'Hello')}, world\n`);
  expect(await world.import({ maxRejects: 'all' })).toMatchObject({ created: 1, rejected: 1 });
});

test('a link that was written in by hand counts, and so does a row as an import has written it', async () => {
  const text = 'url,title,code,short_url,status,error\n';
  world.write(
    'input.csv',
    `${text}${row(1)},x,https://s.example/x,,\n${row(3)},y,https://s.example/y,live,\n${row(2)},,,unsent,later\n`,
  );
  expect(await world.import()).toMatchObject({ existing: 2, created: 1, rejected: 0 });
});

test('a row whose last cell a spreadsheet has left out is a row like any other', async () => {
  const text = 'target_url,code,short_url,status,error\n';
  world.write(
    'input.csv',
    `${text}https://example.com/1,abc,https://s.example/abc,created\nhttps://example.com/2,,,\n`,
  );
  expect(await world.import()).toMatchObject({ existing: 1, created: 1, rejected: 0 });
});

test('columns named line and reason are those of rejects only where lines have numbers', async () => {
  const text = 'url,title,line,reason\n';
  world.write('input.csv', `${text}${row(1)},Spring,new\n${row(2)},Summer,old\n`);
  expect(await world.import()).toMatchObject({ created: 2, rejected: 0 });
  world.write('rejects.csv', `${text}${row(3)},7,no title\n${row(4)},Spring,new\n`);
  const file = world.path('rejects.csv');
  expect(await world.import({ file, maxRejects: 'all' })).toMatchObject({
    created: 1,
    rejected: 1,
  });
  expect(world.read('rejects.csv.rejects.csv')).toContain('in the column of line numbers');
});
