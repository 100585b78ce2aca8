import { interleave } from '../frame/rounds.ts';
import { medianOf, type Section, type SectionContext, scaled } from '../frame/section.ts';
import { measureLoad, rawRequest, startLoad } from '../load/load.ts';
import { linkInput } from './make-links.ts';
import { insertContender, OURS, startCommitEach, startTargets, type Target } from './targets.ts';

const CONNECTIONS = 50;

/** A durable create against one in memory, on bare `node:http`, and against a commit per request. */
const LEAST_OF_NODE = 0.32;
const LEAST_OF_COMMIT_EACH = 5;

const RATE = 'requests/s';
const COMMIT_EACH = 'node:http, a commit each';
const INSERTS = 'insert loop, a commit each';

/** Creates of one link, 50 at a time. */
export async function measureCreates(context: SectionContext): Promise<Section> {
  const load = await startLoad(context.children);
  const count = scaled(6_000, context, 500);
  const targets = [...(await startTargets(context)), await startCommitEach(context)];
  const contenders = targets.map((target) => {
    const { name, pid, url } = target;
    const run = {
      url,
      connections: CONNECTIONS,
      requests: createRequests(target),
      expect: 201,
      amount: { count },
    };
    return { name, measure: () => measureLoad(load, pid, run) };
  });
  const inserts = await insertContender(context, INSERTS, RATE, {
    links: scaled(1_000, context, 100),
    perCommit: 1,
  });
  const rows = await interleave([...contenders, inserts], {
    rounds: context.rounds,
    warmups: 2,
    ratio: { of: RATE, to: ['node:http', 'Hono', COMMIT_EACH] },
  });
  return {
    title: `Creates, ${CONNECTIONS} connections`,
    about: `${count} creates per round; an answer of ours says that the link is on disk, the first two keep theirs in memory.`,
    rows,
    checks: [
      {
        name: 'durable creates to bare node:http, which keeps them in memory',
        measured: medianOf(rows, OURS, 'to node:http'),
        wanted: { atLeast: LEAST_OF_NODE },
      },
      {
        name: 'durable creates to a commit each',
        measured: medianOf(rows, OURS, `to ${COMMIT_EACH}`),
        wanted: { atLeast: LEAST_OF_COMMIT_EACH },
      },
    ],
  };
}

/** A hundred different creates, written out. */
export function createRequests({ url, apiKey }: Target): string[] {
  return Array.from({ length: 100 }, (_, number) =>
    rawRequest('POST', url, '/api/v1/links', {
      headers: { 'X-Api-Key': apiKey },
      body: JSON.stringify(linkInput(number)),
    }),
  );
}
