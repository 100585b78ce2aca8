import type { Session } from '../session.ts';
import {
  demand,
  type Exchange,
  fieldsOf,
  isObject,
  NotShown,
  objectsIn,
  type Statement,
} from '../statement.ts';
import {
  BATCH,
  bareLink,
  isPlanLimit,
  isSuccess,
  LINKS,
  refused,
  stated,
  targets,
  UNKNOWN_JOB,
} from './facts.ts';
import { firstRefusal, largeBatch, pollsUntilRefused } from './refusals.ts';

export const limitStatements: Statement[] = [
  {
    id: 'requests-per-minute',
    section: 'Limits',
    text: 'Requests per minute: 15 on Community, 60 on Pro, 120 on Avance.',
    runs: 'late',
    check: requestsPerMinute,
  },
  {
    id: 'requests-per-day',
    section: 'Limits',
    text: 'Requests per day: 100, 10,000, 50,000; per month: 2,000, 200,000, 1,000,000.',
    check: async (session) =>
      [
        ...(await stated(session, 'requests.day', ({ day }) => day)),
        ...(await stated(session, 'requests.month', ({ month }) => month)),
      ].slice(0, 1),
  },
  {
    id: 'links-in-total',
    section: 'Limits',
    text: 'Short links in total: 15, 1,000, 6,000.',
    runs: 'late',
    check: linksInTotal,
  },
  {
    id: 'keys-of-plan',
    section: 'Limits',
    text: 'API keys: 1, 3, 10.',
    check: async (session) => stated(session, 'api_keys', ({ keys }) => keys),
  },
  {
    id: 'custom-limits',
    section: 'Limits',
    text: 'On Custom, each limit is set on its own.',
    check: async () => {
      throw new NotShown('needs an operator who sets them');
    },
  },
  {
    id: 'batch-size',
    section: 'Limits',
    text: 'A batch holds 100 links on Community and Pro, 5,000 on Avance, and what is set on Custom.',
    check: async (session) => {
      const batch = await largeBatch(session);
      const { batch: size = 0, links: total = 0 } = session.limits ?? {};
      // The protocol lists the sizes 100 and 5,000, and leaves open which plan has which. Only a service that states its size is held to it.
      const isStated = session.usageNumber('batch_size') !== undefined;
      if (isSuccess(batch) && !isStated && size < 5_000 && size < total) {
        throw new NotShown(
          `the service takes more than ${size} links: needs a size that it states`,
          [batch],
        );
      }
      refused(batch, 'a batch above the size of the plan');
      const { limit } = fieldsOf(batch);
      if (limit === 'links' || (limit === undefined && size >= total)) {
        throw new NotShown('the total of links may refuse it first', [batch]);
      }
      demand(isPlanLimit(batch), 'it is not refused with 403 and upgrade', batch);
      return [batch];
    },
  },
  {
    id: 'usage-of-keys',
    section: 'Limits',
    text: 'Usage per API key is visible.',
    check: async (session) => {
      if (session.usage === undefined) throw new NotShown('needs GET /api/v1/usage');
      // The protocol has no such request: what a service has at this path may be something else.
      if (session.usageNumber('requests', 'minute', 'used') === undefined) {
        throw new NotShown('GET /api/v1/usage is of another form', [session.usage]);
      }
      const keys = objectsIn(fieldsOf(session.usage), 'keys');
      const hasUse = keys.length > 0 && keys.every(({ requests }) => isObject(requests));
      demand(hasUse, 'the usage shows no requests of keys', session.usage);
      return [session.usage];
    },
  },
];

export const versionStatements: Statement[] = [
  {
    id: 'version-in-path',
    section: 'Version',
    text: 'All paths are under `/api/v1`.',
    check: async (session) => {
      const body = { target_url: session.target('version') };
      // A service may have a version 2 beside this one.
      const other = await session.send('POST', '/api/v999/links', { body, links: 1 });
      const isLink = isSuccess(other) && 'code' in fieldsOf(other);
      // A page is none, whatever its status.
      if (isSuccess(other) && !isLink) session.linksCreated -= 1;
      demand(!isLink, 'another version creates a link too', other);
      return [await bareLink(session), other];
    },
  },
];

/**
 * Lets a minute pass without a request, right after a window began, and then sends one request more than the plan allows. So it counts
 * the same whether windows follow the clock or the requests.
 */
async function requestsPerMinute(session: Session): Promise<Exchange[]> {
  if (session.limits === undefined) throw new NotShown('needs a plan with a known rate: --plan');
  const { minute } = session.limits;
  const polls = await pollsUntilRefused(session);
  demand(
    session.refusals.length > 0 || polls.length <= 2 * minute,
    `${polls.length} requests passed in a minute, the plan has ${minute}`,
    ...polls.slice(-1),
  );
  await firstRefusal(session);
  if (session.requestsLeft < minute + 1) {
    throw new NotShown(`needs ${minute + 1} requests more: --budget-requests`);
  }
  const start = await windowStart(session);
  await session.sleep(60_000);
  const burst: Exchange[] = [];
  while (burst.length <= minute) {
    const size = Math.min(8, minute + 1 - burst.length);
    const send = () => session.send('GET', UNKNOWN_JOB, { isPaced: false });
    burst.push(...(await Promise.all(Array.from({ length: size }, send))));
  }
  const ofDay = burst.find((exchange) => Number(exchange.response.headers['retry-after']) > 60);
  if (ofDay !== undefined) throw new NotShown('a limit of more than a minute was reached', [ofDay]);
  const passed = burst.filter(({ response }) => response.status !== 429).length;
  const last = burst.at(-1);
  const shown = [start, last].filter((exchange) => exchange !== undefined);
  demand(
    passed === minute,
    `${passed} of ${burst.length} requests passed in a minute, the plan has ${minute}`,
    ...shown,
  );
  return shown;
}

/** The first request of a window: the one that was sent last, or else one after what is left of a window was used up. */
async function windowStart(session: Session): Promise<Exchange> {
  const last = session.refusals.at(-1)?.after;
  if (last !== undefined && last === session.exchanges.at(-1)) return last;
  const before = session.refusals.length;
  const { minute = 0 } = session.limits ?? {};
  const startedAt = performance.now();
  const polls: Exchange[] = [];
  // Of two minutes' requests and one more, one window has too many.
  while (polls.length <= 2 * minute) {
    polls.push(await session.send('GET', UNKNOWN_JOB));
    const refusal = session.refusals[before];
    if (refusal?.after !== undefined) return refusal.after;
  }
  const reason = `${polls.length} polls at once met no limit of a minute`;
  demand(performance.now() - startedAt > 60_000, reason, ...polls.slice(-1));
  throw new NotShown(reason);
}

/** Creates links until one is refused, where the account holds few enough. */
async function linksInTotal(session: Session): Promise<Exchange[]> {
  if (session.limits === undefined) throw new NotShown('needs a plan with known limits: --plan');
  const { links: total } = session.limits;
  const now = await session.send('GET', '/api/v1/usage');
  const { links } = fieldsOf(now);
  const used = isObject(links) && typeof links['used'] === 'number' ? links['used'] : undefined;
  const room = total - (used ?? session.linksCreated);
  // A service without this limit creates one more, for which a budget that was given must have room.
  const needed = session.options.budgetLinks === undefined ? room : room + 1;
  if (needed > session.linksLeft) throw new NotShown(`needs ${needed} links: --budget-links`);
  const filled: Exchange[] = [];
  for (let left = room; left > 0; left -= 100) {
    const links = targets(session, `fill-${left}`, Math.min(left, 100));
    const batch = await session.send('POST', BATCH, { body: { links }, links: links.length });
    const isEarly = isPlanLimit(batch) && used === undefined;
    if (isEarly) throw new NotShown('the account may have held links before', [batch]);
    demand(isSuccess(batch), `the account can't hold its ${total} links`, now, batch);
    filled.push(batch);
  }
  const body = { target_url: session.target('one-too-many') };
  const over = await session.send('POST', LINKS, { body });
  if (isSuccess(over)) session.linksCreated += 1;
  demand(!isSuccess(over), `a link more than ${total} is created`, ...filled.slice(-1), over);
  demand(isPlanLimit(over), 'it is not refused with 403 and upgrade', over);
  return [...filled.slice(-1), over];
}
