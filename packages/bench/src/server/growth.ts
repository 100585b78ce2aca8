import { stat } from 'node:fs/promises';
import { join } from 'node:path';
import { peakMemoryMb } from '../frame/processes.ts';
import { type Contender, interleave } from '../frame/rounds.ts';
import { type Section, type SectionContext, scaled } from '../frame/section.ts';
import { type LoadRun, measureLoad, rawRequest, startLoad } from '../load/load.ts';
import { createRequests } from './creates.ts';
import { batchBody, createBatch } from './make-links.ts';
import { startOurs } from './targets.ts';

const SIZES = [10_000, 100_000, 1_000_000];
const LARGE_SIZES = [10_000_000];
const CONNECTIONS = 16;
const BATCH = 10_000;

/** The same work on databases of different sizes. */
export async function measureGrowth(context: SectionContext): Promise<Section> {
  const sizes = [...SIZES, ...(context.large ? LARGE_SIZES : [])].map((size) =>
    scaled(size, context, 1_000),
  );
  const contenders: Contender[] = [];
  for (const size of sizes) contenders.push(await grownServer(context, size));
  const [smallest] = contenders;
  return {
    title: 'Growth',
    about: `Codes are drawn from up to 250,000 links of each database, more than the server keeps in memory; the ratio is of creates.`,
    rows: await interleave(contenders, {
      rounds: context.rounds,
      ratio: { of: 'creates/s', to: smallest === undefined ? [] : [smallest.name] },
    }),
  };
}

async function grownServer(context: SectionContext, links: number): Promise<Contender> {
  const { children, directory } = context;
  const file = join(directory, `links-${links}.db`);
  const maker = await startOurs(context, `sqlite:${file}`);
  await maker.stop();
  const seeder = await children.start(new URL('./seed-process.ts', import.meta.url), [file]);
  const codes = await seeder.ask<string[]>(links);
  await seeder.stop();

  const load = await startLoad(children);
  const target = { ...(await startOurs(context, `sqlite:${file}`)), apiKey: maker.apiKey };
  const { url, pid } = target;
  const batch = batchBody(BATCH);
  const common = { url, connections: CONNECTIONS };
  const follow: LoadRun = {
    ...common,
    requests: codes.map((code) => rawRequest('GET', url, `/${code}`)),
    expect: 302,
    amount: { count: scaled(10_000, context, 500) },
  };
  const create: LoadRun = {
    ...common,
    requests: createRequests(target),
    expect: 201,
    amount: { count: scaled(3_000, context, 200) },
  };
  return {
    name: `${links.toLocaleString('en-US')} links`,
    measure: async () => {
      const redirects = await measureLoad(load, pid, follow);
      const creates = await measureLoad(load, pid, create);
      const startedAt = performance.now();
      await createBatch(target, batch);
      const batchMs = performance.now() - startedAt;
      return {
        'redirects/s': redirects['requests/s'] ?? Number.NaN,
        'redirect p99 ms': redirects['p99 ms'] ?? Number.NaN,
        'creates/s': creates['requests/s'] ?? Number.NaN,
        'create p99 ms': creates['p99 ms'] ?? Number.NaN,
        'ms/batch': batchMs,
        'file MB': (await stat(file)).size / 1e6,
        'peak RSS MB': peakMemoryMb(pid),
      };
    },
  };
}
