import { type Contender, interleave } from '../frame/rounds.ts';
import { medianOf, type Section, type SectionContext, scaled } from '../frame/section.ts';
import type { CreateRun, CreateTimes } from './client-process.ts';
import { CLIENT_NAMES } from './clients.ts';
import { startStub } from './stub.ts';

/** The client must reach at least this part of the rate of ky, on which it is built. */
const LEAST_OF_KY = 0.9;

const RATE = 'requests/s';

/** Many short rounds: other work of the machine slows neighbouring rounds equally, so that the median of their ratios is stable. */
const ROUNDS_FACTOR = 10;

/** Some thousand requests of each client, until its code is compiled. */
const WARMUPS = 10;

/** Creates one after the other. */
export function measureSequential(context: SectionContext): Promise<Section> {
  return measureRequests(context, { concurrency: 1, requests: scaled(150, context) });
}

/** Creates 50 at a time. */
export function measureConcurrent(context: SectionContext): Promise<Section> {
  return measureRequests(context, { concurrency: 50, requests: scaled(400, context, 100) });
}

async function measureRequests(context: SectionContext, run: CreateRun): Promise<Section> {
  const { children, rounds } = context;
  const url = await startStub(children);
  const contenders: Contender[] = [];
  for (const name of CLIENT_NAMES) {
    const program = new URL('./client-process.ts', import.meta.url);
    const client = await children.start(program, [name, url]);
    contenders.push({
      name,
      measure: async () => {
        const { ms, cpuMs } = await client.ask<CreateTimes>(run);
        return {
          [RATE]: (run.requests / ms) * 1000,
          'CPU µs/request': (cpuMs / run.requests) * 1000,
        };
      },
    });
  }
  const ratio = { of: RATE, to: ['fetch', 'ky'] };
  const rows = await interleave(contenders, {
    rounds: rounds * ROUNDS_FACTOR,
    warmups: WARMUPS,
    ratio,
  });
  const ofKy = medianOf(rows, '@shortlink/sdk', 'to ky');
  const { requests, concurrency } = run;
  return {
    title: concurrency === 1 ? 'Creates, one after the other' : `Creates, ${concurrency} at a time`,
    about: `${requests} creates in each of ${rounds * ROUNDS_FACTOR} rounds, against a stub in another process; CPU is the client process's own.`,
    rows,
    checks: [{ name: 'requests/s, ours to ky', measured: ofKy, wanted: { atLeast: LEAST_OF_KY } }],
  };
}
