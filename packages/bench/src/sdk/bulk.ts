import { peakMemoryMb } from '../frame/processes.ts';
import { type Contender, interleave } from '../frame/rounds.ts';
import { type Section, type SectionContext, scaled } from '../frame/section.ts';
import type { BulkTimes } from './bulk-process.ts';
import { LARGE_BATCH, SMALL_BATCH, startStub } from './stub.ts';

const CONCURRENCY = 4;

/** A million links take seconds, so they are run fewer times than requests are. */
const MOST_ROUNDS = 3;

/** A million links in batches of 100, each completed in the response. */
export function measureBulkSync(context: SectionContext): Promise<Section> {
  return measureBulk(context, SMALL_BATCH, 'each answered at once');
}

/** A million links in batches of 10,000, each a job that is polled. */
export function measureBulkJobs(context: SectionContext): Promise<Section> {
  return measureBulk(
    context,
    LARGE_BATCH,
    'each a job; raw fetch polls at once, createMany when it expects the end',
  );
}

async function measureBulk(
  context: SectionContext,
  batchSize: number,
  how: string,
): Promise<Section> {
  const { children, rounds } = context;
  const url = await startStub(children);
  const links = Math.ceil(scaled(1_000_000, context) / LARGE_BATCH) * LARGE_BATCH;
  const contender = (name: string, program: string): Contender => ({
    name,
    measure: async () => {
      const client = await children.start(new URL('./bulk-process.ts', import.meta.url), [program]);
      const run = { url, links, batchSize, concurrency: CONCURRENCY };
      const { ms, cpuMs } = await client.ask<BulkTimes>(run);
      const peakMb = peakMemoryMb(client.pid);
      await client.stop();
      return {
        'links/s': (links / ms) * 1000,
        'CPU µs/link': (cpuMs / links) * 1000,
        'peak RSS, MB': peakMb,
      };
    },
  });
  const rows = await interleave(
    [contender('fetch', 'fetch'), contender('@shortlink/sdk createMany', 'createMany')],
    {
      rounds: Math.min(rounds, MOST_ROUNDS),
      warmups: 0,
      ratio: { of: 'links/s', to: ['fetch'] },
    },
  );
  return {
    title: `${links.toLocaleString('en-US')} links in batches of ${batchSize.toLocaleString('en-US')}`,
    about: `${CONCURRENCY} batches at a time, ${how}; a fresh process each time.`,
    rows,
  };
}
