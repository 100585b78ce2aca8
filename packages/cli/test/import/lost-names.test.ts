import { rmSync } from 'node:fs';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import type { ImportSettings } from '../../src/import/types.ts';
import { ImportHarness } from './import-harness.ts';

let world: ImportHarness;
beforeEach(() => {
  world = new ImportHarness();
});
afterEach(() => world.dispose());

const RESULTS = 'input.csv.results.csv';
const WORDS: Readonly<Record<string, string>> = {
  ...{ url: 'Ziel', title: 'Titel', labels: 'Worte', code: 'Kürzel', short_url: 'Kurzlink' },
  ...{ status: 'Zustand', error: 'Fehler', made_for: 'gemacht für' },
};
const NAMES = Object.keys(WORDS);
const retype = (names: readonly string[], how: (name: string) => string) => (text: string) =>
  text.replace(/^.*/, (header) =>
    header
      .split(',')
      .map((name) => (names.includes(name) ? how(name) : name))
      .join(),
  );

const CHANGES: [string, (text: string) => string][] = [
  ...NAMES.map((name): [string, (text: string) => string] => [
    `${name} retyped`,
    retype([name], (old) => WORDS[old] ?? ''),
  ]),
  ...NAMES.map((name): [string, (text: string) => string] => [
    `${name} lost`,
    retype([name], () => ''),
  ]),
  ['all results retyped', retype(NAMES.slice(3), (old) => WORDS[old] ?? '')],
];

/** Where the results are, and what else is there. */
const PLACES: [string, Partial<ImportSettings>, string, string[]][] = [
  ['filled in place, without its journal', { inPlace: true }, 'input.csv', ['shortlink-journal']],
  ['filled in place', { inPlace: true }, 'input.csv', []],
  ['of results, without its journal', {}, RESULTS, ['shortlink-journal']],
];

describe.each(PLACES)('in a file %s', (_, settings, name, lost) => {
  const run = () =>
    world.import({ ...settings, ...(settings.inPlace && { output: world.path('input.csv') }) });

  test.each(CHANGES)('made_for tells what the columns are: %s', async (_change, change) => {
    const rows = ['1,One,a;b', '2,Two,', '3,,c'].map((row) => `https://example.com/${row}\n`);
    world.write('input.csv', `url,title,labels\n${rows.join('')}`);
    const same = { created: 0, existing: 3, changed: 0, rejected: 0 };
    await run();
    const before = world.read(name);
    world.write(name, change(before));
    for (const end of lost) rmSync(world.path(`input.csv.${end}`));
    expect(await run()).toMatchObject(same);
    expect(world.service.created.size).toBe(3);
    if (!settings.inPlace) return;
    // The results have their names again, and a row that is added means what the others mean.
    const [header = ''] = world.read(name).split('\n');
    expect(header.split(',').slice(-5)).toEqual(NAMES.slice(3));
    world.write(name, `${world.read(name)}https://example.com/4,Four,d,,,,,\n`);
    expect(await run()).toMatchObject({ created: 1, existing: 3, changed: 0 });
    expect(world.service.made.at(-1)).toMatchObject({ title: 'Four', tags: ['d'] });
  });
});

test('a row that was edited is said to be changed, whatever names were lost', async () => {
  const rows = ['1,One', '2,Two', '3,Three'].map((row) => `https://example.com/${row}\n`);
  world.write('input.csv', `url,title\n${rows.join('')}`);
  const inPlace = { inPlace: true, output: world.path('input.csv') };
  await world.import(inPlace);
  world.write(
    'input.csv',
    world.read('input.csv').replace('title', 'Titel').replace('Two', 'Zwei'),
  );
  expect(await world.import(inPlace)).toMatchObject({ created: 0, existing: 3, changed: 1 });
});

const inPlace = () => ({ inPlace: true, output: world.path('input.csv') });
const COLUMNS = 'url,title,code,short_url,status,error,made_for';

test.each([
  ['of which all names are there', COLUMNS],
  ['of which a name was lost', COLUMNS.replace('made_for', 'gemacht')],
])('a comma that is not quoted in the first row moves no column %s', async (_, header) => {
  world.write('input.csv', 'url,title\nhttps://example.com/1,One\nhttps://example.com/2,Two\n');
  await world.import(inPlace());
  world.write(
    'input.csv',
    world.read('input.csv').replace(COLUMNS, header).replace('One', 'One, more'),
  );
  expect(await world.import(inPlace())).toMatchObject({ created: 0, existing: 1, rejected: 1 });
  const rejects = world.read('input.csv.rejects.csv').trim().split('\n').slice(1);
  expect(rejects).toEqual([expect.stringContaining('One, more')]);
});

describe('targets that are all new, beside the old ones in a column of another name', () => {
  const rows = (text: (n: number) => string) => `${[1, 2, 3].map(text).join('\n')}\n`;
  const pair = (n: number) => `https://old.example/${n},https://new.example/${n}`;
  const newTargets = ['/1', '/2', '/3'].map((end) => ({
    target: `https://new.example${end}`,
  }));

  test('are asked for where they have a usual name', async () => {
    world.write('input.csv', `url\n${rows((n) => `https://old.example/${n}`)}`);
    await world.import(inPlace());
    const edited = world
      .read('input.csv')
      .replaceAll(/^https:..old.example.(\d)/gm, (_, n) => pair(Number(n)))
      .replace(/^url/, 'before,url');
    world.write('input.csv', edited);
    expect(await world.import(inPlace())).toMatchObject({ created: 3, existing: 0 });
    expect(world.service.made.slice(3)).toMatchObject(newTargets);
  });

  test('are asked for where the user names the column', async () => {
    world.write('input.csv', `before,after\n${rows(pair)}`);
    await world.import({ ...inPlace(), map: { target_url: 'before' } });
    const map = { target_url: 'after' };
    expect(await world.import({ ...inPlace(), map })).toMatchObject({ created: 3, existing: 0 });
    expect(world.service.made.slice(3)).toMatchObject(newTargets);
  });

  test('are not guessed where the user names a column that is not there', async () => {
    world.write('input.csv', `before,after\n${rows(pair)}`);
    await world.import({ ...inPlace(), map: { target_url: 'before' } });
    const typo = world.import({ ...inPlace(), map: { target_url: 'aftr' } });
    await expect(typo).rejects.toMatchObject({ message: expect.stringContaining('aftr') });
  });
});

test.each(CHANGES)('no link is doubled where the service can be asked: %s', async (_, change) => {
  world.service.features = ['lookup'];
  world.write('input.csv', 'url,title,labels\nhttps://example.com/1,One,\n');
  await world.import();
  world.write('input.csv', change(world.read(RESULTS)));
  for (const end of ['results.csv', 'shortlink-journal']) rmSync(world.path(`input.csv.${end}`));
  expect(await world.import()).toMatchObject({ created: 0, existing: 1 });
});
