import { cpSync, mkdirSync, renameSync, rmSync } from 'node:fs';
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { readUsage } from '../../../sdk/src/wire/usage.ts';
import { madeLink } from '../../../sdk/test/scripted-service/service.ts';
import type { ImportSettings } from '../../src/import/types.ts';
import { ImportHarness } from './import-harness.ts';

let world: ImportHarness;
beforeEach(() => {
  world = new ImportHarness();
  world.service.features = ['idempotency', 'lookup'];
});
afterEach(() => {
  vi.useRealTimers();
  world.dispose();
});

const file = (...rows: string[]) => ['url,title', ...rows, ''].join('\n');
const row = (n: number, title = `T${n}`) => `https://example.com/${n},${title}`;
const codesOf = (name?: string) =>
  world
    .table(name)
    .slice(1)
    .map((cells) => cells.at(-4));

/** Everything that remembers goes, but for the input. */
function loseAll(but = 'input.csv'): void {
  for (const name of world.files()) if (name !== but) rmSync(world.path(name));
}

const lost = () => {
  loseAll();
  return {};
};

test('the link of a row with another redirect type is not given to a row with another title', async () => {
  const rows = (...lines: string[]) =>
    ['url,title,redirect_type', ...lines.map((line) => `https://example.com/1,${line}`), ''].join(
      '\n',
    );
  world.write('input.csv', rows('T,', 'T,307'));
  await world.import();
  loseAll();
  world.write('input.csv', rows('A,307', 'T,301', 'A,307'));
  const create = { onSimilar: 'create' } as const;
  expect(await world.import(create)).toMatchObject({ created: 2, existing: 1, changed: 1 });
  expect(await world.import(create)).toMatchObject({ created: 0, existing: 3 });
});

describe('short URLs that begin with another address by now are no other links', () => {
  const inPlace = () => ({ inPlace: true, output: world.path('input.csv') });
  const call = (name: string) => () =>
    world.write(name, world.read(name).replaceAll('s.example', 'sho.rt'));
  const forget = () => rmSync(world.path('input.csv.shortlink-journal'));
  test.each<[string, () => Partial<ImportSettings>, () => void]>([
    ['the journal', () => ({}), () => undefined],
    ['results', () => ({}), forget],
    ['cells of rows', inPlace, forget],
    ['cells of rows and the journal', inPlace, () => undefined],
    [
      'cells of rows, where somebody has written the new address, and the journal',
      inPlace,
      call('input.csv'),
    ],
    [
      'results, where somebody has written it, and the journal',
      () => ({}),
      call('input.csv.results.csv'),
    ],
  ])('than those of %s', async (_, settingsOf, between) => {
    const settings = settingsOf();
    world.write('input.csv', file(row(1), row(2)));
    await world.import(settings);
    between();
    Object.assign(world.service, { short: 'https://sho.rt/' });
    const commas = settings.inPlace ? ',,,,,' : '';
    const added = [row(1), row(2, 'Other')].map((line) => `${line}${commas}\n`);
    world.write('input.csv', world.read('input.csv') + added.join(''));
    const found = { existing: 2, created: 2, changed: 0, gone: 0 };
    expect(await world.import(settings)).toMatchObject(found);
    expect(new Set(codesOf(settings.inPlace ? 'input.csv' : undefined)).size).toBe(4);
    expect(await world.import(settings)).toMatchObject({ existing: 4, created: 0, gone: 0 });
    expect(world.service.made).toHaveLength(4);
  });
});

test('nor where the new address is a folder of the old one, whose short URLs stand between the others', async () => {
  const codes = ['a1', 'm2', 'z3', 'b4'];
  world.service.codeOf = (number) => codes[number] ?? '';
  world.service.features = undefined;
  world.write('input.csv', file(row(1), row(2), row(3)));
  await world.import();
  const results = world.read('input.csv.results.csv');
  world.write('input.csv.results.csv', results.replaceAll('s.example/', 's.example/go/'));
  world.write('input.csv', file(row(1), row(2), row(3), row(1)));
  expect(await world.import()).toMatchObject({ existing: 3, created: 1 });
  expect(codesOf()).toEqual(codes);
});

test('of two links with one target, only that with the code is the one that results name by another address', async () => {
  world.write('input.csv', file(row(1)));
  await world.import();
  const results = world.read('input.csv.results.csv');
  world.write('input.csv', file(row(1), row(1)));
  await world.import();
  rmSync(world.path('input.csv.shortlink-journal'));
  world.write('input.csv.results.csv', results);
  Object.assign(world.service, { short: 'https://sho.rt/' });
  expect(await world.import()).toMatchObject({ existing: 2, created: 0 });
  expect(new Set(codesOf()).size).toBe(2);
});

test('a service that gives one part of its links again and again is asked for it once more', async () => {
  world.write('input.csv', file(row(1)));
  await world.import();
  loseAll();
  const link = {
    id: '1',
    code: 'a',
    short_url: 'https://s.example/a',
    target_url: '',
    title: 'T1',
  };
  const results = [{ links: [link], more: true }];
  const again = { type: 'answer', status: 200, body: { results } } as const;
  const enough = { type: 'answer', status: 400, body: { error: 'enough' } } as const;
  world.service.onLookup = (n) => (n < 10 ? again : enough);
  expect(await world.import()).toMatchObject({ created: 0, existing: 1 });
  expect(world.service.lookups).toHaveLength(2);
});

test('a link that was found before the look-up failed is recorded', async () => {
  world.write('input.csv', file(row(1)));
  await world.import();
  loseAll();
  const [code, short_url] = ['0000001', 'https://s.example/0000001'];
  const link = { id: '1', code, short_url, target_url: '', title: 'T1' };
  const part = { status: 200, body: { results: [{ links: [link], more: true }] } } as const;
  const error = { status: 400, body: { error: 'enough' } } as const;
  world.service.onLookup = (n) => ({ type: 'answer', ...(n === 1 ? part : error) });
  expect((await world.import()).stopped?.reason).toBe('error');
  world.service.features = [];
  loseAll('input.csv.shortlink-journal');
  world.write('input.csv', file(row(1)));
  expect(await world.import()).toMatchObject({ created: 0, existing: 1 });
});

describe('with a service that can be asked, nothing has to be remembered', () => {
  test.each<[string, () => { file?: string }]>([
    ['journal and results are gone', lost],
    ['a CI run starts from the checkout', lost],
    [
      'the file was renamed',
      () => {
        loseAll();
        renameSync(world.path('input.csv'), world.path('other.csv'));
        return { file: world.path('other.csv') };
      },
    ],
    [
      'another machine',
      () => {
        mkdirSync(world.path('there'));
        cpSync(world.path('input.csv'), world.path('there/input.csv'));
        loseAll('there');
        return { file: world.path('there/input.csv') };
      },
    ],
  ])('%s: the same rows get the same links', async (_, lose) => {
    const rows = Array.from({ length: 40 }, (_row, n) => row(n));
    world.write('input.csv', file(...rows));
    await world.import();
    const codes = codesOf();
    const settings = lose();
    const name = settings.file ?? world.path('input.csv');
    const relative = name.slice(world.directory.length + 1);
    world.write(relative, file(...rows, row(99)));
    const summary = await world.import(settings);
    expect(summary).toMatchObject({ created: 1, existing: 40, changed: 0, unknown: 0 });
    expect(codesOf(`${relative}.results.csv`).slice(0, 40)).toEqual(codes);
    expect(world.service.made).toHaveLength(41);
    // And the next one asks only whose links they are.
    const { requests } = world.service;
    expect(await world.import(settings)).toMatchObject({ existing: 41, requests: 1 });
    expect(world.service.requests).toBe(requests + 1);
  });

  test('equal rows take equal links, oldest first, wherever they stand, over all pages of an answer', async () => {
    world.service.mostFound = 2;
    const twins = Array.from({ length: 5 }, () => row(1));
    world.write('input.csv', file(...twins, row(2)));
    await world.import();
    loseAll();
    world.write('input.csv', file(row(2), ...twins, row(1)));
    expect(await world.import()).toMatchObject({ created: 1, existing: 6 });
    expect(codesOf()).toEqual([
      '0000006',
      '0000001',
      '0000002',
      '0000003',
      '0000004',
      '0000005',
      '0000007',
    ]);
  });

  test.each<[string, Partial<ImportSettings>, boolean]>([
    ['with the journal', {}, false],
    ['in place, with the journal', { inPlace: true }, false],
    ['in place, without it', { inPlace: true }, true],
  ])(
    'a link that its operator has led to the corrected target stays: %s',
    async (_, mode, isLost) => {
      const settings = mode.inPlace === true ? { ...mode, output: world.path('input.csv') } : mode;
      world.write('input.csv', file(row(1), row(1), row(2)));
      await world.import(settings);
      const codes = codesOf(mode.inPlace === true ? 'input.csv' : undefined);
      const [, corrected] = world.service.made;
      if (corrected !== undefined) corrected.target = 'https://example.com/3';
      if (isLost) loseAll();
      const lines = world.read('input.csv').split('\n');
      world.write('input.csv', lines.with(2, lines[2]?.replace('/1,', '/3,') ?? '').join('\n'));
      const again = await world.import(settings);
      expect(again).toMatchObject({ created: 0, existing: 3, gone: 0 });
      expect(world.events.filter(({ type }) => type === 'warning')).toEqual([]);
      expect(codesOf(mode.inPlace === true ? 'input.csv' : undefined)).toEqual(codes);
      // The next run knows it without asking, and gives the link to nobody else.
      const { requests } = world.service;
      expect(await world.import(settings)).toMatchObject({ existing: 3, gone: 0 });
      expect(world.service.requests).toBe(requests + 1);
      world.write('input.csv', `${world.read('input.csv')}${row(1)}\n`);
      expect(await world.import(settings)).toMatchObject({ created: 1, existing: 3 });
    },
  );

  test.each([
    ['have changed places', true, ['2,A', '1,B', '3,C']],
    ['have changed places, without titles', true, ['2,', '1,', '3,']],
    ['lead one to the old target of the next', true, ['2,A', '9,B', '3,C']],
    ['lead one to the old target of the next', false, ['2,A', '9,B', '3,C']],
  ])(
    'links that their operator has corrected stay those of their rows where they %s; in place: %s',
    async (_, inPlace, corrected) => {
      const settings = inPlace ? { inPlace, output: world.path('input.csv') } : {};
      world.write('input.csv', file(...corrected.map((text, n) => row(n + 1, text.slice(2)))));
      await world.import(settings);
      const lines = world.read('input.csv').split('\n');
      corrected.forEach(([digit = ''], index) => {
        const link = world.service.made[index];
        if (link !== undefined) link.target = `https://example.com/${digit}`;
        lines[index + 1] = lines[index + 1]?.replace(/\d/, digit) ?? '';
      });
      world.write('input.csv', lines.join('\n'));
      expect(await world.import(settings)).toMatchObject({ created: 0, existing: 3, changed: 0 });
      expect(codesOf(inPlace ? 'input.csv' : undefined)).toEqual(['0000001', '0000002', '0000003']);
      // The next run knows it without asking.
      const { requests } = world.service;
      expect(await world.import(settings)).toMatchObject({ existing: 3, changed: 0 });
      expect(world.service.requests).toBe(requests + 1);
    },
  );

  test('titles that changed places are no reason to ask', async () => {
    world.write('input.csv', file(row(1), row(2)));
    await world.import();
    world.write('input.csv', file(row(1, 'T2'), row(2, 'T1')));
    world.service.usage = () => ({ type: 'answer', status: 503, body: { error: 'away' } });
    expect(await world.import()).toMatchObject({ existing: 2, changed: 2, stopped: undefined });
    expect(codesOf()).toEqual(['0000001', '0000002']);
  });

  test('links that differ in how they redirect find their rows, wherever these stand', async () => {
    const rows = [
      'url,title,redirect_type',
      'https://example.com/1,T,',
      'https://example.com/1,T,301',
    ];
    world.write('input.csv', `${rows.join('\n')}\n`);
    await world.import();
    const [plain, permanent] = codesOf();
    loseAll();
    world.write(
      'input.csv',
      `${rows.with(1, rows[2] ?? '').with(2, 'https://example.com/1,T,302')}\n`.replaceAll(
        /,(?=https)/g,
        '\n',
      ),
    );
    expect(await world.import()).toMatchObject({ created: 0, existing: 2, changed: 0 });
    expect(codesOf()).toEqual([permanent, plain]);
    // Nor does one of them take the other's where it stands alone.
    loseAll();
    world.write('input.csv', `${rows[0]}\n${rows[2]}\n`);
    expect(await world.import()).toMatchObject({ created: 0, existing: 1, changed: 0 });
    expect(codesOf()).toEqual([permanent]);
    // A row that asks for another redirect than its link has was edited.
    loseAll();
    world.write('input.csv', `${rows[0]}\n${rows[1]}307\n${rows[2]}\n`);
    expect(await world.import()).toMatchObject({ created: 0, existing: 2, changed: 1 });
  });

  test('a link that its operator has led elsewhere stays that of the row which still asks for the old target', async () => {
    world.write('input.csv', file(row(1)));
    await world.import();
    const [link] = world.service.made;
    if (link !== undefined) link.target = 'https://example.com/2';
    world.write('input.csv', file(row(1), row(2)));
    expect(await world.import()).toMatchObject({ created: 1, existing: 1 });
    expect(codesOf()).toEqual(['0000001', '0000002']);
  });

  test('a look-up that fails half-way gives no link to two rows', async () => {
    world.service.mostFound = 2;
    const twins = Array.from({ length: 5 }, () => row(1));
    world.write('input.csv', file(...twins));
    await world.import();
    world.write('input.csv', file(...twins, row(1)));
    world.service.onLookup = (n) =>
      n === 2 ? { type: 'answer', status: 501, body: { error: 'Something failed' } } : undefined;
    expect(await world.import()).toMatchObject({
      ...{ created: 0, existing: 5, unsent: 1 },
      stopped: { reason: 'error' },
    });
    expect(codesOf()).toEqual(['0000001', '0000002', '0000003', '0000004', '0000005', '']);
  });

  test.each([
    ['of two rows', ['First', 'Second'], []],
    ['of three rows, two of them equal', ['First', 'First', 'Second'], []],
    ['beside a row that was not created', ['First', 'Third', 'Second'], ['Third']],
  ])(
    'rows of one target share its links, where a response gives one to a wrong row: %s',
    async (_, titles, left) => {
      const { service } = world;
      service.features = ['lookup'];
      const link = (code: string, title: string) => {
        const target_url = 'https://example.com/1';
        return {
          target_url,
          title,
          id: `id-${code}`,
          code,
          short_url: `https://s.example/${code}`,
        };
      };
      // Somebody else's, and older.
      service.made.push(madeLink('other', link('other', 'Other'), 0));
      const made = titles
        .filter((title) => title !== 'Third')
        .map((title, n) => link(`made${n}`, title));
      const body = { total: 2, results: made.slice(-1) };
      service.fault = (n) => {
        if (n > 0) return undefined;
        service.made.push(...made.map((sent) => madeLink(sent.code, sent, 0)));
        return { type: 'answer', status: 200, body };
      };
      const settings = { onSimilar: 'create' } as const;
      world.write('input.csv', file(...titles.map((title) => row(1, title))));
      const all = { created: titles.length, unknown: 0, unsent: 0 };
      expect(await world.import(settings)).toMatchObject(all);
      const again = service.asked.slice(1).flat();
      expect(again.map(({ title }) => title)).toEqual(left);
      expect(codesOf()).toEqual(expect.arrayContaining(made.map(({ code }) => code)));
    },
  );

  test('a link that an operator has led to the new target of its row leads to no old one', async () => {
    const filled = { inPlace: true, output: world.path('input.csv') };
    world.write('input.csv', file(row(1)));
    await world.import(filled);
    rmSync(world.path('input.csv.shortlink-journal'));
    world.write('input.csv', world.read('input.csv').replace('com/1', 'com/2'));
    for (const link of world.service.made) link.target = 'https://example.com/2';
    expect(await world.import(filled)).toMatchObject({ existing: 1, created: 0 });
    expect(world.events.filter(({ type }) => type === 'warning')).toEqual([]);
  });

  test('the domain is a part of what is asked', async () => {
    world.write('input.csv', 'url,domain_id\nhttps://a.example,\nhttps://a.example,dom\n');
    await world.import();
    loseAll();
    expect(await world.import()).toMatchObject({ created: 0, existing: 2 });
    expect(codesOf()).toEqual(['0000001', '0000002']);
  });

  test('is asked in requests of 10,000, and not at all where the account has no link', async () => {
    world.write('input.csv', file(row(0), row(10_000)));
    await world.import();
    expect(world.service.lookups).toEqual([]);
    loseAll();
    world.write('input.csv', file(...Array.from({ length: 10_001 }, (_, n) => row(n))));
    expect(await world.import()).toMatchObject({ created: 9_999, existing: 2 });
    expect(world.service.lookups.map((targets) => targets.length)).toEqual([10_000, 1]);
  });

  test('a dry run asks too', async () => {
    world.write('input.csv', file(row(1), row(2)));
    await world.import();
    loseAll();
    world.write('input.csv', file(row(1), row(3)));
    expect(await world.import({ dryRun: true })).toMatchObject({
      existing: 1,
      unsent: 1,
      forecast: { links: 1 },
    });
  });

  test.each([true, false])(
    'a run that is interrupted while it asks ends like any other (a dry one: %s)',
    async (dryRun) => {
      world.write('input.csv', file(row(1)));
      await world.import();
      loseAll();
      vi.spyOn(world.service.lookups, 'push').mockImplementation(() => {
        world.hardStop.abort(new Error('Interrupted'));
        return 1;
      });
      expect(await world.import({ dryRun })).toMatchObject({
        unsent: 1,
        stopped: { reason: 'interrupted' },
      });
    },
  );

  test('--restart asks for nothing', async () => {
    world.write('input.csv', file(row(1)));
    await world.import();
    expect(await world.import({ restart: true })).toMatchObject({ created: 1 });
    expect(world.service.lookups).toEqual([]);
  });

  test('a response that says nothing is not taken for a service without look-up', async () => {
    world.write('input.csv', file(row(1)));
    await world.import();
    loseAll();
    world.service.usage = () => {
      world.service.usage = undefined;
      return { type: 'answer', status: 200, body: {} };
    };
    expect(await world.import()).toMatchObject({ created: 0, existing: 1 });
  });

  test('what it offers can not be known: nothing is sent', async () => {
    world.service.usage = () => ({ type: 'answer', status: 500, body: [] });
    world.write('input.csv', file(row(1)));
    expect(await world.import()).toMatchObject({
      created: 0,
      unsent: 1,
      stopped: { reason: 'error' },
    });
    expect(world.service.asked).toEqual([]);
  });
});

describe('links with another title', () => {
  beforeEach(async () => {
    world.write('input.csv', file(row(1), row(2)));
    await world.import();
    loseAll();
    world.write('input.csv', file(row(1, 'other'), row(2), row(3)));
  });

  test('stop the run before anything is sent, with the lines', async () => {
    const asked = world.service.asked.length;
    await expect(world.import()).rejects.toMatchObject({
      code: 'input',
      message: expect.stringContaining('line 2: https://s.example/0000001'),
      hint: expect.stringContaining('--on-similar reuse'),
    });
    expect(world.service.asked).toHaveLength(asked);
  });

  test('are named one for each of equal rows, as they are used, and again where there are more rows', async () => {
    world.write('input.csv', file(row(4), row(4), row(4)));
    await world.import({ onSimilar: 'create' });
    const codes = codesOf();
    loseAll();
    const edited = file(...Array<string>(4).fill(row(4, 'other')), row(1, 'other'));
    world.write('input.csv', edited);
    const [a, b, c] = codes.map((code) => `https://s.example/${code}`);
    await expect(world.import()).rejects.toThrow(
      `5 rows ask for links to targets that have some already, which could be theirs or others. Only the service knows of them (line 2: ${a}, line 3: ${b}, line 4: ${c}, line 5: ${a}, line 6: https://s.example/0000001), so`,
    );
    await world.import({ onSimilar: 'reuse' });
    expect(codesOf().slice(0, 3)).toEqual(codes);
  });

  test('are used with --on-similar reuse, also by later runs, and the rows are reported as changed', async () => {
    const reused = { created: 1, existing: 2, changed: 1 };
    expect(await world.import({ onSimilar: 'reuse' })).toMatchObject(reused);
    expect(codesOf()).toEqual(['0000001', '0000002', '0000003']);
    expect(await world.import()).toMatchObject({ created: 0, existing: 3, changed: 1 });
  });

  test('are those of rows that the results call unknown, whatever title these have now', async () => {
    world.write(
      'input.csv.results.csv',
      `url,title,code,short_url,status,error,made_for\n${row(1)},,,unknown,lost,\n${row(2)},,,unknown,lost,\n`,
    );
    expect(await world.import()).toMatchObject({ created: 1, existing: 2, changed: 1 });
    expect(codesOf()).toEqual(['0000001', '0000002', '0000003']);
  });

  test('are those of rows whose own cells say that they were asked for with it, before the title was edited', async () => {
    loseAll('none');
    const settings = {
      inPlace: true,
      output: world.path('input.csv'),
      idempotency: false,
    } as const;
    const skip = { ...settings, onUnknown: 'skip' } as const;
    world.write('input.csv', 'url,title,redirect_type\nhttps://example.com/4,T4,307\n');
    world.service.fault = () => ({ type: 'lost', created: true });
    world.service.features = [];
    await world.import(skip);
    world.service.fault = () => undefined;
    world.write('input.csv', world.read('input.csv').replace('T4', 'other'));
    loseAll();
    // The cell still says it after a run that could ask nobody.
    expect(await world.import(skip)).toMatchObject({ unknown: 1 });
    loseAll();
    world.service.features = ['lookup'];
    world.write('input.csv', `${world.read('input.csv')}https://example.com/4,other,307,,,,,\n`);
    const create = { ...settings, onSimilar: 'create' } as const;
    expect(await world.import(create)).toMatchObject({ created: 1, existing: 1, changed: 1 });
    const codes = world.table('input.csv').map((cells) => cells[3]);
    expect(codes).toEqual(['code', '0000003', '0000004']);
    expect(await world.import(create)).toMatchObject({ created: 0, existing: 2, changed: 1 });
  });

  test('are left alone with --on-similar create', async () => {
    expect(await world.import({ onSimilar: 'create' })).toMatchObject({ created: 2, existing: 1 });
    expect(await world.import()).toMatchObject({ created: 0, existing: 3, changed: 0 });
  });
});

test('a service that leaves the counts of its usage out is asked all the same', async () => {
  const read = readUsage({ plan: 'custom', features: ['lookup'] });
  if (!('data' in read)) throw new Error('no field of the usage is required');
  world.service.usage = () => read.data;
  world.write('input.csv', file(row(1), row(2)));
  expect(await world.import()).toMatchObject({ created: 2 });
  loseAll();
  expect(await world.import()).toMatchObject({ created: 0, existing: 2 });
});

describe('where the usage is a page, as of a website', () => {
  const page = { type: 'answer', status: 302, body: {}, headers: { Location: '/login' } } as const;
  beforeEach(() => world.write('input.csv', file(row(1))));

  test.each([page, { type: 'answer', status: 200, body: [] }] as const)(
    'a service that knows of no job has no usage, and rows are sent',
    async (shown) => {
      world.service.usage = () => shown;
      expect(await world.import()).toMatchObject({ created: 1, stopped: undefined });
    },
  );

  test('the login of a network has answered for jobs too, so that nothing is sent', async () => {
    world.service.usage = () => page;
    world.service.onPoll = () => page;
    expect(await world.import()).toMatchObject({ created: 0, stopped: { reason: 'error' } });
    expect(world.service.asked).toEqual([]);
  });

  test('for a moment, the usage is asked for again', async () => {
    await world.import();
    loseAll();
    let pages = 1;
    const { usage } = world.service;
    Object.defineProperty(world.service, 'usage', {
      get: () => (pages-- > 0 ? () => page : usage),
    });
    expect(await world.import()).toMatchObject({ created: 0, existing: 1 });
  });
});

describe('a batch in flight at a crash', () => {
  test.each([true, false])(
    'is settled, so that no row is unknown: carried out %s',
    async (created) => {
      for (const idempotency of [undefined, false]) {
        world.service = new (world.service.constructor as new () => typeof world.service)();
        world.service.features = ['idempotency', 'lookup'];
        world.write('input.csv', file(row(1), row(1), row(2)));
        const at = Date.now();
        world.wallClock = () => at;
        world.service.fault = () => ({ type: 'killed', created });
        world.onEvent = ({ type }) => {
          if (type === 'batch-sent') setTimeout(() => world.hardStop.abort(), 20);
        };
        await world.import({ idempotency });
        world.onEvent = () => undefined;
        world.service.fault = () => undefined;
        // A day later, no key is known any more.
        world.wallClock = () => at + 25 * 3_600_000;
        expect(await world.import({ idempotency })).toMatchObject({
          created: 3,
          unknown: 0,
          unsent: 0,
        });
        expect(world.service.made).toHaveLength(3);
        expect(world.service.lookups).toHaveLength(1);
        loseAll();
      }
    },
  );

  test('is not sent again under a key that may be forgotten, though the clock was set back', async () => {
    world.write('input.csv', file(row(1)));
    const at = Date.now();
    world.wallClock = () => at;
    world.uptime = () => 1_000;
    world.service.fault = () => ({ type: 'killed', created: true });
    world.onEvent = ({ type }) => {
      if (type === 'batch-sent') setTimeout(() => world.hardStop.abort(), 20);
    };
    await world.import({ idempotency: undefined });
    world.onEvent = () => undefined;
    world.service.fault = () => undefined;
    world.wallClock = () => at + 14 * 3_600_000;
    world.uptime = () => 25 * 3_600_000;
    expect(await world.import({ idempotency: undefined })).toMatchObject({
      created: 1,
      unknown: 0,
    });
    expect(world.service.asked).toHaveLength(1);
  });

  test('is looked up, and not sent again under its key, since a run without this journal may have created its links', async () => {
    world.write('input.csv', file(row(1), row(2)));
    let passedMs = 0;
    const at = Date.now();
    world.wallClock = () => at + passedMs;
    world.service.fault = () => ({ type: 'killed', created: false });
    world.onEvent = ({ type }) => {
      if (type === 'batch-sent') setTimeout(() => world.hardStop.abort(), 20);
    };
    await world.import({ idempotency: undefined });
    world.onEvent = () => undefined;
    world.service.fault = () => undefined;
    const journal = world.path('input.csv.shortlink-journal');
    cpSync(journal, world.path('kept'));
    loseAll('kept');
    world.write('input.csv', file(row(2)));
    passedMs = 3_600_000;
    expect(await world.import({ idempotency: undefined })).toMatchObject({ created: 1 });
    loseAll('kept');
    renameSync(world.path('kept'), journal);
    world.write('input.csv', file(row(1), row(2)));
    passedMs = 2 * 3_600_000;
    const after = await world.import({ idempotency: undefined });
    expect(after).toMatchObject({ unknown: 0, unsent: 0 });
    expect(world.service.made.map(({ target }) => target)).toEqual(
      [2, 1].map((n) => `https://example.com/${n}`),
    );
  });

  test.each([
    ['is over', 0],
    ['is over, though the clock was set forward meanwhile', 31 * 3_600_000],
  ])('is not looked up before a minute %s', async (_, jumpMs) => {
    const none = { idempotency: false, batchSize: 1 } as const;
    world.write('input.csv', file(row(1)));
    await world.import(none);
    world.write('input.csv', file(row(1), row(2)));
    world.service.fault = () => ({ type: 'lost', created: true });
    const at = Date.now();
    let isSent = false;
    world.onEvent = ({ type }) => {
      isSent ||= type === 'batch-sent';
    };
    world.wallClock = () => at + (isSent ? jumpMs : 0);
    world.uptime = () => at;
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
    const running = world.import(none);
    while (!world.events.some(({ type }) => type === 'warning')) await new Promise(setImmediate);
    const lookups = world.service.lookups.length;
    await vi.advanceTimersByTimeAsync(59_000);
    expect(world.service.lookups).toHaveLength(lookups);
    await vi.advanceTimersByTimeAsync(1_000);
    expect(await running).toMatchObject({ created: 1, existing: 1, unknown: 0 });
    expect(world.service.made).toHaveLength(2);
  });

  test('is not looked up before a minute is over since it was sent for the last time', async () => {
    const none = { idempotency: false, batchSize: 1, maxWaitMs: 60_000 } as const;
    world.write('input.csv', file(row(1)));
    await world.import(none);
    world.write('input.csv', file(row(1), row(2)));
    world.service.fault = (n) =>
      n === 1
        ? { type: 'answer', status: 429, body: {}, headers: { 'Retry-After': '50' } }
        : { type: 'lost', created: true };
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'Date', 'performance'] });
    world.wallClock = () => Date.now();
    world.maxRetries = 1;
    const running = world.import(none);
    const passUntil = async (isDone: () => boolean) => {
      while (!isDone()) {
        await new Promise(setImmediate);
        await vi.advanceTimersByTimeAsync(100);
      }
    };
    await passUntil(() => world.service.asked.length === 3);
    await passUntil(() => world.events.some(({ type }) => type === 'warning'));
    const lookups = world.service.lookups.length;
    await vi.advanceTimersByTimeAsync(57_000);
    expect(world.service.lookups).toHaveLength(lookups);
    await vi.advanceTimersByTimeAsync(3_000);
    expect(await running).toMatchObject({ created: 1, existing: 1, unknown: 0 });
    expect(world.service.made).toHaveLength(2);
  });

  test('is not waited for once the user stops the run', async () => {
    world.write('input.csv', file(row(1)));
    world.service.fault = () => ({ type: 'lost', created: true });
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
    world.onEvent = ({ type }) => type === 'warning' && setImmediate(() => world.stop.abort());
    const stopped = await world.import({ idempotency: false });
    expect(stopped).toMatchObject({ unknown: 1, stopped: { reason: 'interrupted' } });
  });

  test.each([
    [59_999, 59_999, 1],
    [60_000, 60_000, 0],
    // The machine may have slept, and its own clock with it.
    [3_600_000, 59_999, 0],
  ])(
    'is sent again under its key while it may be under way, and then looked up: after %s ms, of which the machine has run %s ms',
    async (ageMs, ranMs, requests) => {
      world.service.features = ['idempotency', 'lookup'];
      world.write('input.csv', file(row(1)));
      let [passedMs, uptimeMs] = [0, 1_000];
      const at = Date.now();
      world.wallClock = () => at + passedMs;
      world.uptime = () => uptimeMs;
      world.service.fault = () => {
        setTimeout(() => world.hardStop.abort(), 20);
        return { type: 'killed', created: true };
      };
      await world.import({ idempotency: undefined });
      // The last time counts.
      passedMs += 30_000;
      uptimeMs += 30_000;
      await world.import({ idempotency: undefined });
      world.service.fault = () => undefined;
      const asked = world.service.asked.length;
      passedMs += ageMs;
      uptimeMs += ranMs;
      expect(await world.import({ idempotency: undefined })).toMatchObject({ created: 1 });
      expect(world.service.asked.length - asked).toBe(requests);
      expect(world.service.made).toHaveLength(1);
    },
  );

  test('is settled by asking where its job can not be polled, and is no reason to stop for rows of other titles', async () => {
    world.service.traits.syncLinks = 0;
    world.service.onPoll = () => ({ type: 'answer', status: 404, body: { error: 'no such job' } });
    const rows = [row(1), row(1, 'other'), row(2)];
    world.write('input.csv', file(...rows));
    let looks = 0;
    world.wallClock = () => looks++ * 120_000;
    const none = { idempotency: false, limit: 2 } as const;
    expect(await world.import(none)).toMatchObject({ created: 2, unknown: 0, unsent: 1 });
    world.write('input.csv', file(row(1, 'third'), ...rows));
    world.service.fault = (n) => (n === 1 ? { type: 'lost', created: true } : undefined);
    const { limit: _, ...all } = none;
    const similar = await world.import({ ...all, onSimilar: 'create' });
    expect(similar).toMatchObject({ created: 2, existing: 2, unknown: 0, new: 2 });
    expect(world.service.made).toHaveLength(4);
  });

  test('gives no row a link that redirects in another way than the row asked for', async () => {
    const rows = ['https://example.com/1,T,', 'https://example.com/1,T,301'];
    const none = { idempotency: false, batchSize: 1, onUnknown: 'skip' } as const;
    world.write('input.csv', `url,title,redirect_type\n${rows.join('\n')}\n`);
    let looks = 0;
    world.wallClock = () => looks++ * 120_000;
    // Of two requests without a response, the second one alone was carried out.
    world.service.fault = (n, [link = { target_url: '' }]) =>
      n < 2 ? { type: 'lost', created: 'redirect_type' in link } : undefined;
    expect(await world.import(none)).toMatchObject({ created: 2, unknown: 0 });
    const made = world.service.made.map((link) => [link.code, link.redirect_type !== undefined]);
    expect(made.map(([, isPermanent]) => isPermanent)).toEqual([true, false]);
    expect(codesOf()).toEqual([made[1]?.[0], made[0]?.[0]]);
  });

  test('whose outcome stays unknown has new rows', async () => {
    world.service.features = [];
    world.write('input.csv', file(row(1), row(2)));
    world.service.fault = () => ({ type: 'lost', created: false });
    expect(await world.import()).toMatchObject({ new: 2, unknown: 2 });
    world.write('input.csv', file(row(1), row(2), row(3)));
    expect(await world.import({ onUnknown: 'skip' })).toMatchObject({ new: 1, unknown: 3 });
  });

  test('that is open after three tries is for the next run to ask about, and not for the user', async () => {
    world.write('input.csv', file(row(1)));
    const at = Date.now();
    let looks = 0;
    // Two minutes pass from one look at the clock to the next, so that no look-up waits.
    world.wallClock = () => {
      looks += 1;
      return at + looks * 120_000;
    };
    world.service.fault = (n) => (n < 3 ? { type: 'lost', created: n === 2 } : undefined);
    const { unknown, stopped } = await world.import({ idempotency: false });
    expect({ unknown, reason: stopped?.reason }).toEqual({ unknown: 1, reason: 'unknown' });
    expect(stopped?.mustDecide).toBeUndefined();
    expect(stopped?.message).toContain('The next run asks the service');
    expect(`${stopped?.hint}`).not.toContain('--on-unknown');
    expect(await world.import({ idempotency: false })).toMatchObject({ created: 1, unknown: 0 });
    expect(world.service.made).toHaveLength(1);
  });
});
