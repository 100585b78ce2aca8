import { afterEach, beforeEach, expect, test } from 'vitest';
import { ImportHarness } from './import-harness.ts';

let world: ImportHarness;
beforeEach(() => {
  world = new ImportHarness();
});
afterEach(() => world.dispose());

const object = (n: number, more: object = {}) =>
  `${JSON.stringify({ url: `https://example.com/${n}`, ...more })}\n`;
/** More rows than the beginning of a file that is looked at first. */
const FAR = Array.from({ length: 600 }, (_, n) => object(n, { far: 'x'.repeat(1000) })).join('');
/** A row as an import writes it. */
const result = (n: number) =>
  object(n, {
    code: `own${n}`,
    short_url: `https://s.example/own${n}`,
    status: 'created',
    error: null,
  });

const lines = () => ({ file: world.path('input.jsonl'), output: world.path('results.jsonl') });
const asJsonl = { outputFormat: 'jsonl' } as const;
const inPlace = () => ({
  ...lines(),
  ...asJsonl,
  inPlace: true,
  output: world.path('input.jsonl'),
});

/** The objects of a file of JSON Lines. */
const objects = (name: string) =>
  world
    .read(name)
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line));

/** Each created row that the service made has the link to its own target. */
function checkLinks(name: string): void {
  const targets = world.service.targets();
  for (const { url, code, status } of objects(name)) {
    if (targets.has(code)) expect(targets.get(code)).toBe(url);
    expect(status).toBe('created');
  }
}

test('the results of JSON Lines are found behind many new rows', async () => {
  world.write('input.jsonl', FAR + result(1000));
  expect(await world.import(inPlace())).toMatchObject({ created: 600, existing: 1 });
  const { code } = JSON.parse(result(1000));
  expect(objects('input.jsonl').at(-1)).toMatchObject({ code, status: 'created' });
});

test('keys of JSON Lines that come late fill their fields', async () => {
  world.write('input.jsonl', FAR + object(1000, { title: 'Late', extra: 1 }));
  expect(await world.import(lines())).toMatchObject({ created: 601 });
  expect(world.service.asked.flat().at(-1)).toMatchObject({ title: 'Late' });
});

test('links of another service stay rows to import when our results come after them', async () => {
  const foreign = (n: number) => object(n, { code: `x${n}`, short_url: `https://bit.ly/x${n}` });
  const first = foreign(2001) + FAR + foreign(2002);
  world.write('input.jsonl', first);
  expect(await world.import({ ...lines(), ...asJsonl })).toMatchObject({ created: 602 });
  world.write('input.jsonl', first + result(1000) + result(1001));
  expect(await world.import({ ...lines(), ...asJsonl })).toMatchObject({
    created: 0,
    existing: 604,
  });
  checkLinks('results.jsonl');
  const { service } = world;
  // The same as a first run.
  const fresh = { ...lines(), ...asJsonl, journal: world.path('fresh'), restart: true };
  expect(await world.import(fresh)).toMatchObject({ created: 602, existing: 2, unsent: 0 });
  checkLinks('results.jsonl');
  expect(service.duplicates).toBe(602);
});

test('in place, a row with a key of its own keeps it, wherever our results are', async () => {
  const own = object(2001, { status: 'active' });
  world.write('input.jsonl', FAR + own + FAR.replaceAll('com/', 'com/a') + result(1000));
  const all = { ...inPlace(), maxRejects: 'all' } as const;
  for (const counts of [{ created: 1200 }, { created: 0, existing: 1201 }]) {
    expect(await world.import(all)).toMatchObject({ ...counts, rejected: 1 });
    expect(world.read('input.jsonl')).toContain(own);
  }
  expect(world.created()).toEqual({ links: 1200, duplicates: 0 });
  // Without --in-place nothing of the row is lost, so it is imported.
  const fresh = { ...lines(), ...asJsonl, journal: world.path('fresh') };
  expect(await world.import(fresh)).toMatchObject({ created: 1, existing: 1201, rejected: 0 });
});

test('a key that comes late means the same in a file that is sorted in another order', async () => {
  const late = object(2001, { domain_id: 'dom-1', short_url: 'https://bit.ly/q' });
  for (const text of [FAR + late, late + FAR]) {
    world.write('input.jsonl', text);
    await world.import({ ...lines(), ...asJsonl });
  }
  expect(world.created()).toEqual({ links: 601, duplicates: 0 });
  expect(world.service.asked.flat().every((link) => !('domain_id' in link))).toBe(true);
});

test.each<[string, object, object, object]>([
  ['that other services use', { domain_id: 'dom-1' }, { keyword: 'shoes' }, { created: 1 }],
  [
    'that an import has written',
    { domain_id: 'dom-1', short_url: 'https://bit.ly/x' },
    { code: 'own', short_url: 'https://s.example/own', status: 'created', error: null },
    { created: 0 },
  ],
  ['with a better name', { name: 'N' }, { title: 'T' }, { created: 1 }],
  ['that is taken for the target URL', {}, { destination: 'Paris' }, { created: 0, rejected: 1 }],
])('a row with keys %s changes nothing for the others', async (_, usual, keys, counts) => {
  const rows = Array.from({ length: 3 }, (_row, n) => object(n, usual)).join('');
  // The results of the first round name the last row.
  const decided = { ...lines(), maxRejects: 'all', onSimilar: 'create' } as const;
  for (const far of [FAR.replaceAll('com/', 'com/far'), '']) {
    const journal = world.path(`journal${far.length}`);
    const output = world.path(`results${far.length}.csv`);
    const settings = { ...decided, journal, output };
    world.write('input.jsonl', rows + far);
    await world.import(settings);
    world.write('input.jsonl', rows + far + object(9999, { ...usual, ...keys }));
    const existing = 3 + (far === '' ? 0 : 600) + ('code' in keys ? 1 : 0);
    expect(await world.import(settings)).toMatchObject({
      ...counts,
      existing,
      gone: 0,
      changed: 0,
    });
  }
});

test('numbers and objects under the names of results end no import', async () => {
  world.write(
    'input.jsonl',
    '{"url":"https://example.com/1","code":1.0}\n{"url":"https://example.com/2","status":12345678901234567,"error":{"toString":1}}\n',
  );
  expect(await world.import(lines())).toMatchObject({ created: 2 });
});

test('a part of a result is refused wherever it is, in the input and in the known file', async () => {
  const part = object(1, { short_url: 'https://api.example/abc', status: 'created' });
  world.write('input.jsonl', FAR + part);
  await expect(world.import(lines())).rejects.toMatchObject({
    code: 'input',
    message: expect.stringContaining('line 601: the row has a link of an earlier import'),
  });
  world.write('known.jsonl', result(2) + part);
  world.write('input.jsonl', object(1) + object(2));
  await expect(world.import({ ...lines(), known: [world.path('known.jsonl')] })).rejects.toThrow(
    'line 2: the row has a link of an earlier import',
  );
  expect(world.service.requests).toBe(0);
});

test('a known line that could have a link is refused, on whatever domain that is', async () => {
  const part = object(1, { code: 'abc', short_url: 'https://other.example/abc' });
  world.write('known.jsonl', result(2) + part);
  world.write('input.jsonl', object(1) + object(2));
  await expect(world.import({ ...lines(), known: [world.path('known.jsonl')] })).rejects.toThrow(
    'line 2: "https://other.example/abc" could be the short URL of a link',
  );
});

test('an empty key is as good as none', async () => {
  const row = object(1, { domain_id: 'dom-1' });
  world.write('input.jsonl', row + object(2, { domain_id: 'dom-1', short_url: null, code: '' }));
  expect(await world.import(lines())).toMatchObject({ created: 2 });
  expect(world.service.asked.flat()).toMatchObject([
    { domain_id: 'dom-1' },
    { domain_id: 'dom-1' },
  ]);
});

test('the results of different lines are known whatever their format is', async () => {
  const text = [
    object(1, { domain_id: 'dom-1' }),
    object(2, { shortLink: 'https://bit.ly/x' }),
    `${JSON.stringify({ link: 'https://example.com/3' })}\n`,
  ];
  world.write('input.jsonl', text.join(''));
  for (const outputFormat of ['csv', 'jsonl'] as const) {
    const output = world.path(`results.${outputFormat}`);
    const first = {
      ...lines(),
      output,
      outputFormat,
      journal: world.path(outputFormat),
      restart: true,
    };
    // A restart knows nothing of the journal and of the results.
    expect(await world.import(first)).toMatchObject({ created: 3 });
    const again = { ...lines(), journal: world.path(`fresh.${outputFormat}`), known: [output] };
    expect(await world.import(again)).toMatchObject({ created: 0, existing: 3 });
  }
});
