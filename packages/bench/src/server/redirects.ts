import { join } from 'node:path';
import { interleave } from '../frame/rounds.ts';
import { medianOf, type Section, type SectionContext, scaled } from '../frame/section.ts';
import { measureLoad, startLoad } from '../load/load.ts';
import { rawRequest } from '../load/load-run.ts';
import { makeLinks } from './make-links.ts';
import { OURS, startOurs, startService, startTargets } from './targets.ts';

const CONNECTIONS = 16;
const LINKS = 1_000;

/** Counting clicks may cost this much, and a redirect may take this long (issue "The server", Speed). */
const LEAST_OF_NOT_COUNTING = 0.85;
const MOST_P99_MS = 5;

const COUNTING = 'service, counting';
const NOT_COUNTING = 'service, not-counting';

/** Redirects over a thousand links. */
export async function measureRedirects(context: SectionContext): Promise<Section> {
  const load = await startLoad(context.children);
  const count = scaled(10_000, context, 500);
  const targets = [];
  for (const target of await startTargets(context)) {
    targets.push({ ...target, codes: await makeLinks(target, LINKS) });
  }
  for (const counting of ['counting', 'not-counting'] as const) {
    const file = join(context.directory, `${counting}.db`);
    const maker = await startOurs(context, file);
    const codes = await makeLinks(maker, LINKS);
    await maker.stop();
    targets.push({ ...(await startService(context, file, counting)), codes });
  }
  const contenders = targets.map(({ name, url, pid, codes }) => {
    const run = {
      url,
      connections: CONNECTIONS,
      requests: codes.map((code) => rawRequest('GET', url, `/${code}`)),
      expect: 302,
      amount: { count },
    };
    return { name, measure: () => measureLoad(load, pid, run) };
  });
  const rows = await interleave(contenders, {
    rounds: context.rounds,
    warmups: 2,
    ratio: { of: 'requests/s', to: ['node:http', 'Hono', NOT_COUNTING] },
  });
  return {
    title: `Redirects, ${CONNECTIONS} connections`,
    about: `${count} GETs per round over ${LINKS} links, as fast as they are answered: p50 and p99 are those of a server with no time to spare.`,
    rows,
    checks: [
      {
        name: 'redirects with counting to those without',
        measured: medianOf(rows, COUNTING, `to ${NOT_COUNTING}`),
        wanted: { atLeast: LEAST_OF_NOT_COUNTING },
      },
      {
        name: 'p99 of redirects, ms',
        measured: medianOf(rows, OURS, 'p99 ms'),
        wanted: { atMost: MOST_P99_MS },
      },
    ],
  };
}
