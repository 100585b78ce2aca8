import { demand, type Exchange, fieldsOf, NotShown, type Statement, show } from '../statement.ts';
import {
  BATCH,
  demandInvalid,
  demandStatus,
  isOfProtocol,
  isPlanLimit,
  LINKS,
  stated,
  UNKNOWN_JOB,
} from './facts.ts';
import {
  demandStated,
  errorOf,
  firstRefusal,
  isApi,
  isOfAnotherKey,
  isOfMinute,
  messageOf,
  minuteOf,
  ownPlanLimits,
  planLimit,
  saysMinute,
} from './refusals.ts';

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
