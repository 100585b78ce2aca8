import { setNice } from '../frame/processes.ts';
import { interleave, type Sample } from '../frame/rounds.ts';
import { medianOf, type Section, type SectionContext, scaled } from '../frame/section.ts';
import { measureLoad, rawRequest, startLoad } from '../load/load.ts';
import { batchBody, createBatch, makeLinks } from './make-links.ts';
import { startFloors, startOurs, type Target } from './targets.ts';

const CONNECTIONS = 8;
const PER_SECOND = 500;
const LINKS = 1_000;
const BATCH = 10_000;

/** A redirect while batches run. */
const MOST_P50_MS = 1.2;
const MOST_P99_MS = 6;

const BUSY = 'while batches run';
const FLOOR_BUSY = 'node:http, while the server runs them';

async function redirectsOf(target: Target, context: SectionContext) {
  const codes = await makeLinks(target, LINKS);
  return {
    url: target.url,
    connections: CONNECTIONS,
    requests: codes.map((code) => rawRequest('GET', target.url, `/${code}`)),
    expect: 302,
    amount: { perSecond: PER_SECOND, forMs: scaled(4_000, context, 500) },
  };
}

/** How long a visitor waits while another account imports. */
export async function measureRedirectsBesideJobs(context: SectionContext): Promise<Section> {
  const load = await startLoad(context.children);
  const target = await startOurs(context);
  const [floor] = await startFloors(context);
  if (floor === undefined) throw new Error('no floor was started');
  // The wait of the process that measures isn't the server's, and who imports has a machine of its own.
  const maySetNice = setNice(load.pid, -20);
  const body = batchBody(BATCH);
  const [ours, bare] = [await redirectsOf(target, context), await redirectsOf(floor, context)];

  async function measureBusy(redirects: typeof ours): Promise<Sample> {
    let links = 0;
    let isOver = false;
    if (maySetNice) setNice(process.pid, 19);
    const import_ = (async () => {
      while (!isOver) links += (await createBatch(target, body)).length;
    })();
    const startedAt = performance.now();
    const sample = await measureLoad(load, target.pid, redirects).finally(() => {
      isOver = true;
    });
    await import_;
    if (maySetNice) setNice(process.pid, 0);
    const seconds = (performance.now() - startedAt) / 1000;
    const { 'CPU µs/request': _both, ...figures } = sample;
    return { ...figures, 'links/s': links / seconds };
  }

  const rows = await interleave(
    [
      { name: 'nothing else runs', measure: () => measureLoad(load, target.pid, ours) },
      { name: BUSY, measure: () => measureBusy(ours) },
      { name: FLOOR_BUSY, measure: () => measureBusy(bare) },
    ],
    { rounds: context.rounds },
  );
  return {
    title: 'Redirects while batches run',
    about: `${PER_SECOND} GETs a second, come what may, over ${CONNECTIONS} connections; beside them batches of ${BATCH.toLocaleString('en-US')} links, one after the other. Where the user may set priorities, who measures goes before the server, and who sends batches after it. What bare node:http takes then is what the machine takes.`,
    rows,
    checks: [
      {
        name: 'p50 of a redirect while batches run, ms',
        measured: medianOf(rows, BUSY, 'p50 ms'),
        wanted: { atMost: MOST_P50_MS },
      },
      {
        name: 'p99 of a redirect while batches run, ms',
        measured: medianOf(rows, BUSY, 'p99 ms'),
        wanted: { atMost: MOST_P99_MS },
      },
    ],
  };
}
