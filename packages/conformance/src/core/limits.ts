import type { Session } from '../session.ts';
import {
  demand,
  type Exchange,
  fieldsOf,
  isObject,
  NotShown,
  objectsIn,
  type Statement,
  show,
} from '../statement.ts';
import {
  BATCH,
  bareLink,
  demandInvalid,
  demandStatus,
  isOfProtocol,
  isPlanLimit,
  isSuccess,
  LINKS,
  refused,
  sendTooMany,
  targets,
  UNKNOWN_JOB,
} from './facts.ts';

const errorOf = (exchange: Exchange) => fieldsOf(exchange)['error'];

/** The message of an error, without what stands between thousands. */
const messageOf = (exchange: Exchange) =>
  String(errorOf(exchange)).replaceAll(/(\d)[,.'’\s](?=\d{3})/g, '$1');

/** Demands that the message of an error states a limit, or any number where nobody knows the limit. */
function demandStated(exchange: Exchange, allowed: number | undefined): void {
  const message = messageOf(exchange);
  const states = allowed === undefined ? /\d/ : new RegExp(`\\b${allowed}\\b`);
  const reason = `the message doesn't state ${allowed ?? 'a number'}: ${show(message)}`;
  demand(states.test(message), reason, exchange);
}

const isApi = ({ request }: Exchange) => request.path.startsWith('/api/v1/');

/** A batch of one link more than the plan allows in one, which creates nothing. */
const largeBatch = (session: Session) =>
  session.once('large batch', async () => {
    const size = session.limits?.batch ?? session.usageNumber('batch_size');
    if (size === undefined || size >= 10_000) {
      throw new NotShown('needs a plan with a batch size: --plan');
    }
    return sendTooMany(session, targets(session, 'large', size + 1));
  });

const ownPlanLimits = ({ exchanges }: Session) =>
  exchanges.filter((exchange) => isPlanLimit(exchange) && !isOfAnotherKey(exchange));

const isOfAnotherKey = ({ request }: Exchange) => request.headers['X-Api-Key'] === '<ANOTHER_KEY>';

/** A request that a limit of the plan refuses. */
async function planLimit(session: Session): Promise<Exchange> {
  const [seen] = ownPlanLimits(session);
  const limit = seen ?? (await largeBatch(session));
  if (isSuccess(limit)) throw new NotShown('no limit of the plan was reached', [limit]);
  return limit;
}

/** Requests per minute of the plan, or those that the service states. */
const minuteOf = (session: Session) =>
  session.limits?.minute ?? session.usageNumber('requests', 'minute', 'limit');

const saysMinute = (refusal: Exchange) => /minute/i.test(String(errorOf(refusal)));

/** A 429 of the day or the month asks for a longer wait, and doesn't speak of a minute. */
const isOfMinute = (refusal: Exchange) =>
  saysMinute(refusal) || !(Number(refusal.response.headers['retry-after']) > 60);

/** The requests that ask for a 429, where the run has none yet. */
const pollsUntilRefused = async (session: Session) =>
  session.refusals.length > 0
    ? []
    : session.once('polls until refused', () => pollUntilRefused(session));

/** A 429 of this run, which is asked for where there is none yet. */
async function firstRefusal(session: Session): Promise<void> {
  await pollsUntilRefused(session);
  if (session.refusals.length === 0) {
    throw new NotShown('no request of this run was refused with 429');
  }
}

/** Polls until one is refused. Of two minutes' requests and one more, sent within a minute, one window has too many. */
async function pollUntilRefused(session: Session): Promise<Exchange[]> {
  const minute = minuteOf(session) ?? 120;
  if (session.requestsLeft < minute + 2) {
    throw new NotShown(`needs ${minute + 2} requests: --budget-requests`);
  }
  const startedAt = performance.now();
  const polls: Exchange[] = [];
  while (polls.length <= 2 * minute && performance.now() - startedAt <= 60_000) {
    const poll = await session.send('GET', UNKNOWN_JOB);
    const { status } = poll.response;
    polls.push(poll);
    demand(status < 500, `request ${polls.length} of a minute is answered with ${status}`, poll);
    if (session.refusals.length > 0) break;
  }
  return polls;
}

export const keyStatements: Statement[] = [
  {
    id: 'key-required',
    section: 'Authentication',
    text: 'Every request carries `X-Api-Key`; missing or invalid: 401.',
    check: async (session) => {
      const body = { target_url: session.target('unauthorized') };
      const batch = { links: [body] };
      const attempts: Exchange[] = [];
      for (const key of [null, 'not-a-key', `${session.options.apiKey}x`]) {
        attempts.push(await session.send('POST', LINKS, { key, body, links: 1 }));
      }
      attempts.push(await session.send('POST', BATCH, { key: null, body: batch, links: 1 }));
      attempts.push(await session.send('GET', UNKNOWN_JOB, { key: 'not-a-key' }));
      for (const attempt of attempts) demandStatus(attempt, 401);
      return attempts;
    },
  },
  {
    id: 'write-permission',
    section: 'Authentication',
    text: 'Creating needs `shortlinks:write`; without it 403.',
    check: async (session) => {
      const { readKey: key } = session.options;
      if (key === undefined) throw new NotShown('needs a key without it: --read-key');
      const body = { target_url: session.target('forbidden') };
      const attempts = [
        await session.send('POST', LINKS, { key, body, links: 1 }),
        await session.send('POST', BATCH, { key, body: { links: [body] }, links: 1 }),
      ];
      for (const attempt of attempts) demandStatus(attempt, 403);
      return attempts;
    },
  },
  {
    id: 'number-of-keys',
    section: 'Authentication',
    text: 'The number of API keys depends on the plan.',
    check: async (session) => stated(session, 'api_keys', ({ keys }) => keys),
  },
];

export const errorStatements: Statement[] = [
  {
    id: 'error-body',
    section: 'Errors',
    text: 'Error bodies are JSON objects with a string `error`.',
    runs: 'last',
    check: async (session) => {
      const errors = session.exchanges.filter(
        (exchange) => isOfProtocol(exchange) && exchange.response.status >= 400,
      );
      for (const exchange of errors) {
        const error = errorOf(exchange);
        const isText = typeof error === 'string' && error !== '';
        const { status } = exchange.response;
        demand(isText, `error is ${show(error)} in a response with ${status}`, exchange);
      }
      if (errors.length === 0) throw new NotShown('no request of this run was refused');
      return errors.slice(0, 1);
    },
  },
  {
    id: 'upgrade-flag',
    section: 'Errors',
    text: 'A resource limit also has `upgrade: true`, and no other error has.',
    runs: 'last',
    check: async (session) => {
      for (const exchange of session.exchanges) {
        const isOther =
          isApi(exchange) && exchange.response.status >= 400 && exchange.response.status !== 403;
        if (isOther || isOfAnotherKey(exchange))
          demand(fieldsOf(exchange)['upgrade'] !== true, 'another error has upgrade', exchange);
      }
      const limit = demandStatus(await planLimit(session), 403);
      demand(isPlanLimit(limit), `upgrade is ${show(fieldsOf(limit)['upgrade'])}`, limit);
      return [limit];
    },
  },
  {
    id: 'invalid-target',
    section: 'Errors',
    text: '400 for a `target_url` that is missing or invalid.',
    check: async (session) => {
      const bad = [undefined, '', 'no address', 42, null];
      return demandInvalid(
        session,
        bad.map((target_url) => ({ target_url })),
      );
    },
  },
  {
    id: 'limit-message',
    section: 'Errors',
    text: '403 at a resource limit states used and allowed and advises an upgrade.',
    runs: 'last',
    check: async (session) => {
      const limit = await planLimit(session);
      if (!isPlanLimit(limit)) throw new NotShown('no limit of the plan was reached', [limit]);
      const message = messageOf(limit);
      const counts = new Set(message.match(/\d+/g));
      const hasTwo = counts.size >= 2 || /\d\D+\d/.test(message);
      demand(hasTwo, `the message has no two counts: ${show(message)}`, limit);
      demand(/upgrad/i.test(message), `the message advises no upgrade: ${show(message)}`, limit);
      // Only the total of links refuses a single link.
      const single = ownPlanLimits(session).find(({ request }) => request.path === LINKS);
      if (single !== undefined) demandStated(single, session.limits?.links);
      return [limit];
    },
  },
  {
    id: 'rate-message',
    section: 'Errors',
    text: '429 states the allowed requests per minute and carries `Retry-After`.',
    runs: 'late',
    check: async (session) => {
      await firstRefusal(session);
      const limit = session.refusals.map(({ refused: refusal }) => refusal).find(isOfMinute);
      if (limit === undefined) throw new NotShown('no refusal of this run is one of a minute');
      const wait = limit.response.headers['retry-after'];
      demand(wait !== undefined, 'there is no Retry-After', limit);
      demandStated(limit, minuteOf(session));
      return [limit];
    },
  },
  {
    id: 'retry-after',
    section: 'Errors',
    text: '`Retry-After` is the number of seconds to wait.',
    runs: 'late',
    check: async (session) => {
      await firstRefusal(session);
      const minute = minuteOf(session) ?? Number.POSITIVE_INFINITY;
      for (const { refused: limit, passed, after } of session.refusals) {
        const wait = limit.response.headers['retry-after'] ?? '';
        demand(/^\d+$/.test(wait), `Retry-After is ${show(wait)}`, limit);
        // A 429 of the day states the requests per minute too. It may come before these are used up.
        const isOfDay = !saysMinute(limit) || passed < minute;
        demand(
          Number(wait) <= 60 || isOfDay,
          `Retry-After is ${wait} where the limit is one of a minute`,
          limit,
        );
        if (after === undefined)
          throw new NotShown(`the service asks for a wait of ${wait} s`, [limit]);
        demand(
          after.response.status !== 429,
          `after ${wait} s the request is refused again`,
          limit,
          after,
        );
      }
      return session.refusals
        .slice(0, 1)
        .flatMap(({ refused: limit, after }) => (after === undefined ? [limit] : [limit, after]));
    },
  },
];

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
      if (session.usageNumber('requests', 'minute', 'limit') === undefined) {
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

/** Compares a limit that the service states about the account with that of the plan. */
async function stated(
  session: Session,
  path: string,
  limitOf: (limits: NonNullable<Session['limits']>) => number,
) {
  if (session.usage === undefined) throw new NotShown('needs GET /api/v1/usage, or an operator');
  if (session.limits === undefined) throw new NotShown('needs a plan with known limits');
  const value = session.usageNumber(...path.split('.'), 'limit');
  if (value === undefined)
    throw new NotShown(`the usage has no number ${path}.limit`, [session.usage]);
  const wanted = limitOf(session.limits);
  demand(
    value === wanted,
    `the usage states ${show(value)}, the plan has ${wanted}`,
    session.usage,
  );
  return [session.usage];
}

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
