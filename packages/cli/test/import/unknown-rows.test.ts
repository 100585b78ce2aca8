import { rmSync } from 'node:fs';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import type { ImportSettings } from '../../src/import/types.ts';
import { ImportHarness } from './import-harness.ts';

let world: ImportHarness;
beforeEach(() => {
  world = new ImportHarness();
});
afterEach(() => world.dispose());

/** Two rows whose response was lost, filled into the file itself, as a CI runner commits it: without the journal. */
async function fillIn(name: 'input.csv' | 'input.jsonl', created = true): Promise<Settings> {
  const urls = ['https://example.com/1', 'https://example.com/2'];
  const settings = inPlace(name);
  world.write(name, fileOf(name, urls));
  world.service.fault = () => ({ type: 'lost', created });
  expect(await world.import(settings)).toMatchObject({ unknown: 2 });
  world.service.fault = () => undefined;
  loseJournal();
  return settings;
}

type Settings = Partial<ImportSettings> & { file: string };

const inPlace = (name: string): Settings => {
  const path = world.path(name);
  return { file: path, inPlace: true, output: path };
};
const fileOf = (name: string, urls: readonly string[]) =>
  name.endsWith('l')
    ? urls.map((url) => `${JSON.stringify({ url })}\n`).join('')
    : `url\n${urls.join('\n')}\n`;

function loseJournal(): void {
  for (const name of world.files()) if (/journal/.test(name)) rmSync(world.path(name));
}

describe.each(['input.csv', 'input.jsonl'] as const)('rows of %s that are unknown', (name) => {
  test.each([false, true])('are not sent without asking, idempotency: %s', async (idempotency) => {
    const settings = { ...(await fillIn(name)), idempotency };
    const filled = world.read(name);
    expect(await world.import(settings)).toMatchObject({
      unknown: 2,
      stopped: { reason: 'unknown', mustDecide: true },
    });
    expect(world.created()).toEqual({ links: 2, duplicates: 0 });
    expect(world.read(name)).toBe(filled);
  });

  test('are left alone with --on-unknown skip, and the others are sent', async () => {
    const settings = await fillIn(name);
    const filled = world.read(name);
    const added = name.endsWith('l')
      ? `${JSON.stringify({ url: 'https://example.com/3' })}\n`
      : 'https://example.com/3,,,,\n';
    world.write(name, filled + added);
    const skip = { ...settings, onUnknown: 'skip' } as const;
    expect(await world.import(skip)).toMatchObject({ unknown: 2, created: 1, stopped: undefined });
    expect(world.created()).toEqual({ links: 3, duplicates: 0 });
    expect(world.read(name).startsWith(filled)).toBe(true);
    // With the journal of that run, and a second row that asks for the same link.
    world.write(name, world.read(name) + added);
    expect(await world.import(skip)).toMatchObject({ unknown: 2, created: 1, existing: 1 });
  });

  test('are new where another target was written over theirs', async () => {
    const settings = await fillIn(name);
    world.write(name, world.read(name).replace('example.com/2', 'example.com/other'));
    const skip = { ...settings, onUnknown: 'skip' } as const;
    expect(await world.import(skip)).toMatchObject({ unknown: 1, created: 1, stopped: undefined });
    expect(world.created()).toEqual({ links: 3, duplicates: 0 });
  });

  test('are sent with --on-unknown retry, once', async () => {
    const settings = { ...(await fillIn(name, false)), onUnknown: 'retry' } as const;
    expect(await world.import(settings)).toMatchObject({ created: 2, unknown: 0 });
    expect(await world.import(settings)).toMatchObject({ created: 0, existing: 2 });
    expect(world.created()).toEqual({ links: 2, duplicates: 0 });
  });
});

test('of rows that say it of one link, the one that it was made for is unknown, and the edited one is new', async () => {
  const settings = inPlace('input.csv');
  world.write('input.csv', 'url,title\nhttps://example.com/1,One\n');
  world.service.fault = () => ({ type: 'lost', created: true });
  expect(await world.import(settings)).toMatchObject({ unknown: 1 });
  world.service.fault = () => undefined;
  const edited = world.read('input.csv').replace(',One,', ',Other,');
  world.write('input.csv', `${edited}https://example.com/1,One,,,,,\n`);
  const skip = { ...settings, onUnknown: 'skip' } as const;
  expect(await world.import(skip)).toMatchObject({ unknown: 1, created: 1 });
  expect(world.read('input.csv')).toMatch(/,Other,\S+,created,.*\n.*,One,,,unknown,/);
  expect(await world.import(skip)).toMatchObject({ unknown: 1, created: 0 });
});

test('unknown rows are not sent either where the file has another name now', async () => {
  await fillIn('input.csv');
  world.write('renamed.csv', world.read('input.csv'));
  expect(await world.import({ file: world.path('renamed.csv') })).toMatchObject({ unknown: 2 });
  expect(world.created()).toEqual({ links: 2, duplicates: 0 });
  expect(world.read('renamed.csv.results.csv')).toBe(world.read('input.csv'));
});

test.each([
  [true, { existing: 2, created: 0 }],
  [false, { existing: 0, created: 2 }],
])(
  'of unknown rows a service that can be asked says whether their links exist: %s',
  async (created, outcome) => {
    const settings = await fillIn('input.csv', created);
    world.service.features = ['lookup'];
    expect(await world.import(settings)).toMatchObject({ ...outcome, unknown: 0 });
    expect(world.created()).toEqual({ links: 2, duplicates: 0 });
  },
);

test('unknown rows are counted by a dry run', async () => {
  const settings = await fillIn('input.csv');
  const dry = { ...settings, dryRun: true };
  expect(await world.import(dry)).toMatchObject({ unknown: 2, unsent: 0 });
});

test.each([
  ['file', 'file', false, { unknown: 0, unsent: 2, forecast: { links: 2 } }],
  ['journal', 'journal', false, { unknown: 0, unsent: 2, forecast: { links: 2 } }],
  // The service may still say what became of it.
  ['journal, with a key', 'journal', true, { unknown: 2, unsent: 0 }],
] as const)(
  'a dry run with --on-unknown retry tells what would be sent of a %s',
  async (_, where, idempotency, planned) => {
    const settings = { ...inPlace('input.csv'), idempotency };
    world.write(
      'input.csv',
      fileOf('input.csv', ['https://example.com/1', 'https://example.com/2']),
    );
    world.service.fault = () => ({ type: 'lost', created: true });
    expect(await world.import(settings)).toMatchObject({ unknown: 2 });
    world.service.fault = () => undefined;
    if (where === 'file') loseJournal();
    const retry = { ...settings, onUnknown: 'retry' } as const;
    expect(await world.import({ ...retry, dryRun: true })).toMatchObject(planned);
    expect(await world.import({ ...retry, dryRun: true })).toMatchObject(planned);
    expect(await world.import(retry)).toMatchObject({ unknown: 0, created: 2 });
  },
);

describe('rows that are unknown in the file of --known', () => {
  const known = () => ({ known: [world.path('known.csv')] });
  beforeEach(async () => {
    await fillIn('input.csv');
    world.write('known.csv', world.read('input.csv'));
    world.write('input.csv', 'url\nhttps://example.com/2\nhttps://example.com/3\n');
  });

  test('are not sent without asking', async () => {
    expect(await world.import(known())).toMatchObject({
      unknown: 1,
      unsent: 1,
      stopped: { reason: 'unknown' },
    });
    expect(world.created()).toEqual({ links: 2, duplicates: 0 });
    expect(world.statuses()).toEqual(['unknown', 'unsent']);
  });

  test('are left or sent as --on-unknown says', async () => {
    const skip = { ...known(), onUnknown: 'skip' } as const;
    expect(await world.import(skip)).toMatchObject({ unknown: 1, created: 1 });
    expect(await world.import(skip)).toMatchObject({ unknown: 1, created: 0, existing: 1 });
    const retry = { ...known(), onUnknown: 'retry' } as const;
    expect(await world.import(retry)).toMatchObject({ unknown: 0, created: 1, existing: 1 });
    // The journal knows the link now, which goes before what the file says.
    expect(await world.import(known())).toMatchObject({ unknown: 0, created: 0, existing: 2 });
  });
});

describe('what the journal knows of a row goes before what the file says', () => {
  const one = 'url,title,code,short_url,status,error\nhttps://example.com/1,A,,,unknown,lost\n';

  test.each([
    ['exists', () => undefined, { created: 1, unknown: 0 }],
    [
      'was refused',
      () => ({ type: 'answer', status: 422, body: { error: 'no' } }) as const,
      { created: 0, failed: 1, unknown: 0 },
    ],
  ])('where its link %s', async (_, fault, outcome) => {
    const settings = { ...inPlace('input.csv'), idempotency: true };
    world.write('input.csv', 'url,title\nhttps://example.com/1,A\n');
    world.service.fault = () => ({ type: 'lost', created: false });
    await world.import(settings);
    expect(world.read('input.csv')).toContain('unknown');
    world.service.fault = fault;
    expect(await world.import(settings)).toMatchObject(outcome);
  });

  test.each([
    ['was refused', true, { created: 1, unknown: 0 }],
    ['was forgotten, which says nothing of it,', false, { created: 0, unknown: 1 }],
  ])(
    'where its link %s by a run that has not written the file',
    async (_, idempotency, outcome) => {
      const settings = { ...inPlace('input.csv'), idempotency };
      world.write('input.csv', 'url,title\nhttps://example.com/1,A\n');
      world.service.fault = () => ({ type: 'lost', created: false });
      await world.import(settings);
      world.service.fault = () => ({ type: 'answer', status: 422, body: { error: 'no' } });
      world.onEvent = ({ type }) => {
        if (type === 'compared') world.hardStop.abort();
      };
      await world.import({ ...settings, onUnknown: 'retry' });
      expect(world.read('input.csv')).toContain('unknown');
      world.onEvent = () => undefined;
      world.service.fault = () => undefined;
      expect(await world.import(settings)).toMatchObject(outcome);
    },
  );

  test('so that a second row with the same link is new', async () => {
    const settings = inPlace('input.csv');
    world.write('input.csv', 'url,title\nhttps://example.com/1,A\n');
    await world.import(settings);
    // The report of that run was lost.
    world.write('input.csv', `${one}https://example.com/1,B,,,,\n`);
    expect(await world.import(settings)).toMatchObject({ created: 1, existing: 1, unknown: 0 });
  });
});

test('what the cells of one row doubt is another link than that of a row of the same target which is sent', async () => {
  const filled = await fillIn('input.csv');
  const settings = { ...filled, onUnknown: 'skip', idempotency: true } as const;
  world.write('input.csv', `${world.read('input.csv')}https://example.com/1,,,,,\n`);
  world.service.fault = () => ({ type: 'lost', created: true });
  expect(await world.import(settings)).toMatchObject({ unknown: 3, unsent: 0 });
  expect(await world.import(settings)).toMatchObject({ unknown: 3, unsent: 0 });
  expect(world.service.made).toHaveLength(3);
});

test('a row is in doubt only where no link of its kind is known, in whatever order the rows stand', async () => {
  const [b, a] = ['https://example.com/b', 'https://example.com/a'];
  const policy = { onUnknown: 'skip', batchSize: 1, concurrency: 1 } as const;
  world.write('input.csv', fileOf('input.csv', [b, b, a]));
  world.service.fault = (n) => (n === 0 ? { type: 'lost', created: false } : undefined);
  expect(await world.import(policy)).toMatchObject({ created: 2, unknown: 1 });
  for (const urls of [
    [b, a],
    [a, b],
  ]) {
    world.write('input.csv', fileOf('input.csv', urls));
    expect(await world.import(policy), urls[0]).toMatchObject({ existing: 2, unknown: 0 });
  }
});

test.each([1, 0])(
  'rows that a response of %i results has left out are not sent again where nobody can be asked, nor is their batch in the next run',
  async (count) => {
    const idempotency = true;
    world.service.fault = (_, links) => {
      const results = links.slice(0, count).map(({ target_url }) => {
        return { target_url, code: 'x', short_url: 'https://s.example/x' };
      });
      const body = { status: 'completed', total: links.length, results };
      return { type: 'answer', status: 200, body };
    };
    world.write('input.csv', 'url\nhttps://example.com/1\nhttps://example.com/2\n');
    const unknown = 2 - count;
    const first = await world.import({ onUnknown: 'retry', idempotency });
    expect(first).toMatchObject({ created: count, unknown });
    expect(await world.import({ idempotency })).toMatchObject({ existing: count, unknown });
    expect(world.service.asked).toHaveLength(1);
  },
);
