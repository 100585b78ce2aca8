import { rmSync } from 'node:fs';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { NamedLinks } from '../../src/import/check/named-links.ts';
import type { ImportSettings } from '../../src/import/types.ts';
import { FakeService } from './fake-service.ts';
import { ImportHarness } from './import-harness.ts';

/** Short URLs of the service in the tests, which are on another host than its API. */
const SHORT = 'https://s.example';

let world: ImportHarness;
beforeEach(() => {
  world = new ImportHarness();
  world.writeRows(3);
});
afterEach(() => world.dispose());

const loseJournal = () => rmSync(world.path('input.csv.shortlink-journal'));

/** Another service, which has none of these links. */
function moveOn(features: string[] | undefined): void {
  world.service = new FakeService();
  world.service.features = features;
}

const filled = (): Partial<ImportSettings> => {
  const file = world.path('input.csv');
  return { file, inPlace: true, output: file };
};

test.each([
  ['results', () => ({}), 'input.csv.results.csv'],
  ['a filled file', filled, 'input.csv'],
])('links of %s that the service does not know are refused by name', async (_, settings, name) => {
  await world.import(settings());
  loseJournal();
  moveOn(['lookup']);
  const refusal = {
    code: 'input',
    message: `${name} names links at ${SHORT}, such as ${SHORT}/0000001, and https://api.example knows none of them`,
  };
  await expect(world.import(settings())).rejects.toMatchObject(refusal);
  await expect(world.import({ ...settings(), dryRun: true })).rejects.toMatchObject(refusal);
  expect(world.service.asked).toEqual([]);
});

test('links of a lost journal that the service knows are those of their rows', async () => {
  world.service.features = ['lookup'];
  await world.import();
  loseJournal();
  expect(await world.import()).toMatchObject({ existing: 3, created: 0 });
  expect(await world.import()).toMatchObject({ existing: 3, created: 0 });
});

test.each([
  ['the journal', () => ({}), 'input.csv.shortlink-journal', SHORT],
  ['a filled file', () => ({ ...filled(), baseUrl: SHORT }), 'input.csv', SHORT],
])(
  'where another database has the address of the service, links of %s are refused by name',
  async (_, settings, name, at) => {
    world.service.features = ['lookup'];
    await world.import(settings());
    if (name === 'input.csv') loseJournal();
    moveOn(['lookup']);
    const refused = async () => {
      const message = expect.stringContaining(
        `${name} names links at ${at}, such as ${at}/0000001`,
      );
      await expect(world.import(settings())).rejects.toMatchObject({ code: 'input', message });
      await expect(world.import({ ...settings(), dryRun: true })).rejects.toMatchObject({
        message,
      });
    };
    await refused();
    world.write('input.csv', `${world.read('input.csv')}new,https://example.com/new\n`);
    await refused();
    expect(world.service.asked).toEqual([]);
  },
);

test.each([
  ['the journal', false],
  ['results', true],
])(
  'in another database, all rows are created again where the user says so, in spite of %s',
  async (_, isLost) => {
    world.service.features = ['lookup'];
    await world.import();
    if (isLost) loseJournal();
    moveOn(['lookup']);
    expect(await world.import({ restart: true })).toMatchObject({ created: 3 });
    expect(await world.import()).toMatchObject({ existing: 3, created: 0 });
  },
);

test('a journal is not refused for links that the service has no more, while it knows others', async () => {
  world.service.features = ['lookup'];
  await world.import();
  world.writeRows(6);
  await world.import();
  for (const links of [2, 1]) {
    world.service.made.splice(0, links);
    expect(await world.import()).toMatchObject({ existing: 6, created: 0 });
  }
});

test('a run with nothing to do does not wait for a service that is away', async () => {
  world.service.features = ['lookup'];
  await world.import();
  world.maxRetries = 3;
  const away = { type: 'answer', status: 503, body: { error: 'no' } } as const;
  let asked = 0;
  world.service.onLookup = () => {
    asked += 1;
    return away;
  };
  expect(await world.import()).toMatchObject({ existing: 3, stopped: undefined });
  world.service.usage = () => {
    asked += 1;
    return away;
  };
  expect(await world.import()).toMatchObject({ existing: 3, stopped: undefined });
  expect(asked).toBe(2);
  // Nor for one that never answers.
  world.service.usage = undefined;
  world.service.onLookup = () => {
    world.stop.abort();
    return undefined;
  };
  expect(await world.import()).toMatchObject({ existing: 3 });
});

test('for all files of a run, the service is asked once, and where there is something to prove', async () => {
  world.service.features = ['lookup'];
  world.write('new.csv', 'url\nhttps://example.com/new\n');
  world.write('more.csv', 'url\nhttps://example.com/more\n');
  const more = { file: world.path('more.csv') };
  await world.import();
  await world.import(more);
  world.client = world.service.client();
  const { requests } = world.service;
  expect(await world.import()).toMatchObject({ existing: 3 });
  expect(await world.import(more)).toMatchObject({ existing: 1 });
  expect(world.service.requests).toBe(requests + 1);
  moveOn(['lookup']);
  world.client = world.service.client();
  expect(await world.import({ file: world.path('new.csv') })).toMatchObject({ created: 1 });
  // Its code is one that the other service has used as well.
  world.service.made.splice(0);
  await expect(world.import()).rejects.toMatchObject({ code: 'input' });
});

test('links are refused or not in whatever order they stand', async () => {
  world.service.features = ['lookup'];
  world.writeRows(60);
  await world.import(filled());
  loseJournal();
  world.service.made.splice(0, 30);
  expect(await world.import(filled())).toMatchObject({ existing: 60, created: 0 });
});

test('links at the address of the service itself need no proof, beside others of which one is known', async () => {
  world.service.features = ['lookup'];
  await world.import(filled());
  loseJournal();
  const own = (n: number, url: string) =>
    `x${n},https://example.com/x${n},x${n},${url},created,,\n`;
  const more = own(1, 'https://api.example/x1') + own(2, `${SHORT}/x2`);
  world.write('input.csv', `${world.read('input.csv')}${more}new,https://example.com/new,,,,,\n`);
  expect(await world.import(filled())).toMatchObject({ existing: 5, created: 1 });
});

test.each([401, 503])('a run with nothing to do needs no service: %s', async (status) => {
  await world.import(filled());
  loseJournal();
  moveOn(undefined);
  world.service.usage = () => ({ type: 'answer', status, body: { error: 'no' } });
  expect(await world.import(filled())).toMatchObject({ existing: 3, stopped: undefined });
});

test('nor one that fails when it is asked', async () => {
  await world.import(filled());
  loseJournal();
  moveOn(['lookup']);
  world.service.onLookup = () => ({ type: 'answer', status: 500, body: { error: 'no' } });
  expect(await world.import(filled())).toMatchObject({ existing: 3, stopped: undefined });
});

test('a service that can not be asked is trusted', async () => {
  await world.import();
  loseJournal();
  moveOn(undefined);
  expect(await world.import()).toMatchObject({ existing: 3, created: 0 });
});

test('one request asks whose links are, and none where the service can not be asked', async () => {
  world.service.features = ['lookup'];
  await world.import(filled());
  const { requests } = world.service;
  expect(await world.import(filled())).toMatchObject({ existing: 3 });
  expect(world.service.requests).toBe(requests + 1);
  world.service.features = undefined;
  expect(await world.import(filled())).toMatchObject({ existing: 3 });
  expect(world.service.requests).toBe(requests + 1);
});

test('results of the service that the journal knows are none of another one', async () => {
  await world.import({ baseUrl: 'https://other.example' });
  moveOn(undefined);
  expect(await world.import()).toMatchObject({ existing: 0, created: 3 });
});

test('results whose short URLs are on the host of the service are its own, whatever the journal knows of another one', async () => {
  const here = { baseUrl: SHORT };
  await world.import(here);
  loseJournal();
  await world.import({ baseUrl: 'https://other.example' });
  expect(await world.import(here)).toMatchObject({ existing: 3, created: 0 });
});

test('a host whose name begins like that of the service is another one', async () => {
  await world.import({ baseUrl: `${SHORT}.other` });
  loseJournal();
  const results = world.read('input.csv.results.csv');
  world.write('input.csv.results.csv', results.replaceAll(SHORT, `${SHORT}.other`));
  await world.import({ baseUrl: 'https://other.example' });
  world.write('input.csv.results.csv', results.replaceAll(SHORT, `${SHORT}.other`));
  expect(await world.import({ baseUrl: SHORT })).toMatchObject({ existing: 0, created: 3 });
});

test('of millions of links, a few of each address are kept to be asked for', () => {
  const named = new NamedLinks();
  for (let address = 0; address < 110; address += 1) {
    for (let n = 0; n < 25; n += 1) {
      const short_url = `https://s${address}.example/${n}`;
      named.add('input.csv', { code: `${n}`, short_url, made_for: '' });
    }
  }
  expect(named.samplesFor('https://s.example').map(({ length }) => length)).toEqual(
    Array(100).fill(20),
  );
});
