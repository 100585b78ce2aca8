import { readFileSync, writeFileSync } from 'node:fs';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import type { ImportSettings } from '../../src/import/types.ts';
import { FakeService, type Link } from './fake-service.ts';
import { ImportHarness } from './import-harness.ts';

const JOURNAL = 'input.csv.shortlink-journal';

let world: ImportHarness;
beforeEach(() => {
  world = new ImportHarness();
});
afterEach(() => world.dispose());

interface Request {
  links: Link[];
  key: string | undefined;
}

/** Something that the journal recorded, and how long its log was right after it. */
interface Moment {
  sent?: Request;
  /** URLs whose outcome it recorded. */
  settled?: string[];
  length: number;
}

/** What a run wrote to the disk, and when. */
interface Recording {
  database: Buffer;
  log: Buffer;
  moments: Moment[];
}

const ROWS = 7;
const urlOf = (row: number) => `https://example.com/${row}`;

/** Runs a whole import and keeps what a kill at any moment would leave of its journal: a beginning of its write-ahead log. */
async function record(changes: Partial<ImportSettings>, syncLinks: number): Promise<Recording> {
  world.writeRows(ROWS);
  world.service.traits.syncLinks = syncLinks;
  const recording: Recording = { database: Buffer.alloc(0), log: Buffer.alloc(0), moments: [] };
  const add = (moment: Omit<Moment, 'length'>) => {
    recording.log = readFileSync(world.path(`${JOURNAL}-wal`));
    recording.moments.push({ ...moment, length: recording.log.length });
  };
  let flying: Link[] = [];
  world.service.hold = async () => {
    recording.database = readFileSync(world.path(JOURNAL));
    const [links, key] = world.service.flying;
    flying = links;
    add({ sent: { links, key } });
  };
  world.onEvent = ({ type }) => {
    if (type === 'batch-accepted' || type === 'rows-done') {
      add({ settled: flying.map(({ target_url }) => target_url) });
    }
  };
  await world.import({ batchSize: 2, concurrency: 1, ...changes });
  world.onEvent = () => {};
  return recording;
}

/** Lengths of the log around each moment, and between two of them: there a transaction is torn. */
function cuts({ moments }: Recording): number[] {
  const lengths = moments.flatMap(({ length }, index) => {
    const before = moments[index - 1]?.length ?? 0;
    return [Math.floor((before + length) / 2), length - 1, length];
  });
  return [...new Set(lengths)];
}

/** The service as it is when every request that the cut log knows of has reached it. */
async function serviceThatSaw(requests: readonly Request[], syncLinks: number) {
  const service = new FakeService();
  service.traits.syncLinks = syncLinks;
  const client = service.client();
  for (const { links, key } of requests) {
    await client.links.createBatch({ links }, { idempotency: key ?? false });
  }
  return service;
}

/** Leaves the journal as a kill would; resolves to the requests that were sent, and the URLs in doubt. */
async function killAt({ database, log, moments }: Recording, length: number, syncLinks: number) {
  writeFileSync(world.path(JOURNAL), database);
  writeFileSync(world.path(`${JOURNAL}-wal`), log.subarray(0, length));
  const known = moments.filter((moment) => moment.length <= length);
  const requests = known.flatMap(({ sent }) => sent ?? []);
  const settled = new Set(known.flatMap((moment) => moment.settled ?? []));
  const sent = requests.flatMap(({ links }) => links.map(({ target_url }) => target_url));
  world.service = await serviceThatSaw(requests, syncLinks);
  return new Set(sent.filter((url) => !settled.has(url)));
}

describe('killed at any moment', () => {
  test.each([
    ['at once', 100],
    ['with a job', 1],
  ])('nothing is sent twice, doubtful rows are unknown: responses %s', async (_, syncLinks) => {
    const recording = await record({}, syncLinks);
    for (const length of cuts(recording)) {
      const doubtful = await killAt(recording, length, syncLinks);
      const asked = world.service.asked.length;
      if (doubtful.size > 0) {
        const stopped = await world.import({ batchSize: 2, concurrency: 1 });
        expect(stopped.stopped?.reason).toBe('unknown');
        expect(world.service.asked).toHaveLength(asked);
      }
      // Meanwhile somebody sorted the file.
      const rows = Array.from({ length: ROWS }, (__, row) => `n${row},${urlOf(row)}`).reverse();
      world.write('input.csv', ['name,url', ...rows].join('\n'));
      const summary = await world.import({ batchSize: 3, concurrency: 2, onUnknown: 'skip' });
      expect(summary.unknown).toBe(doubtful.size);
      expect(summary.created + summary.existing).toBe(ROWS - doubtful.size);
      for (const [, url = '', , , status] of world.table().slice(1)) {
        expect(status, url).toBe(doubtful.has(url) ? 'unknown' : 'created');
      }
      expect(world.created()).toEqual({ links: ROWS, duplicates: 0 });
    }
  });

  test('with --idempotency every row is created exactly once, without a word from the user', async () => {
    const recording = await record({ idempotency: true }, 100);
    for (const length of cuts(recording)) {
      await killAt(recording, length, 100);
      // Rows of a batch in flight are gone, others are new: the batch is sent again as it was all the same.
      const rows = [7, 5, 3, 1].map((row) => `${urlOf(row)},title ${row}`);
      world.write('input.csv', ['url,title', ...rows].join('\n'));
      const summary = await world.import({ batchSize: 3, idempotency: true });
      expect(summary).toMatchObject({ unknown: 0, failed: 0, stopped: undefined });
      expect(summary.created + summary.existing).toBe(4);
      expect(world.service.duplicates).toBe(0);
    }
  });

  test('a batch of which every row is gone is not sent again', async () => {
    const recording = await record({ idempotency: true }, 100);
    await killAt(recording, recording.moments[0]?.length ?? 0, 100);
    world.service = new FakeService();
    world.write('input.csv', `url\n${urlOf(5)}\n`);
    expect(await world.import({ idempotency: true })).toMatchObject({ created: 1, unknown: 0 });
    expect(world.service.asked).toEqual([[{ target_url: urlOf(5) }]]);
  });

  test('a key that the service may have forgotten is not trusted', async () => {
    const recording = await record({ idempotency: true }, 100);
    await killAt(recording, recording.moments[0]?.length ?? 0, 100);
    const day = 24 * 60 * 60 * 1000;
    world.wallClock = () => Date.now() + day;
    const summary = await world.import({ batchSize: 2, idempotency: true });
    expect(summary.stopped?.reason).toBe('unknown');
    expect(world.service.duplicates).toBe(0);
  });

  test('--on-unknown retry sends doubtful batches again', async () => {
    const recording = await record({}, 100);
    await killAt(recording, recording.moments[0]?.length ?? 0, 100);
    world.service = new FakeService();
    const summary = await world.import({ batchSize: 3, onUnknown: 'retry' });
    expect(summary).toMatchObject({ created: ROWS, unknown: 0 });
    expect(world.created()).toEqual({ links: ROWS, duplicates: 0 });
  });
});
