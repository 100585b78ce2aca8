import { startPostgres } from '../../../server/test/start-postgres.ts';
import { interleave } from '../frame/rounds.ts';
import {
  type Check,
  medianOf,
  type Row,
  type Section,
  type SectionContext,
  scaled,
} from '../frame/section.ts';
import { measureLoad, rawRequest, startLoad } from '../load/load.ts';
import { makeLinks } from './make-links.ts';
import { OURS, startFloors, startOurs, startTargets, type Target } from './targets.ts';

const CONNECTIONS = 50;
const LINKS = 20_000;

/** The largest batch. */
const LINKS_AT_ONCE = 10_000;

/** A redirect that counts its click, against a bare `node:http` with a `Map`; and how long it may take. */
const LEAST_OF_NODE = 0.7;
const LEAST_OF_NODE_ON_POSTGRES = 0.55;
const MOST_P99_MS = 5;

/** Redirects of links in memory, each with its click counted. */
export async function measureRedirects(context: SectionContext): Promise<Section> {
  const { title, about, rows } = await measureTargets(context, await startTargets(context));
  return {
    title,
    about,
    rows,
    checks: [
      toNode(rows, LEAST_OF_NODE),
      {
        name: 'p99 of redirects, ms',
        measured: medianOf(rows, OURS, 'p99 ms'),
        wanted: { atMost: MOST_P99_MS },
      },
    ],
  };
}

/** The same on PostgreSQL, which has its own processes beside the server's. */
export async function measureRedirectsOnPostgres(context: SectionContext): Promise<Section> {
  const postgres = await startPostgres();
  try {
    const floors = await startFloors(context);
    const ours = await startOurs(context, postgres.url);
    const { title, about, rows } = await measureTargets(context, [...floors, ours]);
    await ours.stop();
    return {
      title: `${title}, on PostgreSQL`,
      about,
      rows,
      checks: [toNode(rows, LEAST_OF_NODE_ON_POSTGRES)],
    };
  } finally {
    await postgres.remove();
  }
}

function toNode(rows: readonly Row[], atLeast: number): Check {
  const measured = medianOf(rows, OURS, 'to node:http');
  return { name: 'redirects to bare node:http', measured, wanted: { atLeast } };
}

async function measureTargets(
  context: SectionContext,
  targets: readonly Target[],
): Promise<Section> {
  const load = await startLoad(context.children);
  const links = scaled(LINKS, context, 1_000);
  const count = scaled(40_000, context, 2_000);
  const contenders = [];
  for (const target of targets) {
    const { name, url, pid } = target;
    const codes: string[] = [];
    while (codes.length < links) {
      codes.push(...(await makeLinks(target, Math.min(links - codes.length, LINKS_AT_ONCE))));
    }
    const requests = codes.map((code) => rawRequest('GET', url, `/${code}`));
    const common = { url, connections: CONNECTIONS, requests, expect: 302 };
    // Follow each link once first: a running service has its popular links in memory.
    await measureLoad(load, pid, { ...common, amount: { count: links } });
    contenders.push({
      name,
      measure: () => measureLoad(load, pid, { ...common, amount: { count } }),
    });
  }
  const rows = await interleave(contenders, {
    rounds: context.rounds,
    warmups: 2,
    ratio: { of: 'requests/s', to: ['node:http', 'Hono'] },
  });
  return {
    title: `Redirects, ${CONNECTIONS} connections`,
    about: `${count} GETs per round over ${links} links, as fast as they are answered: p50 and p99 are those of a server with no time to spare.`,
    rows,
  };
}
