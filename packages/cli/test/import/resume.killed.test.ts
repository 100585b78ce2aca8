import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { FakeService } from './fake-service.ts';
import { ImportHarness } from './import-harness.ts';
import type { ImportSettings } from '../../src/import/types.ts';

const LF = 10;
const JOURNAL = 'input.csv.shortlink-journal';

let world: ImportHarness;
beforeEach(() => {
  world = new ImportHarness();
});
afterEach(() => world.dispose());

interface Sent {
  first: number;
  count: number;
  key?: string;
}

/** The batches that a journal knows to have been sent, by its whole lines. */
function sentIn(journal: Buffer): Sent[] {
  const lines = journal.toString().split('\n').slice(0, -1);
  return lines
    .map((line): { t: string } & Sent => JSON.parse(line))
    .filter(({ t }) => t === 'sent');
}

function answeredIn(journal: Buffer): Set<number> {
  const lines = journal.toString().split('\n').slice(0, -1);
  return new Set(
    lines
      .map((line): { t: string; first: number } => JSON.parse(line))
      .filter(({ t }) => t === 'completed' || t === 'accepted')
      .map(({ first }) => first),
  );
}

/** The service as it is when all of these batches had reached it before the kill. */
async function serviceThatSaw(sent: readonly Sent[], syncLinks: number): Promise<FakeService> {
  const service = new FakeService();
  service.syncLinks = syncLinks;
  const client = service.client();
  for (const { first, count, key } of sent) {
    const links = Array.from({ length: count }, (_, index) => ({
      target_url: `https://example.com/${first + index}`,
    }));
    await client.links.createBatch({ links }, { idempotency: key ?? false });
  }
  return service;
}

// Hundreds of imports, each with its syncs to disk.
describe('killed at any moment', { timeout: 120_000 }, () => {
  const ROWS = 7;

  /** The journal of a whole run, which is cut at every byte: that is what a kill leaves behind. */
  async function wholeJournal(changes: Partial<ImportSettings>, syncLinks: number) {
    world.writeRows(ROWS);
    world.service.syncLinks = syncLinks;
    await world.import({ batchSize: 2, concurrency: 1, ...changes });
    return Buffer.from(world.read(JOURNAL));
  }

  const everyByte = () => true;
  /** Polls take their time, so jobs are tried where the outcome changes: around the ends of lines. */
  const aroundLineEnds = (length: number, journal: Buffer) =>
    journal.subarray(Math.max(0, length - 2), length + 1).includes(LF);

  test.each([
    ['at once, cut at every byte', 100, everyByte],
    ['with a job', 1, aroundLineEnds],
  ])(
    'nothing is sent twice, doubtful rows are unknown: answered %s',
    async (_, syncLinks, isTried) => {
      const journal = await wholeJournal({}, syncLinks);
      for (let length = 0; length <= journal.length; length += 1) {
        if (!isTried(length, journal)) continue;
        const cut = journal.subarray(0, length);
        const sent = sentIn(cut);
        const answered = answeredIn(cut);
        const doubtful = sent.filter(({ first }) => !answered.has(first));
        const unknown = new Set(
          doubtful.flatMap(({ first, count }) =>
            Array.from({ length: count }, (__, i) => first + i),
          ),
        );
        world.service = await serviceThatSaw(sent, syncLinks);
        const before = world.service.asked.length;
        world.write(JOURNAL, cut);

        if (unknown.size > 0 && cut.at(-1) === LF) {
          const stopped = await world.import({ batchSize: 2, concurrency: 1 });
          expect(stopped.stopped?.reason).toBe('unknown');
          expect(world.service.asked).toHaveLength(before);
        }
        const summary = await world.import({ batchSize: 3, concurrency: 2, onUnknown: 'skip' });
        expect(summary).toMatchObject({ unknown: unknown.size, created: ROWS - unknown.size });
        expect(world.statuses()).toEqual(
          Array.from({ length: ROWS }, (__, index) => (unknown.has(index) ? 'unknown' : 'created')),
        );
        expect(world.created()).toEqual({ links: ROWS, duplicates: 0 });
      }
    },
  );

  test('with --idempotency every row is created exactly once, without a word from the user', async () => {
    const journal = await wholeJournal({ idempotency: true }, 100);
    for (let length = 0; length <= journal.length; length += 1) {
      const cut = journal.subarray(0, length);
      world.service = await serviceThatSaw(sentIn(cut), 100);
      world.write(JOURNAL, cut);
      const summary = await world.import({ batchSize: 3, idempotency: true });
      expect(summary).toMatchObject({ created: ROWS, unknown: 0 });
      expect(summary.stopped).toBeUndefined();
      expect(world.created()).toEqual({ links: ROWS, duplicates: 0 });
    }
  });

  test('a key that the service may have forgotten is not trusted', async () => {
    const journal = await wholeJournal({ idempotency: true }, 100);
    const cut = journal.subarray(0, journal.indexOf('\n', journal.indexOf('"sent"')) + 1);
    world.service = await serviceThatSaw(sentIn(cut), 100);
    world.write(JOURNAL, cut);
    const day = 24 * 60 * 60 * 1000;
    world.wallClock = () => Date.now() + day;
    const summary = await world.import({ batchSize: 2, idempotency: true });
    expect(summary.stopped?.reason).toBe('unknown');
    expect(world.service.duplicates).toBe(0);
  });

  test('--on-unknown retry sends doubtful batches again', async () => {
    const journal = await wholeJournal({}, 100);
    const cut = journal.subarray(0, journal.indexOf('\n', journal.indexOf('"sent"')) + 1);
    world.service = new FakeService();
    world.write(JOURNAL, cut);
    const summary = await world.import({ batchSize: 3, onUnknown: 'retry' });
    expect(summary).toMatchObject({ created: ROWS, unknown: 0 });
    expect(world.created()).toEqual({ links: ROWS, duplicates: 0 });
  });
});
