import {
  acceptedJob,
  BATCH,
  bareLink,
  createBatch,
  createLink,
  demandInvalid,
  demandStatus,
  fullLink,
  isPlanLimit,
  isSuccess,
  jobPolls,
  LINKS,
  LOOKUP,
  refused,
  targets,
  UNKNOWN_JOB,
} from './core/facts.ts';
import type { Session } from './session.ts';
import {
  demand,
  type Exchange,
  fieldsOf,
  NotShown,
  objectsIn,
  type Statement,
  show,
} from './statement.ts';

function needs(session: Session, feature: string): void {
  if (!session.features.includes(feature))
    throw new NotShown(`the service does not offer ${feature}`);
}

function addition(id: string, section: string, text: string, check: Statement['check']): Statement {
  return { id, section, text, isAddition: true, check };
}

/** What the reference server does beyond the protocol. A service that does otherwise still conforms. */
export const additions: Statement[] = [
  addition(
    'redirect',
    'Redirects',
    '`GET` and `HEAD` of a short URL redirect with the redirect type of the link.',
    async (session) => {
      const link = await fullLink(session);
      const { short_url, target_url } = fieldsOf(link);
      const visits: Exchange[] = [];
      for (const method of ['HEAD', 'GET']) {
        const visit = await session.send(method, String(short_url), { key: null });
        visits.push(demandStatus(visit, 301));
        const { location } = visit.response.headers;
        demand(location === target_url, `${method} leads to ${show(location)}`, link, visit);
      }
      return visits;
    },
  ),
  addition('unknown-code', 'Redirects', 'An unknown code is 404.', async (session) => {
    const { short_url, code } = fieldsOf(await bareLink(session));
    const unknown = String(short_url).slice(0, -String(code).length) + '0'.repeat(20);
    return [demandStatus(await session.send('GET', unknown, { key: null }), 404)];
  }),
  addition(
    'created-status',
    'Links and batches',
    '`POST /api/v1/links` answers 201; `title` is `""` and `tags` is `[]` where they were not sent.',
    async (session) => {
      const link = demandStatus(await bareLink(session), 201);
      const { title, tags } = fieldsOf(link);
      const isDefault = title === '' && show(tags) === '[]';
      demand(isDefault, `title is ${show(title)}, tags is ${show(tags)}`, link);
      return [link];
    },
  ),
  addition(
    'code-alphabet',
    'Links and batches',
    'A code has 7 characters of 57 (digits and letters without 0 O 1 l I).',
    async (session) => {
      const links = [await bareLink(session), await fullLink(session)];
      for (const link of links) {
        const { code } = fieldsOf(link);
        demand(/^[2-9A-HJ-NP-Za-km-z]{7}$/.test(String(code)), `a code is ${show(code)}`, link);
      }
      return links;
    },
  ),
  addition(
    'target-rules',
    'Links and batches',
    'A target URL is http or https, at most 2,048 characters, without a password.',
    async (session) => {
      const long = `https://example.com/${'a'.repeat(2_029)}`;
      const bad = ['ftp://example.com/', 'https://user:secret@example.com/', long];
      return demandInvalid(
        session,
        bad.map((target_url) => ({ target_url })),
      );
    },
  ),
  addition(
    'text-bounds',
    'Links and batches',
    'A title has at most 255 characters; there are at most 20 tags of 1 to 64 characters.',
    async (session) => {
      const tags = [Array(21).fill('x'), ['x'.repeat(65)]].map((some) => ({ tags: some }));
      return demandInvalid(session, [{ title: 'x'.repeat(256) }, ...tags]);
    },
  ),
  addition(
    'whole-batch',
    'Links and batches',
    'A batch is created whole or not at all: one bad entry is 400, and `details` names it by index.',
    async (session) => {
      const links = [{ target_url: session.target('whole') }, { target_url: 'no address' }];
      const sent = await session.send('POST', BATCH, { body: { links }, links: 2 });
      const batch = demandStatus(sent, 400);
      const [detail] = objectsIn(fieldsOf(batch), 'details');
      demand(detail?.['index'] === 1, `details begins with ${show(detail)}`, batch);
      return [batch];
    },
  ),
  addition(
    'results-in-order',
    'Links and batches',
    'Results of a batch and of a job are in the order of its links.',
    async (session) => {
      const sent = targets(session, 'order', 3).reverse();
      const batch = await createBatch(session, sent);
      const got = objectsIn(fieldsOf(batch), 'results').map(({ target_url }) => ({ target_url }));
      demand(JSON.stringify(got) === JSON.stringify(sent), 'the order is another', batch);
      return [batch];
    },
  ),
  addition(
    'poll-interval',
    'Links and batches',
    'The response to a batch that becomes a job carries `Retry-After`, and a completed job none.',
    async (session) => {
      const job = await acceptedJob(session);
      const wait = job.response.headers['retry-after'];
      demand(/^\d+$/.test(wait ?? ''), `Retry-After is ${show(wait)}`, job);
      const last = (await jobPolls(session)).slice(-1);
      const hasNone = last.every(({ response }) => response.headers['retry-after'] === undefined);
      demand(hasNone, 'a completed job carries Retry-After', ...last);
      return [job, ...last];
    },
  ),
  addition('unknown-job', 'Links and batches', 'An unknown job is 404.', async (session) => {
    return [demandStatus(await session.send('GET', UNKNOWN_JOB), 404)];
  }),
  addition(
    'idempotent-replay',
    'Idempotency',
    '`Idempotency-Key`: the same key and body get the first response again; the same key with another body is 422.',
    async (session) => {
      needs(session, 'idempotency');
      const headers = { 'Idempotency-Key': crypto.randomUUID() };
      const body = { target_url: session.target('idempotent') };
      const first = await session.send('POST', LINKS, { body, headers, links: 1 });
      if (isPlanLimit(first)) throw new NotShown('the plan has no room for it', [first]);
      const again = await session.send('POST', LINKS, { body, headers, links: 1 });
      const isSame = isSuccess(first) && fieldsOf(first)['code'] === fieldsOf(again)['code'];
      // A replay creates none.
      if (isSame) session.linksCreated -= 1;
      demand(isSame, 'another link is created', first, again);
      const others = { target_url: session.target('other') };
      const other = await session.send('POST', LINKS, { body: others, headers, links: 1 });
      return [first, again, demandStatus(other, 422)];
    },
  ),
  addition(
    'look-up',
    'POST /api/v1/links/lookup',
    'It tells which links lead to given targets, or have given codes, in the order asked.',
    async (session) => {
      needs(session, 'lookup');
      const { code, target_url } = fieldsOf(await fullLink(session));
      const byTarget = await session.send('POST', LOOKUP, {
        body: { links: [{ target_url: session.target('nobody') }, { target_url }] },
      });
      const byCode = await session.send('POST', LOOKUP, { body: { codes: ['0'.repeat(7), code] } });
      for (const found of [byTarget, byCode]) {
        demandStatus(found, 200);
        const codes = objectsIn(fieldsOf(found), 'results').map((result) =>
          objectsIn(result, 'links').map((link) => link['code']),
        );
        const [seen, wanted] = [show(codes), show([[], [code]])];
        demand(seen === wanted, `it finds ${seen}, not ${wanted}`, found);
      }
      return [byTarget, byCode];
    },
  ),
  addition(
    'usage-counts',
    'Usage',
    '`GET /api/v1/usage` counts against no quota.',
    async (session) => {
      if (session.usage === undefined)
        throw new NotShown('the service does not offer GET /api/v1/usage');
      const [first, second] = [
        await session.send('GET', '/api/v1/usage'),
        await session.send('GET', '/api/v1/usage'),
      ];
      const used = [first, second].map(
        (usage) =>
          (fieldsOf(usage)['requests'] as { day?: { used?: unknown } } | undefined)?.day?.used,
      );
      const isSame = typeof used[0] === 'number' && used[0] === used[1];
      demand(isSame, `the day has ${show(used)} requests`, first, second);
      return [first, second];
    },
  ),
  addition(
    'rate-limit-headers',
    'Limits',
    'Authenticated responses carry `RateLimit` and `RateLimit-Policy` with the limits of the plan.',
    async (session) => {
      const poll = await session.send('GET', UNKNOWN_JOB);
      const { 'ratelimit-policy': policy, ratelimit } = poll.response.headers;
      if (policy === undefined && ratelimit === undefined)
        throw new NotShown('the service does not send them', [poll]);
      if (session.limits === undefined)
        throw new NotShown('needs a plan with known limits: --plan', [poll]);
      for (const name of ['minute', 'day', 'month'] as const) {
        const quota = session.limits[name];
        demand(
          policy?.includes(`"${name}";q=${quota};`) ?? false,
          `the policy of the ${name} is not ${quota}: ${policy}`,
          poll,
        );
      }
      return [poll];
    },
  ),
  addition(
    'error-codes',
    'Errors',
    'Errors carry a stable machine word, `code`; a limit of the plan also `limit`, `used` and `allowed`.',
    async (session) => {
      const errors = session.exchanges.filter(
        ({ request, response }) => request.path.startsWith('/api/') && response.status >= 400,
      );
      for (const error of errors) {
        const { code, upgrade, limit, used, allowed } = fieldsOf(error);
        demand(/^[a-z_]+$/.test(String(code)), `code is ${show(code)}`, error);
        const isWhole =
          upgrade !== true ||
          (typeof limit === 'string' && typeof used === 'number' && typeof allowed === 'number');
        demand(isWhole, 'a limit of the plan lacks limit, used or allowed', error);
      }
      return errors.slice(0, 1);
    },
  ),
  addition(
    'http-statuses',
    'HTTP',
    '415 for a body that is not JSON, 405 with `Allow` for another method, 413 above 256 KiB for one link.',
    async (session) => {
      const text = await session.send('POST', LINKS, {
        text: '{}',
        headers: { 'Content-Type': 'text/plain' },
      });
      demandStatus(text, 415);
      const method = await session.send('DELETE', LINKS);
      demandStatus(method, 405);
      demand(method.response.headers['allow'] !== undefined, 'there is no Allow', method);
      const body = { target_url: session.target('large'), title: 'x'.repeat(257 * 1024) };
      const large = await session.send('POST', LINKS, { body, links: 1 });
      demandStatus(large, 413);
      return [text, method, refused(large, 'a large body')];
    },
  ),
  addition('request-id', 'HTTP', '`X-Request-Id` is on every response.', async (session) => {
    const without = session.exchanges.filter(
      ({ response }) => response.headers['x-request-id'] === undefined,
    );
    demand(without.length === 0, 'a response has none', ...without.slice(0, 1));
    return [await createLink(session, 'request-id', {})];
  }),
  addition(
    'health',
    'HTTP',
    '`/healthz`, `/readyz` and `/openapi.json` respond with 200.',
    async (session) => {
      const responses: Exchange[] = [];
      for (const path of ['/healthz', '/readyz', '/openapi.json']) {
        responses.push(demandStatus(await session.send('GET', path, { key: null }), 200));
      }
      return responses;
    },
  ),
];
