import fc from 'fast-check';
import { expect, test } from 'vitest';
import type { Fault } from './fake-service.ts';
import { ImportHarness } from './import-harness.ts';

/** What happens to one request. */
type Weather = 'fine' | 'lost' | 'carried out, then lost' | 'refused key' | 'overloaded';

/** One run: the file as it is then, and what happens to its requests, one after the other. */
interface Run {
  rows: Array<{ url: number; title: string }>;
  weather: Weather[];
  syncLinks: number;
  stopAfter: number | undefined;
}

const run: fc.Arbitrary<Run> = fc.record({
  rows: fc.array(fc.record({ url: fc.nat(5), title: fc.constantFrom('a', 'b', 'refused') }), {
    minLength: 1,
    maxLength: 12,
  }),
  weather: fc.array(
    fc.constantFrom<Weather>(
      'fine',
      'fine',
      'lost',
      'carried out, then lost',
      'refused key',
      'overloaded',
    ),
    { maxLength: 6 },
  ),
  syncLinks: fc.constantFrom(1, 100),
  stopAfter: fc.option(fc.nat(3), { nil: undefined }),
});

const urlOf = (url: number) => `https://example.com/${url}`;
const times = (rows: Run['rows'], url: string) =>
  rows.filter((row) => urlOf(row.url) === url).length;

function faultOf(weather: Weather | undefined): Fault | undefined {
  switch (weather) {
    case 'lost':
      return { type: 'lost', created: false };
    case 'carried out, then lost':
      return { type: 'lost', created: true };
    case 'refused key':
      return { type: 'answer', status: 401, body: { error: 'no' } };
    case 'overloaded':
      return { type: 'answer', status: 500, body: { error: 'overloaded' } };
    default:
      return undefined;
  }
}

/** Plays a history and checks after each run what must hold whatever has happened. */
async function play(history: readonly Run[], idempotency: boolean): Promise<void> {
  const world = new ImportHarness();
  const { service } = world;
  service.refusesTitle = 'refused';
  const policy = { idempotency, onUnknown: 'skip', batchSize: 3, concurrency: 2 } as const;
  const wanted = new Map<string, number>();
  const import_ = async (rows: Run['rows']) => {
    for (const { url } of rows) {
      const target = urlOf(url);
      wanted.set(target, Math.max(wanted.get(target) ?? 0, times(rows, target)));
    }
    const lines = rows.map(({ url, title }) => `${urlOf(url)},${title}`);
    world.write('input.csv', ['url,title', ...lines, ''].join('\n'));
    const summary = await world.import(policy);
    const { created, existing, failed, unknown, unsent, rejected } = summary;
    expect(created + existing + failed + unknown + unsent + rejected).toBe(rows.length);
    checkResults(world, rows);
    // Never more links than rows that asked for them at the same time.
    for (const [target, count] of service.created) {
      expect(count, target).toBeLessThanOrEqual(wanted.get(target) ?? 0);
    }
    return summary;
  };
  try {
    for (const { rows, weather, syncLinks, stopAfter } of history) {
      service.syncLinks = syncLinks;
      const before = service.asked.length;
      service.fault = (n) => faultOf(weather[n - before]);
      world.onEvent = (event) => {
        if (event.type === 'batch-sent' && event.batch === stopAfter) world.stop.abort();
      };
      await import_(rows);
    }
    service.fault = () => undefined;
    world.onEvent = () => {};
    const last = (history.at(-1)?.rows ?? []).map((row) => ({ ...row, title: 'a' }));
    const summary = await import_(last);
    expect(summary).toMatchObject({ failed: 0, unsent: 0, stopped: undefined });
    if (idempotency) expect(summary.unknown).toBe(0);
    const again = await import_(last);
    expect(again).toMatchObject({ created: 0, requests: 0, unknown: summary.unknown });
  } finally {
    world.dispose();
  }
}

/** A line for each row, in order; each row that is created has a link of its own, to its own URL. */
function checkResults(world: ImportHarness, rows: Run['rows']): void {
  const [, ...lines] = world.table();
  expect(lines.map(([url]) => url)).toEqual(rows.map(({ url }) => urlOf(url)));
  const created = lines.filter((line) => line[4] === 'created');
  for (const [url, , code = ''] of created) expect(world.service.targets.get(code)).toBe(url);
  expect(new Set(created.map((line) => line[2])).size).toBe(created.length);
}

test.each([true, false])(
  'whatever happens to files and requests, each row has its own link at the end: idempotency %s',
  async (idempotency) => {
    await fc.assert(
      fc.asyncProperty(fc.array(run, { minLength: 1, maxLength: 4 }), (history) =>
        play(history, idempotency),
      ),
      // A failing history is reported with its seed at once: making it shorter takes longer than a test may.
      { numRuns: 40, endOnFailure: true, timeout: 60_000 },
    );
  },
  900_000,
);
