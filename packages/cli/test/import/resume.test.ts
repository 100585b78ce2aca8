import { DatabaseSync } from 'node:sqlite';
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { writeError } from '../../src/import/folder.ts';
import { Journal } from '../../src/import/journal/journal.ts';
import type { Fault, Link } from './fake-service.ts';
import { ImportHarness } from './import-harness.ts';

const JOURNAL = 'input.csv.shortlink-journal';

let world: ImportHarness;
beforeEach(() => {
  world = new ImportHarness();
});
afterEach(() => world.dispose());

describe('stopped, and run again', () => {
  test('by the plan: exit after what fits, then the rest', async () => {
    world.writeRows(50);
    Object.assign(world.service.traits, { links: 25, namesLimit: false });
    const stopped = await world.import({ batchSize: 10 });
    expect(stopped).toMatchObject({ created: 20, unsent: 30 });
    expect(stopped.stopped).toMatchObject({ reason: 'plan_limit' });
    expect(stopped.stopped?.message).toContain('links are in use');
    // Which of the batches that are sent at once comes first is the network's business.
    expect(world.statuses().toSorted()).toEqual([
      ...Array.from({ length: 20 }, () => 'created'),
      ...Array.from({ length: 30 }, () => 'unsent'),
    ]);
    world.service.traits.links = 100;
    expect(await world.import({ batchSize: 10 })).toMatchObject({
      created: 30,
      existing: 20,
      unsent: 0,
    });
    expect(world.created()).toEqual({ links: 50, duplicates: 0 });
  });

  test.each([
    ['rate_limit', 429, { error: 'Too many requests' }, { 'Retry-After': '3600' }],
    ['authentication', 401, { error: 'Invalid API key' }, {}],
    ['authentication', 403, { error: 'Missing permission' }, {}],
  ])('by the service: %s %i', async (reason, status, body, headers) => {
    world.writeRows(50);
    world.service.fault = (n) => (n === 3 ? { type: 'answer', status, body, headers } : undefined);
    const stopped = await world.import({ batchSize: 10, concurrency: 1 });
    expect(stopped.stopped).toMatchObject({ reason });
    expect(stopped).toMatchObject({ created: 30, unsent: 20, failed: 0 });
    world.service.fault = () => undefined;
    expect(await world.import({ batchSize: 10 })).toMatchObject({ created: 20, existing: 30 });
    expect(world.created()).toEqual({ links: 50, duplicates: 0 });
  });

  test.each([true, false])('by a lost connection, carried out: %s', async (created) => {
    world.writeRows(50);
    world.service.fault = (n) => (n === 2 ? { type: 'lost', created } : undefined);
    const stopped = await world.import({ batchSize: 10, concurrency: 1 });
    expect(stopped.stopped).toMatchObject({ reason: 'unknown' });
    expect(stopped).toMatchObject({ created: 20, unknown: 10, unsent: 20 });
    expect(world.service.asked).toHaveLength(3);

    world.service.fault = () => undefined;
    expect(await world.import({ batchSize: 10 })).toMatchObject({
      created: 0,
      existing: 20,
      unknown: 10,
      requests: 0,
    });
    expect(await world.import({ batchSize: 10, onUnknown: 'skip' })).toMatchObject({
      created: 20,
      existing: 20,
      unknown: 10,
      unsent: 0,
    });
    expect(world.service.duplicates).toBe(0);
    if (created) return;
    expect(await world.import({ onUnknown: 'retry' })).toMatchObject({ created: 10, existing: 40 });
    expect(world.created()).toEqual({ links: 50, duplicates: 0 });
  });

  test('a lost connection with --on-unknown skip or retry does not stop the run', async () => {
    world.writeRows(50);
    world.service.fault = (n) => (n === 2 ? { type: 'lost', created: false } : undefined);
    const skipped = await world.import({ batchSize: 10, onUnknown: 'skip' });
    expect(skipped).toMatchObject({ created: 40, unknown: 10, stopped: undefined });
    world.service.fault = (n) => (n === 6 ? { type: 'lost', created: false } : undefined);
    const retried = await world.import({ batchSize: 10, onUnknown: 'retry', output: '-' });
    expect(retried).toMatchObject({ created: 10, existing: 40, unknown: 0, stopped: undefined });
    expect(world.created()).toEqual({ links: 50, duplicates: 0 });
    expect(world.stdout.trim().split('\n')).toHaveLength(51);
  });

  test('a connection lost with --idempotency is no reason to stop: the same key is sent again', async () => {
    world.writeRows(50);
    world.service.fault = (n) => (n === 2 ? { type: 'lost', created: true } : undefined);
    const summary = await world.import({ batchSize: 10, idempotency: true });
    expect(summary).toMatchObject({ created: 50, stopped: undefined });
    expect(world.created()).toEqual({ links: 50, duplicates: 0 });
    expect(new Set(world.service.keys).size).toBe(5);
  });

  test('a lost response is waited for three times with --on-unknown retry', async () => {
    world.writeRows(2);
    world.service.fault = (n) => (n < 5 ? { type: 'lost', created: false } : undefined);
    const summary = await world.import({ onUnknown: 'retry' });
    expect(summary).toMatchObject({ created: 0, unknown: 2, stopped: { reason: 'unknown' } });
    expect(world.service.asked).toHaveLength(3);
  });

  test('a rejected row does not get the link of a lost request, which is that of a good row', async () => {
    const url = 'https://example.com/0';
    world.write('input.csv', `url,title\n${url},T,surplus\n${url},T\n`);
    world.service.fault = (n) => (n === 0 ? { type: 'lost', created: true } : undefined);
    const summary = await world.import({ idempotency: true, maxRejects: 'all' });
    expect(summary).toMatchObject({ created: 1, rejected: 1, unsent: 0 });
    const [, ...rows] = world.table();
    expect(rows.map((row) => row[4])).toEqual(['rejected', 'created']);
  });

  test('by a disk that is full: what was sent is unknown, not unsent', async () => {
    const completed = vi.spyOn(Journal.prototype, 'decide').mockImplementation(() => {
      throw writeError('journal', Object.assign(new Error('full'), { code: 'ENOSPC' }));
    });
    world.writeRows(50);
    const summary = await world.import({ batchSize: 10, concurrency: 2 }).finally(() => {
      completed.mockRestore();
    });
    const sent = world.service.created.size;
    expect(sent).toBeGreaterThan(0);
    expect(summary).toMatchObject({ stopped: { reason: 'error' }, created: 0 });
    expect(summary.unknown).toBeGreaterThanOrEqual(sent);
    expect(summary.unknown + summary.unsent).toBe(50);
    const statuses = world.statuses();
    expect(statuses.filter((status) => status === 'unknown')).toHaveLength(summary.unknown);
  });

  test('by Ctrl-C: batches in flight end, no new one starts, the next run sends the rest', async () => {
    world.writeRows(50);
    world.service.traits.syncLinks = 1;
    world.onEvent = (event) => {
      if (event.type === 'batch-accepted' && event.first === 10) world.stop.abort();
    };
    const stopped = await world.import({ batchSize: 10, concurrency: 1 });
    expect(stopped).toMatchObject({ created: 20, unsent: 30, unknown: 0 });
    expect(stopped.stopped).toMatchObject({ reason: 'interrupted' });
    world.onEvent = () => undefined;
    expect(await world.import({ batchSize: 10 })).toMatchObject({ created: 30, existing: 20 });
    expect(world.created()).toEqual({ links: 50, duplicates: 0 });
  });

  test('by Ctrl-C twice: at once, with a journal that knows what was in flight', async () => {
    world.writeRows(50);
    world.service.fault = (n) => {
      if (n !== 2) return undefined;
      world.stop.abort();
      setTimeout(() => world.hardStop.abort(), 20);
      return { type: 'killed', created: true };
    };
    const stopped = await world.import({ batchSize: 10, concurrency: 1 });
    expect(stopped.stopped).toMatchObject({ reason: 'interrupted' });
    expect(stopped).toMatchObject({ created: 20, unknown: 10, unsent: 20, output: undefined });
    expect(world.files()).toEqual(['input.csv', JOURNAL]);
    expect(await world.import({ onUnknown: 'skip' })).toMatchObject({
      created: 20,
      existing: 20,
      unknown: 10,
    });
    expect(world.created()).toEqual({ links: 50, duplicates: 0 });
  });

  test('by Ctrl-C before the request is written: nothing of it was created, and the journal knows', async () => {
    world.writeRows(50);
    world.onEvent = (event) => {
      if (event.type === 'batch-sent' && event.first === 20) world.stop.abort();
    };
    const stopped = await world.import({ batchSize: 10, concurrency: 1 });
    expect(stopped).toMatchObject({ created: 20, unknown: 0, unsent: 30 });
    world.onEvent = () => undefined;
    expect(await world.import({ batchSize: 10 })).toMatchObject({ created: 30, unknown: 0 });
    expect(world.created()).toEqual({ links: 50, duplicates: 0 });
  });

  test('by Ctrl-C while the file is still being checked: nothing was sent', async () => {
    world.writeRows(60_000);
    world.onEvent = (event) => {
      if (event.type === 'validating') world.stop.abort();
    };
    const stopped = await world.import();
    expect(stopped.stopped).toMatchObject({ reason: 'interrupted' });
    expect(world.service.requests).toBe(0);
  });
});

/** Refuses requests that hold the row with this number, and names it. */
function refuseRow(row: number): (n: number, links: readonly Link[]) => Fault | undefined {
  return (_, links) => {
    const index = links.findIndex(({ target_url }) => target_url.endsWith(`/${row}`));
    const details = [{ index, field: 'title', message: 'is no good' }];
    const body = { error: 'not valid', details };
    return index === -1 ? undefined : { type: 'answer', status: 400, body };
  };
}

describe('a row that the service refused in a batch whose rest was lost', () => {
  test('has failed with its own reason, and is sent again without a decision about the rest', async () => {
    world.writeRows(3);
    const refuse = refuseRow(1);
    world.service.fault = (n, links) =>
      refuse(n, links) ?? (n === 1 ? { type: 'lost', created: true } : undefined);
    const summary = await world.import();
    expect(summary).toMatchObject({ created: 0, failed: 1, unknown: 2 });
    expect(world.statuses()).toEqual(['unknown', 'failed', 'unknown']);
    expect(world.table()[2]?.at(-1)).toBe('title: is no good');
    world.service.fault = () => undefined;
    const again = await world.import({ onUnknown: 'skip' });
    expect(again).toMatchObject({ created: 1, failed: 0, unknown: 2 });
    expect(world.service.asked.at(-1)).toHaveLength(1);
    expect(world.created()).toEqual({ links: 3, duplicates: 0 });
  });

  test('is sent again when the job of the rest is found', async () => {
    world.writeRows(3);
    world.service.traits.syncLinks = 1;
    world.service.fault = refuseRow(0);
    world.service.onPoll = () => ({ type: 'answer', status: 501, body: { error: 'no' } });
    expect(await world.import()).toMatchObject({ created: 0, failed: 1, unknown: 2 });
    world.service.fault = () => undefined;
    world.service.onPoll = () => undefined;
    expect(await world.import()).toMatchObject({ created: 3, failed: 0, unknown: 0 });
    expect(world.statuses()).toEqual(['created', 'created', 'created']);
    const made = world.service.targets();
    const targets = world
      .table()
      .slice(1)
      .map(([, , code = '']) => made.get(code));
    expect(targets).toEqual(
      world
        .table()
        .slice(1)
        .map(([, url]) => url),
    );
    expect(world.created()).toEqual({ links: 3, duplicates: 0 });
  });

  test('is one of the rows whose request is sent again under its key', async () => {
    world.writeRows(3);
    const refuse = refuseRow(1);
    world.service.fault = (n, links) =>
      refuse(n, links) ?? (n === 1 ? { type: 'lost', created: true } : undefined);
    const summary = await world.import({ idempotency: true });
    expect(summary).toMatchObject({ created: 2, failed: 1, unknown: 0 });
    expect(world.statuses()).toEqual(['created', 'failed', 'created']);
    expect(world.created()).toEqual({ links: 2, duplicates: 0 });
  });
});

describe('jobs', () => {
  test('a job that could not be polled is followed by the next run, not sent again', async () => {
    world.writeRows(30);
    world.service.traits.syncLinks = 1;
    // An error that may pass, such as a lost connection, would keep the client polling.
    world.service.onPoll = (id) =>
      id === 'job-1' ? { type: 'answer', status: 501, body: { error: 'no' } } : undefined;
    const stopped = await world.import({ batchSize: 10, concurrency: 1 });
    expect(stopped).toMatchObject({ created: 10, unknown: 10, unsent: 10 });
    expect(stopped.stopped?.message).toContain('polls the jobs first');
    world.service.onPoll = () => undefined;
    const summary = await world.import({ batchSize: 10 });
    expect(summary).toMatchObject({ created: 20, existing: 10, unknown: 0, stopped: undefined });
    expect(world.created()).toEqual({ links: 30, duplicates: 0 });
  });

  test('a job whose other rows were refused does not stand for a request that was lost', async () => {
    world.writeRows(4);
    world.service.traits.syncLinks = 1;
    world.service.onPoll = () => ({ type: 'answer', status: 501, body: { error: 'no' } });
    const details = [{ index: 0, field: 'target_url', message: 'is no good' }];
    const refusal = { type: 'answer', status: 400, body: { error: 'no', details } } as const;
    const faults = [refusal, undefined, { type: 'lost', created: true }] as const;
    world.service.fault = (n) => faults[n];
    const summary = await world.import({ batchSize: 3, concurrency: 1, onUnknown: 'skip' });
    expect(summary).toMatchObject({ failed: 1, unknown: 3 });
    expect(summary.stopped).toMatchObject({ reason: 'unknown', mustDecide: true });
  });

  test('a job whose poll ends the run is followed by no request for a link', async () => {
    world.writeRows(2);
    world.service.traits.syncLinks = 1;
    world.service.onPoll = () => ({ type: 'answer', status: 501, body: { error: 'no' } });
    await world.import();
    world.writeRows(4);
    world.service.onPoll = () => ({ type: 'answer', status: 401, body: { error: 'Invalid' } });
    const stopped = await world.import({ onUnknown: 'skip' });
    expect(stopped).toMatchObject({ unknown: 2, unsent: 2, requests: 1 });
    expect(stopped.stopped?.reason).toBe('authentication');
  });

  test('a link of a job that no row asks for any more is not counted as a created row', async () => {
    world.writeRows(1);
    await world.import();
    world.writeRows(4);
    world.service.traits.syncLinks = 1;
    world.service.onPoll = () => ({ type: 'answer', status: 501, body: { error: 'no' } });
    await world.import();
    world.service.onPoll = () => undefined;
    world.writeRows(3);
    expect(await world.import()).toMatchObject({ created: 2, existing: 1, gone: 1, unknown: 0 });
  });

  test('a job that is gone leaves its rows unknown', async () => {
    world.writeRows(20);
    world.service.traits.syncLinks = 1;
    world.service.onPoll = (id) =>
      id === 'job-0' ? { type: 'answer', status: 404, body: { error: 'no such job' } } : undefined;
    const summary = await world.import({ batchSize: 10, onUnknown: 'skip' });
    expect(summary).toMatchObject({ created: 10, unknown: 10 });
    expect(await world.import({ onUnknown: 'skip' })).toMatchObject({ existing: 10, unknown: 10 });
  });

  test('a job that another key does not find is asked for again in each run', async () => {
    world.writeRows(20);
    world.service.traits.syncLinks = 1;
    world.service.onPoll = () => ({ type: 'answer', status: 501, body: { error: 'no' } });
    await world.import({ batchSize: 20 });
    world.service.onPoll = () => ({ type: 'answer', status: 404, body: { error: 'no such job' } });
    for (let run = 0; run < 2; run += 1) {
      expect(await world.import()).toMatchObject({ created: 0, unknown: 20, requests: 1 });
    }
    const records = () => {
      const db = new DatabaseSync(world.path(JOURNAL));
      const results = db.prepare("SELECT count(*) AS n FROM log WHERE kind = 'results'").get();
      db.close();
      return results?.['n'];
    };
    const before = records();
    expect(await world.import()).toMatchObject({ unknown: 20 });
    expect(records()).toBe(before);
    // The key that made the job is used again.
    world.service.onPoll = () => undefined;
    expect(await world.import()).toMatchObject({ created: 20, unknown: 0 });
    expect(world.created()).toEqual({ links: 20, duplicates: 0 });
  });

  test('while other rows are undecided, accepted jobs are seen to their end and nothing is sent', async () => {
    world.writeRows(40);
    world.service.traits.syncLinks = 1;
    // The polls fail once both batches are sent: on a busy machine, the first would else end the run before the second.
    world.service.traits.msPerLink = Number.POSITIVE_INFINITY;
    world.service.onPoll = () =>
      world.service.asked.length < 2
        ? undefined
        : { type: 'answer', status: 501, body: { error: 'no' } };
    world.service.fault = (n) => (n === 1 ? { type: 'lost', created: true } : undefined);
    const first = await world.import({ batchSize: 10, concurrency: 2 });
    expect(first).toMatchObject({ created: 0, unknown: 20, unsent: 20 });
    world.service.traits.msPerLink = 0;
    world.service.onPoll = () => undefined;
    const asked = world.service.asked.length;
    const summary = await world.import({ batchSize: 10 });
    expect(summary).toMatchObject({ created: 10, unknown: 10, unsent: 20 });
    expect(summary.stopped?.reason).toBe('unknown');
    expect(world.service.asked).toHaveLength(asked);
  });

  test('errors of single items and refused batches are failed rows, which the next run tries again', async () => {
    world.writeRows(30);
    world.service.fault = (n) =>
      n === 1
        ? {
            type: 'answer',
            status: 400,
            body: {
              error: 'links[3]: no',
              details: [{ index: 3, field: 'target_url', message: 'is no good' }],
            },
          }
        : undefined;
    const summary = await world.import({ batchSize: 10, concurrency: 1 });
    // The service refuses the batch for one entry, and the others are sent again without it.
    expect(summary).toMatchObject({ created: 29, failed: 1, stopped: undefined });
    expect(world.table()[14]?.at(-1)).toContain('is no good');
    world.service.fault = () => undefined;
    expect(await world.import()).toMatchObject({ created: 1, existing: 29, failed: 0 });
    expect(world.created()).toEqual({ links: 30, duplicates: 0 });
  });
});
