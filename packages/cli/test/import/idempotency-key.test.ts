import { rmSync } from 'node:fs';
import { expect, test } from 'vitest';
import { ImportHarness } from './import-harness.ts';

test('a row that takes the place of another one gets a link of its own, and not the response to an earlier request', async () => {
  const world = new ImportHarness();
  const importUrls = async (...names: string[]) => {
    const rows = names.map((name) => `https://example.com/${name}\n`);
    world.write('input.csv', `url\n${rows.join('')}`);
    return await world.import({ idempotency: true });
  };
  try {
    await importUrls('b', 'a');
    await importUrls('b', 'a', 'b');
    const summary = await importUrls('b', 'b', 'b');
    expect(summary).toMatchObject({ created: 1, existing: 2, gone: 1 });
    const codes = world
      .table()
      .slice(1)
      .map(([, code]) => code);
    expect(new Set(codes).size).toBe(3);
  } finally {
    world.dispose();
  }
});

test('a second row with the same URL gets a link of its own where another row is gone', async () => {
  const world = new ImportHarness();
  const settings = { idempotency: true, batchSize: 1 };
  try {
    world.write('input.csv', 'url\nhttps://b.example\nhttps://c.example\n');
    await world.import(settings);
    world.write('input.csv', 'url\nhttps://b.example\nhttps://b.example\n');
    expect(await world.import(settings)).toMatchObject({ created: 1, existing: 1, gone: 1 });
    const [, [, first] = [], [, second] = []] = world.table();
    expect(second).not.toBe(first);
  } finally {
    world.dispose();
  }
});

test('a second row with the same URL gets a link of its own where a row of an earlier results file is gone', async () => {
  const world = new ImportHarness();
  const settings = { idempotency: true, known: [world.path('known.csv')] };
  try {
    world.write(
      'known.csv',
      'url,code,short_url,status,error\nhttps://a.example,a,https://s/a,created,\n',
    );
    world.write('input.csv', 'url\nhttps://a.example\nhttps://b.example\n');
    expect(await world.import(settings)).toMatchObject({ created: 1, existing: 1 });
    world.write('input.csv', 'url\nhttps://b.example\nhttps://b.example\n');
    expect(await world.import(settings)).toMatchObject({ created: 1, existing: 1 });
    const [, [, first] = [], [, second] = []] = world.table();
    expect(second).not.toBe(first);
  } finally {
    world.dispose();
  }
});

test('a second row with the same URL gets a link of its own where a row is gone that has named its link, and no journal is kept', async () => {
  const world = new ImportHarness();
  const settings = { idempotency: true, inPlace: true, output: world.path('input.csv') };
  const importInPlace = async () => {
    const summary = await world.import(settings);
    rmSync(world.settings().journal as string);
    return summary;
  };
  try {
    world.write('input.csv', 'url\nhttps://a.example\n');
    await importInPlace();
    world.write('input.csv', `${world.read('input.csv')}https://b.example,,,,\n`);
    expect(await importInPlace()).toMatchObject({ created: 1, existing: 1 });
    const [head, , row] = world.read('input.csv').split('\n');
    world.write('input.csv', `${head}\n${row}\nhttps://b.example,,,,\n`);
    expect(await importInPlace()).toMatchObject({ created: 1, existing: 1 });
    const [, [, first] = [], [, second] = []] = world.table('input.csv');
    expect(second).not.toBe(first);
  } finally {
    world.dispose();
  }
});

test('links of a job that has failed are created under another key, because theirs stands for that job', async () => {
  const world = new ImportHarness();
  try {
    world.writeRows(2);
    world.service.traits.syncLinks = 1;
    const failed = { id: 'job-0', status: 'failed', total: 2, processed: 0, results: [] };
    world.service.onPoll = (id) =>
      id === 'job-0' ? { type: 'answer', status: 200, body: failed } : undefined;
    expect(await world.import({ idempotency: true })).toMatchObject({ unknown: 2 });
    const retried = await world.import({ idempotency: true, onUnknown: 'retry' });
    expect(retried).toMatchObject({ created: 2, unknown: 0 });
  } finally {
    world.dispose();
  }
});

test('a lost request that is found to be a failed job gives its rows the links that the job made', async () => {
  const world = new ImportHarness();
  try {
    world.writeRows(2);
    world.service.traits.syncLinks = 1;
    world.service.fault = (n) => (n === 0 ? { type: 'lost', created: true } : undefined);
    const target_url = 'https://example.com/1';
    const results = [{ target_url, code: 'made', short_url: 'https://s.example/made' }];
    const failed = { id: 'job-0', status: 'failed', total: 2, processed: 1, results };
    world.service.onPoll = () => ({ type: 'answer', status: 200, body: failed });
    expect(await world.import({ idempotency: true })).toMatchObject({ created: 1, unknown: 1 });
    expect(world.statuses()).toEqual(['unknown', 'created']);
  } finally {
    world.dispose();
  }
});

test('a row whose link was refused asks for that of another open request in the same run', async () => {
  const world = new ImportHarness();
  try {
    world.service.refusedTitle = 'refused';
    world.service.fault = () => ({ type: 'lost', created: false });
    const row = (title: string) => `https://example.com/1,${title}`;
    world.write('input.csv', ['url,title', row('refused'), row('b'), ''].join('\n'));
    const policy = { idempotency: true, onUnknown: 'skip', batchSize: 1, concurrency: 2 } as const;
    expect(await world.import(policy)).toMatchObject({ unknown: 2 });
    world.service.fault = () => undefined;
    world.write('input.csv', ['url,title', row('edited'), ''].join('\n'));
    expect(await world.import(policy)).toMatchObject({ created: 1, unknown: 0 });
    expect(world.created()).toEqual({ links: 1, duplicates: 0 });
  } finally {
    world.dispose();
  }
});

test('a row like one that has its link gets a key of its own, also once links in doubt were found to be refused', async () => {
  const world = new ImportHarness();
  try {
    const { service } = world;
    const policy = { idempotency: true, onUnknown: 'skip' } as const;
    const importRows = (...rows: string[]) => {
      const lines = rows.map((row) => `https://example.com/${row}`);
      world.write('input.csv', ['url,title', ...lines, ''].join('\n'));
      return world.import(policy);
    };
    service.refusedTitle = 'refused';
    service.fault = (n) => ({ type: 'lost', created: n === 0 });
    expect(await importRows('1,b', '2,refused', '4,refused')).toMatchObject({ unknown: 3 });
    service.fault = (_, links) =>
      links.length === 3 ? { type: 'lost', created: false } : undefined;
    expect(await importRows('4,b', '4,a')).toMatchObject({ created: 1, unknown: 1 });
    service.fault = () => undefined;
    expect(await importRows('4,a', '4,a')).toMatchObject({ created: 1, existing: 1, gone: 1 });
    const [, first, second] = world.table();
    expect(first?.[2]).not.toBe(second?.[2]);
  } finally {
    world.dispose();
  }
});

test('a refusal that lost its details does not make new rows of those that an earlier request may have created', async () => {
  const world = new ImportHarness();
  try {
    world.writeRows(2);
    const details = [{ index: 0, field: 'title', message: 'not allowed' }];
    const refusal = { error: 'links[0] is not valid', details };
    world.service.fault = (n, links) => {
      if (n === 1) return { type: 'lost', created: true };
      // A repeat brings a body that can't be read, and so does what would follow it.
      if (n === 2 || n === 3) return { type: 'answer', status: 400, body: [1, 2] };
      const isBad = links.some(({ target_url }) => target_url.endsWith('/0'));
      return isBad ? { type: 'answer', status: 400, body: refusal } : undefined;
    };
    const first = await world.import({ idempotency: true });
    expect(first).toMatchObject({ failed: 1, unknown: 1, unsent: 0 });
    expect(await world.import({ idempotency: true })).toMatchObject({ failed: 1, unknown: 0 });
    expect(world.statuses()).toEqual(['failed', 'created']);
    expect(world.created()).toEqual({ links: 1, duplicates: 0 });
  } finally {
    world.dispose();
  }
});

test.each(['stop', 'skip', 'retry'] as const)(
  'a row like one whose request is still in doubt gets a link of its own, --on-unknown %s',
  async (onUnknown) => {
    const world = new ImportHarness();
    const settings = { idempotency: true, batchSize: 1, onUnknown } as const;
    try {
      world.write('input.csv', 'url\nhttps://b.example\nhttps://b.example\n');
      world.service.fault = () => ({ type: 'lost', created: true });
      await world.import({ ...settings, limit: 1 });
      // The service is back after the request of the first row has been lost once more.
      let requests = 0;
      world.service.fault = () => (requests++ === 0 ? { type: 'lost', created: true } : undefined);
      await world.import({ ...settings, limit: 1 });
      world.service.fault = () => undefined;
      expect(await world.import(settings)).toMatchObject({ unknown: 0, unsent: 0 });
      const [, [, first] = [], [, second] = []] = world.table();
      expect(second).not.toBe(first);
      expect([...world.service.created.values()]).toEqual([2]);
    } finally {
      world.dispose();
    }
  },
);
