import { cpuTimeMs } from '../frame/processes.ts';
import { type Contender, interleave } from '../frame/rounds.ts';
import { medianOf, type Section, type SectionContext, scaled } from '../frame/section.ts';
import { measureLoad, rawRequest, startLoad } from '../load/load.ts';
import { batchBody, createBatch } from './make-links.ts';
import { insertContender, OURS, startTargets, type Target } from './targets.ts';

const SMALL_BATCH = 100;
const LARGE_BATCH = 10_000;
const CONNECTIONS = 8;

/** Links that one step of a job creates. Redirects and creates run between two steps. */
const CHUNK = 500;

/** A batch of 10,000, with its polls, against a bare loop that inserts its rows, chunk by chunk and in one transaction. */
const LEAST_OF_INSERTS = 0.6;
const LEAST_OF_ONE_TRANSACTION = 0.42;

const RATE = 'links/s';
const INSERTS = 'insert loop';
const ONE_TRANSACTION = 'insert loop, one transaction';

/** Batches of 100, each answered when its links are on disk. */
export async function measureSyncBatches(context: SectionContext): Promise<Section> {
  const load = await startLoad(context.children);
  const count = scaled(200, context, 20);
  const contenders = (await startTargets(context)).map((target): Contender => {
    const { name, url, pid, apiKey } = target;
    const headers = { 'X-Api-Key': apiKey };
    const body = batchBody(SMALL_BATCH);
    const run = {
      url,
      connections: CONNECTIONS,
      requests: [rawRequest('POST', url, '/api/v1/links/batch', { headers, body })],
      expect: 200,
      amount: { count },
    };
    return {
      name,
      measure: async () => {
        const { 'requests/s': rate = Number.NaN, ...sample } = await measureLoad(load, pid, run);
        return { [RATE]: rate * SMALL_BATCH, ...sample };
      },
    };
  });
  const insertRun = { links: count * SMALL_BATCH, perCommit: SMALL_BATCH };
  const inserts = await insertContender(context, INSERTS, RATE, insertRun);
  return {
    title: `Batches of ${SMALL_BATCH}, ${CONNECTIONS} connections`,
    about: `${count} batches per round; the insert loop commits after every ${SMALL_BATCH} rows.`,
    rows: await interleave([...contenders, inserts], {
      rounds: context.rounds,
      ratio: { of: RATE, to: ['node:http', 'Hono', INSERTS] },
    }),
  };
}

/** Batches of 10,000, from the POST to the poll that says completed. */
export async function measureJobs(context: SectionContext): Promise<Section> {
  const batches = scaled(3, context, 1);
  const body = batchBody(LARGE_BATCH);
  const contenders = (await startTargets(context)).map((target) => ({
    name: target.name,
    measure: () => measureJobRun(target, body, batches),
  }));
  const links = batches * LARGE_BATCH;
  const inserts = [
    await insertContender(context, INSERTS, RATE, { links, perCommit: CHUNK }),
    await insertContender(context, ONE_TRANSACTION, RATE, { links, perCommit: LARGE_BATCH }),
  ];
  const rows = await interleave([...contenders, ...inserts], {
    rounds: context.rounds,
    ratio: { of: RATE, to: ['node:http', 'Hono', INSERTS, ONE_TRANSACTION] },
  });
  return {
    title: `Batches of ${LARGE_BATCH.toLocaleString('en-US')}`,
    about: `${batches} batches per round, one after the other, each from its POST until a poll finds it completed; the insert loop commits after every ${CHUNK} rows, as a job does, or once a batch.`,
    rows,
    checks: [
      {
        name: 'links/s of a large batch to the insert loop',
        measured: medianOf(rows, OURS, `to ${INSERTS}`),
        wanted: { atLeast: LEAST_OF_INSERTS },
      },
      {
        name: 'links/s of a large batch to one bare transaction',
        measured: medianOf(rows, OURS, `to ${ONE_TRANSACTION}`),
        wanted: { atLeast: LEAST_OF_ONE_TRANSACTION },
      },
    ],
  };
}

async function measureJobRun(target: Target, body: string, batches: number) {
  const cpuBefore = cpuTimeMs(target.pid);
  const startedAt = performance.now();
  for (let batch = 0; batch < batches; batch += 1) await createBatch(target, body);
  const ms = performance.now() - startedAt;
  const links = batches * LARGE_BATCH;
  return {
    [RATE]: (links / ms) * 1000,
    'ms/batch': ms / batches,
    'CPU µs/link': ((cpuTimeMs(target.pid) - cpuBefore) / links) * 1000,
  };
}
