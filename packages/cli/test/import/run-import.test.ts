import { fstatSync, statSync } from 'node:fs';
import { setTimeout } from 'node:timers/promises';
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { LinkSource } from '../../src/import/send/link-source.ts';
import type { Link } from './fake-service.ts';
import { ImportHarness } from './import-harness.ts';

let world: ImportHarness;
beforeEach(() => {
  world = new ImportHarness();
});
afterEach(() => {
  vi.restoreAllMocks();
  world.dispose();
});

/** How many descriptors of this process are open on a file. */
function openDescriptors(path: string): number {
  const { dev, ino } = statSync(path);
  let count = 0;
  for (let descriptor = 0; descriptor < 1024; descriptor += 1) {
    try {
      const stats = fstatSync(descriptor);
      if (stats.dev === dev && stats.ino === ino) count += 1;
    } catch {
      // It is not open.
    }
  }
  return count;
}

describe('a run', () => {
  test('creates every row once and writes the results in input order', async () => {
    world.writeRows(1234);
    const summary = await world.import({ batchSize: 100, concurrency: 8 });
    expect(summary).toMatchObject({
      rows: 1234,
      created: 1234,
      unsent: 0,
      batches: 13,
      requests: 13,
    });
    expect(summary.stopped).toBeUndefined();
    expect(world.service.created.size).toBe(1234);
    expect(world.service.duplicates).toBe(0);
    const [header, ...rows] = world.table();
    expect(header).toEqual(['name', 'url', 'code', 'short_url', 'status', 'error']);
    expect(rows.map((row) => row[1])).toEqual(
      Array.from({ length: 1234 }, (_, index) => `https://example.com/${index}`),
    );
    expect(new Set(rows.map((row) => row[3])).size).toBe(1234);
    expect(world.files()).toEqual([
      'input.csv',
      'input.csv.results.csv',
      'input.csv.shortlink-journal',
    ]);
  });

  test('waits for the jobs of large batches', async () => {
    world.writeRows(250);
    const summary = await world.import({ batchSize: 150 });
    expect(summary).toMatchObject({ created: 250, batches: 2 });
    expect(world.statuses().every((status) => status === 'created')).toBe(true);
    expect(world.events.map(({ type }) => type)).toContain('job-progress');
  });

  test('a finished import run again sends nothing and rewrites its results', async () => {
    world.writeRows(300);
    await world.import({ batchSize: 100 });
    const results = world.read('input.csv.results.csv');
    world.write('input.csv.results.csv', 'overwritten by somebody');
    const { requests } = world.service;
    const summary = await world.import({ batchSize: 50, onUnknown: 'retry' });
    expect(summary).toMatchObject({ created: 0, existing: 300, requests: 0, batches: 0 });
    expect(summary.forecast).toBeUndefined();
    expect(world.service.requests).toBe(requests);
    expect(world.read('input.csv.results.csv')).toBe(results);
    expect(world.events).toContainEqual({
      type: 'compared',
      new: 0,
      existing: 300,
      changed: 0,
      changedLines: [],
      gone: 0,
      goneLinks: [],
    });
  });

  test('--restart sets the journal aside and sends again', async () => {
    world.writeRows(10);
    await world.import({ restart: true });
    const before = world.read('input.csv.results.csv');
    const summary = await world.import({ restart: true });
    expect(summary).toMatchObject({ created: 10, existing: 0, batches: 1 });
    expect(world.service.created.get('https://example.com/0')).toBe(2);
    expect(await world.import()).toMatchObject({ existing: 10 });
    expect(world.read('input.csv.results.csv')).not.toBe(before);
    await world.import({ journal: world.path('input.csv.shortlink-journal.old') });
    expect(world.read('input.csv.results.csv')).toBe(before);
  });

  test('finds a batch size that the plan takes', async () => {
    world.writeRows(450);
    world.service.traits.batchSize = 100;
    const summary = await world.import({ batchSize: 5000 });
    expect(summary).toMatchObject({ created: 450 });
    expect(world.service.duplicates).toBe(0);
    expect(world.events.some(({ type }) => type === 'batch-resized')).toBe(true);
    expect(world.statuses()).toHaveLength(450);
  });

  test('keeps no link in memory whose batch has ended, and no file open', async () => {
    world.writeRows(1234);
    const forget = vi.spyOn(LinkSource.prototype, 'forget');
    await world.import({ batchSize: 100, limit: 1000 });
    expect(forget.mock.lastCall).toEqual([1000]);
    expect(openDescriptors(world.path('input.csv'))).toBe(0);
  });

  test('rows that are read slowly, as on a busy machine, cost no more requests', async () => {
    world.writeRows(200);
    const { next } = LinkSource.prototype;
    let count = 0;
    vi.spyOn(LinkSource.prototype, 'next').mockImplementation(async function (this: LinkSource) {
      count += 1;
      if (count === 50) await setTimeout(1_200);
      return next.call(this);
    });
    const summary = await world.import({ batchSize: 100 });
    expect(summary).toMatchObject({ created: 200, batches: 2, requests: 2 });
  });

  test('a batch that is sent again after the next one: each row gets its own link', async () => {
    world.writeRows(40);
    const isRefused = (links: readonly Link[]) =>
      links.length === 10 && links[0]?.target_url === 'https://example.com/20';
    const next = Promise.withResolvers<void>();
    world.onEvent = (event) => {
      if (event.type === 'batch-sent' && event.first === 30) next.resolve();
    };
    world.service.hold = async () => {
      if (isRefused(world.service.flying[0])) await next.promise;
    };
    const body = { error: 'not valid' };
    world.service.fault = (_, links) =>
      isRefused(links) ? { type: 'answer', status: 400, body } : undefined;
    expect(await world.import({ batchSize: 10, concurrency: 3 })).toMatchObject({ created: 40 });
    const [, ...rows] = world.table();
    const targets = world.service.targets();
    expect(rows.map(([, , code = '']) => targets.get(code))).toEqual(rows.map(([, url]) => url));
  });

  test('defaults are for rows that have none of their own', async () => {
    world.write(
      'input.csv',
      'url,tags,redirect_type\nhttps://a.example,x;y,301\nhttps://b.example,,\n',
    );
    await world.import({ defaults: { tags: ['cli'], domain_id: 'd1', redirect_type: 307 } });
    expect(world.service.asked[0]).toEqual([
      { target_url: 'https://a.example', tags: ['x', 'y'], redirect_type: 301 },
      { target_url: 'https://b.example', tags: ['cli'], redirect_type: 307 },
    ]);
  });

  test('a file of a header alone is a run of no rows', async () => {
    world.write('input.csv', 'url,title\n');
    const summary = await world.import();
    expect(summary).toMatchObject({ rows: 0, created: 0, requests: 0 });
    expect(summary.stopped).toBeUndefined();
    expect(world.events.some(({ type }) => type === 'warning')).toBe(true);
    expect(world.table()).toEqual([['url', 'title', 'code', 'short_url', 'status', 'error']]);
  });

  test('refuses a file that is not there', async () => {
    await expect(world.import()).rejects.toMatchObject({
      code: 'input',
      message: expect.stringContaining('there is no such file'),
    });
    expect(world.files()).toEqual([]);
  });
});

describe('rows that cannot be sent', () => {
  const content =
    'url,title\nhttps://a.example,A\nnope,"B, =1"\nhttps://c.example,C,surplus\nhttps://d.example,=D()\n';

  test('stop the run before anything is sent, and are all in the rejects file', async () => {
    world.write('input.csv', content);
    const summary = await world.import();
    expect(summary).toMatchObject({
      rows: 4,
      rejected: 2,
      unsent: 2,
      requests: 0,
      output: undefined,
    });
    expect(summary.stopped).toMatchObject({ reason: 'rejects' });
    expect(summary.stopped?.message).toContain('2 rows of input.csv');
    expect(world.service.requests).toBe(0);
    expect(world.table('input.csv.rejects.csv')).toEqual([
      ['url', 'title', 'line', 'reason'],
      ['nope', 'B, =1', '3', 'not an absolute http or https URL: "nope"'],
      [
        'https://c.example',
        'C',
        '4',
        '3 cells, the header has 2: is a cell with a delimiter not quoted?',
        'surplus',
      ],
    ]);
    expect(world.files()).toEqual([
      'input.csv',
      'input.csv.rejects.csv',
      'input.csv.shortlink-journal',
    ]);
  });

  test('are left out with --max-rejects all, and keep their line in the results', async () => {
    world.write('input.csv', content);
    const summary = await world.import({ maxRejects: 'all' });
    expect(summary).toMatchObject({ created: 2, rejected: 2, unsent: 0 });
    expect(summary.stopped).toBeUndefined();
    expect(world.table().map((row) => [row[0], row[1], row[4]])).toEqual([
      ['url', 'title', 'status'],
      ['https://a.example', 'A', 'created'],
      ['nope', 'B, =1', 'rejected'],
      ['https://c.example', 'C', 'rejected'],
      ['https://d.example', "'=D()", 'created'],
    ]);
    expect(world.service.asked[0]?.[1]?.title).toBe('=D()');
  });

  test('--max-rejects N allows N', async () => {
    world.write('input.csv', content);
    expect((await world.import({ maxRejects: 1 })).stopped?.reason).toBe('rejects');
    expect((await world.import({ maxRejects: 2 })).stopped).toBeUndefined();
  });

  test('can be corrected in their file and imported again', async () => {
    world.write('input.csv', 'url,title\nnope,=SUM(A1)\n');
    await world.import();
    expect(world.read('input.csv.rejects.csv')).toContain("'=SUM(A1)");
    world.write(
      'corrected.csv',
      world.read('input.csv.rejects.csv').replace('nope', 'https://a.example'),
    );
    await world.import({ file: world.path('corrected.csv') });
    expect(world.service.asked).toEqual([[{ target_url: 'https://a.example', title: '=SUM(A1)' }]]);
  });

  test('a dry run reports them and writes nothing', async () => {
    world.write('input.csv', content);
    const summary = await world.import({ dryRun: true });
    expect(summary).toMatchObject({ dryRun: true, rows: 4, rejected: 2, unsent: 2, requests: 0 });
    expect(summary.stopped).toBeUndefined();
    expect(world.files()).toEqual(['input.csv']);
  });

  test('a great many of them between two good rows are held in order', async () => {
    const bad = Array.from({ length: 6_000 }, (_, index) => `bad ${index} ${'x'.repeat(150)}`);
    world.write('input.csv', ['url', 'https://a.example', ...bad, 'https://b.example'].join('\n'));
    const summary = await world.import({ maxRejects: 'all' });
    expect(summary).toMatchObject({ created: 2, rejected: 6_000 });
    expect(world.table().map((row) => row[0])).toEqual([
      'url',
      'https://a.example',
      ...bad,
      'https://b.example',
    ]);
  });
});

describe('standard input and output', () => {
  test('the results go to standard output, and nothing else', async () => {
    const bytes = Buffer.from('https://a.example\nhttps://b.example\n');
    const summary = await world.import({ file: '-', output: '-' }, [
      bytes.subarray(0, 5),
      bytes.subarray(5),
    ]);
    expect(summary).toMatchObject({ created: 2, output: '-' });
    expect(world.stdout.split('\n')).toEqual([
      'target_url,code,short_url,status,error,made_for',
      'https://a.example,0000001,https://s.example/0000001,created,,0e4334ec',
      'https://b.example,0000002,https://s.example/0000002,created,,2c4034ec',
      '',
    ]);
    expect(world.files()).toEqual([]);
  });

  test('JSON lines keep their types and gain the outcome', async () => {
    const rows = [
      { url: 'https://a.example', n: 1, tags: ['x', 'y'], code: 'mine' },
      { url: 'nope', late: null },
    ];
    const bytes = Buffer.from(rows.map((row) => JSON.stringify(row)).join('\n'));
    await world.import({ file: '-', output: '-', outputFormat: 'jsonl', maxRejects: 'all' }, [
      bytes,
    ]);
    const lines = world.stdout
      .trim()
      .split('\n')
      .map((line): unknown => JSON.parse(line));
    expect(lines).toEqual([
      {
        url: 'https://a.example',
        n: 1,
        tags: ['x', 'y'],
        code: '0000001',
        short_url: 'https://s.example/0000001',
        status: 'created',
        error: null,
        made_for: expect.stringMatching(/^[0-9a-f]{8}$/),
      },
      {
        url: 'nope',
        late: null,
        code: null,
        short_url: null,
        status: 'rejected',
        error: 'not an absolute http or https URL: "nope"',
        made_for: null,
      },
    ]);
    expect(world.service.asked[0]?.[0]?.tags).toEqual(['x', 'y']);
  });
});

test('columns of one name are keys of their own in JSON lines', async () => {
  const rows = 'url,note,note,status,note_2\nhttps://a.example,1,2,3,4\n';
  await world.import({ file: '-', output: '-', outputFormat: 'jsonl' }, [Buffer.from(rows)]);
  expect(JSON.parse(world.stdout)).toMatchObject({
    ...{ note: '1', note_2: '2', status_2: '3', note_2_2: '4', status: 'created' },
  });
});

test('a file that is changed while it is sent is not sent any further', async () => {
  world.writeRows(30);
  world.onEvent = (event) => {
    if (event.type === 'rows-done' && event.done === 10)
      world.write('input.csv', 'url\nhttps://x.example\n');
  };
  const summary = await world.import({ batchSize: 10, concurrency: 1 });
  expect(summary.stopped).toMatchObject({ reason: 'error' });
  expect(summary.stopped?.message).toContain('was changed while');
  expect(world.service.asked).toHaveLength(1);
});

test('results of a file that is changed while they are written are not put in place', async () => {
  world.writeRows(2);
  world.onEvent = ({ type }) => {
    if (type === 'reporting') world.write('input.csv', 'url\nhttps://x.example\n');
  };
  const { stopped } = await world.import();
  expect(stopped?.message).toContain('was changed while');
  expect(world.files()).toEqual(['input.csv', 'input.csv.shortlink-journal']);
});

test.each([8_000, 200_000])(
  'a line of JSON that is nested %d deep is a problem of its row',
  async (depth) => {
    const deep = `{"url":"https://example.com/1","note":${'['.repeat(depth)}${']'.repeat(depth)}}\n`;
    world.write('deep.jsonl', `{"url":"https://example.com/2"}\n${deep}`);
    const settings = { file: world.path('deep.jsonl'), maxRejects: 'all' } as const;
    expect(await world.import(settings)).toMatchObject({ created: 1, rejected: 1 });
    expect(world.read('deep.jsonl.rejects.csv')).toContain('nested too deep');
    const inPlace = { ...settings, inPlace: true, output: settings.file };
    expect(await world.import(inPlace)).toMatchObject({ existing: 1, rejected: 1 });
    expect(world.read('deep.jsonl')).toContain(deep);
  },
);
