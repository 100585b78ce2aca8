/** Ways in which a server can differ from the protocol, as changes of its responses or of what reaches it. */
export interface PlantedFault {
  name: string;
  /** A statement that must fail. */
  finds: string;
  /** @default 'jobs', an account that is large enough for them */
  account?: 'jobs' | 'small';
  /** Limits that replace those of the small account's plan. */
  limits?: Record<string, number>;
  /** Wraps the connection to a server that is right. */
  plant: (send: Send) => Send;
}

export interface Call {
  method: string;
  path: string;
  headers: Record<string, string>;
  body: string;
}

export interface Reply {
  status: number;
  headers: Record<string, string>;
  body: string;
}

export type Send = (call: Call) => Promise<Reply>;

// biome-ignore lint/suspicious/noExplicitAny: bodies of any shape are what this is about.
type Json = any;

/** Changes replies: to a method and path, with a status. Without a change of the body's value, what `change` returns replaces it. */
function replies(
  match: Partial<{ method: string; path: RegExp; status: number }>,
  change: (body: Json, reply: Reply, call: Call) => unknown,
) {
  return (send: Send): Send =>
    async (call) => {
      const reply = await send(call);
      const isOther =
        (match.method !== undefined && match.method !== call.method) ||
        (match.path !== undefined && !match.path.test(call.path)) ||
        (match.status !== undefined && match.status !== reply.status);
      if (isOther) return reply;
      const copy = { ...reply, headers: { ...reply.headers } };
      const body = reply.body === '' ? undefined : JSON.parse(reply.body);
      const changed = change(body, copy, call);
      if (changed !== undefined)
        copy.body = typeof changed === 'string' ? changed : JSON.stringify(changed);
      return copy;
    };
}

/** Changes what the server gets to see. */
const requests =
  (path: RegExp, change: (body: Json, call: Call) => void) =>
  (send: Send): Send =>
  (call) => {
    if (call.method !== 'POST' || !path.test(call.path) || call.body === '') return send(call);
    const body = JSON.parse(call.body);
    const copy = { ...call, headers: { ...call.headers } };
    change(body, copy);
    return send({ ...copy, body: JSON.stringify(body) });
  };

const LINKS = /^\/api\/v1\/links$/;
const BATCH = /\/links\/batch$/;
const JOB = /\/jobs\//;

const link = (change: (body: Json, reply: Reply, call: Call) => unknown) =>
  replies({ method: 'POST', path: LINKS, status: 201 }, change);
const set = (field: string, value: unknown) => link((body) => ({ ...body, [field]: value }));
const without = (field: string) => link(({ [field]: _, ...rest }) => rest);
const small = (change: (body: Json, reply: Reply) => unknown) =>
  replies({ method: 'POST', path: BATCH, status: 200 }, change);
const accepted = (change: (body: Json, reply: Reply) => unknown) =>
  replies({ method: 'POST', path: BATCH, status: 202 }, change);
const poll = (change: (body: Json, reply: Reply) => unknown) =>
  replies({ method: 'GET', path: JOB, status: 200 }, change);
const errors = (status: number, change: (body: Json, reply: Reply) => unknown) =>
  replies({ path: /^\/api\//, status }, change);
const status = (from: number, to: number, path = /./) =>
  replies({ status: from, path }, (_, reply) => {
    reply.status = to;
  });

/** Replies without asking the server. */
const instead =
  (isMeant: (call: Call) => boolean, reply: Reply) =>
  (send: Send): Send =>
  async (call) =>
    isMeant(call) ? reply : send(call);
const json = (code: number, body: unknown): Reply => ({
  status: code,
  headers: { 'content-type': 'application/json' },
  body: JSON.stringify(body),
});

const items = (body: Json, change: (item: Json, index: number) => unknown) => ({
  ...body,
  results: body.results.map(change),
});

let counter = 0;

export const FAULTS: PlantedFault[] = [
  // Links
  {
    name: 'responses are text/html',
    finds: 'json-bodies',
    plant: replies({ path: /^\/api\// }, (_, reply) => {
      reply.headers['content-type'] = 'text/html';
    }),
  },
  { name: 'a link in an envelope', finds: 'created-link', plant: link((body) => ({ data: body })) },
  { name: 'a link in an array', finds: 'json-bodies', plant: link((body) => [body]) },
  { name: 'no id', finds: 'link-fields', plant: without('id') },
  { name: 'a numeric id', finds: 'link-fields', plant: set('id', 7) },
  { name: 'no click_count', finds: 'link-fields', plant: without('click_count') },
  { name: 'no created_at', finds: 'link-fields', plant: without('created_at') },
  { name: 'tags null', finds: 'link-fields', plant: set('tags', null) },
  {
    name: 'tags as one text',
    finds: 'link-fields',
    plant: link((body) => ({ ...body, tags: body.tags.join(',') })),
  },
  {
    name: 'redirect_type as text',
    finds: 'link-fields',
    plant: link((body) => ({ ...body, redirect_type: String(body.redirect_type) })),
  },
  {
    name: 'title missing where none was sent',
    finds: 'link-fields',
    plant: link(({ title, ...rest }) => (title === '' ? rest : { title, ...rest })),
  },
  {
    name: 'the caller chooses the code',
    finds: 'assigned-by-service',
    plant: link((body, _, call) => ({
      ...body,
      ...(JSON.parse(call.body).code && { code: JSON.parse(call.body).code }),
    })),
  },
  {
    name: 'one id for all links',
    finds: 'assigned-by-service',
    plant: set('id', '01a20b9b-2de8-7000-8874-b1aa9d941523'),
  },
  {
    name: 'a relative short URL',
    finds: 'absolute-short-url',
    plant: link((body) => ({ ...body, short_url: `/${body.code}` })),
  },
  {
    name: 'a short URL without scheme',
    finds: 'absolute-short-url',
    plant: link((body) => ({ ...body, short_url: `sho.rt/${body.code}` })),
  },
  {
    name: 'a slash behind the short URL',
    finds: 'code-in-short-url',
    plant: link((body) => ({ ...body, short_url: `${body.short_url}/` })),
  },
  {
    name: 'the code in other letters',
    finds: 'code-in-short-url',
    plant: link((body) => ({ ...body, code: `${body.code}x` })),
  },
  {
    name: 'the code in a query',
    finds: 'code-in-short-url',
    plant: link((body) => ({ ...body, short_url: `http://127.0.0.1/?c=${body.code}` })),
  },
  {
    name: 'a host of its own for each link',
    finds: 'absolute-short-url',
    plant: link((body) => ({ ...body, short_url: `http://h${counter++}.example/${body.code}` })),
  },
  {
    name: 'targets are normalized',
    finds: 'text-kept',
    plant: link((body) => ({ ...body, target_url: decodeURI(body.target_url) })),
  },
  {
    name: 'fragments are cut',
    finds: 'text-kept',
    plant: link((body) => ({ ...body, target_url: body.target_url.replace(/#.*/, '') })),
  },
  {
    name: 'titles are escaped',
    finds: 'text-kept',
    plant: link((body) => ({ ...body, title: body.title.replaceAll('&', '&amp;') })),
  },
  {
    name: 'titles lose what is not ASCII',
    finds: 'text-kept',
    plant: link((body) => ({ ...body, title: body.title.replaceAll(/[^ -~]/g, '?') })),
  },
  {
    name: '303 is accepted',
    finds: 'redirect-types',
    plant: instead(
      ({ body }) => body.includes('"redirect_type":303'),
      json(201, { redirect_type: 303 }),
    ),
  },
  {
    name: '308 is accepted',
    finds: 'redirect-types',
    plant: instead(
      ({ body }) => body.includes('"redirect_type":308'),
      json(201, { redirect_type: 308 }),
    ),
  },
  {
    name: '307 becomes 302',
    finds: 'redirect-types',
    plant: requests(LINKS, (body) => {
      if (body.redirect_type === 307) body.redirect_type = 302;
    }),
  },
  {
    name: '301 by default',
    finds: 'redirect-default',
    plant: requests(LINKS, (body) => {
      body.redirect_type ??= 301;
    }),
  },
  { name: 'new links are off', finds: 'new-link-state', plant: set('is_active', false) },
  { name: 'creating counts as a click', finds: 'new-link-state', plant: set('click_count', 1) },
  {
    name: 'clicks are not counted',
    finds: 'click-counter',
    plant: instead(
      ({ path, method }) => method === 'GET' && path.startsWith('http'),
      json(302, {}),
    ),
  },
  {
    name: 'a visit counts twice',
    finds: 'click-counter',
    plant: replies({ path: /lookup$/ }, (body) =>
      JSON.parse(JSON.stringify(body).replaceAll('"click_count":1', '"click_count":2')),
    ),
  },
  {
    name: 'created_at in local time',
    finds: 'created-at',
    plant: set('created_at', '2026-11-24T05:30:00+02:00'),
  },
  {
    name: 'created_at as for people',
    finds: 'created-at',
    plant: set('created_at', '24 November 2026, 05:30'),
  },
  {
    name: 'created_at without zone',
    finds: 'created-at',
    plant: link((body) => ({ ...body, created_at: body.created_at.replace('Z', '') })),
  },
  {
    name: 'created_at is the start of time',
    finds: 'created-at',
    plant: set('created_at', '1970-01-01T00:00:00.000Z'),
  },
  {
    name: 'domain_id is ignored',
    finds: 'custom-domain',
    plant: requests(LINKS, (body) => {
      delete body.domain_id;
    }),
  },
  {
    name: 'target_url may be missing',
    finds: 'target-required',
    plant: requests(LINKS, (body) => {
      if (!('target_url' in body)) body.target_url = 'https://example.com/';
    }),
  },
  {
    name: 'title is required',
    finds: 'optional-fields',
    plant: instead(
      ({ path, body }) => LINKS.test(path) && !body.includes('"title"'),
      json(400, { error: 'title is required' }),
    ),
  },
  // Batches and jobs
  {
    name: 'items without code',
    finds: 'batch-items',
    plant: small((body) => items(body, ({ code: _, ...item }) => item)),
  },
  {
    name: 'items without target_url',
    finds: 'batch-items',
    plant: small((body) => items(body, ({ target_url: _, ...item }) => item)),
  },
  {
    name: 'items in an object',
    finds: 'batch-items',
    plant: small((body) => ({ ...body, results: { ...body.results } })),
  },
  {
    name: 'the last item is missing',
    finds: 'batch-items',
    plant: small((body) => ({ ...body, results: body.results.slice(0, -1) })),
  },
  {
    name: 'items with the target of another',
    finds: 'batch-items',
    plant: small((body) =>
      items(body, (item) => ({ ...item, target_url: body.results[0].target_url })),
    ),
  },
  {
    name: 'items with one code',
    finds: 'batch-items',
    plant: small((body) =>
      items(body, (item) => ({
        ...item,
        code: body.results[0].code,
        short_url: body.results[0].short_url,
      })),
    ),
  },
  {
    name: 'a synchronous batch is done',
    finds: 'batch-status',
    plant: small((body) => ({ ...body, status: 'done' })),
  },
  {
    name: 'a synchronous batch without total',
    finds: 'synchronous-batch',
    plant: small(({ total: _, ...body }) => body),
  },
  {
    name: 'a synchronous batch is 201',
    finds: 'synchronous-batch',
    plant: status(200, 201, BATCH),
  },
  {
    name: '100 links become a job',
    finds: 'synchronous-batch',
    plant: small((body, reply) => {
      if (body.total < 100) return undefined;
      reply.status = 202;
      return { job_id: crypto.randomUUID(), status: 'processing', total: 100 };
    }),
  },
  {
    name: '101 links are answered at once',
    finds: 'asynchronous-batch',
    plant: accepted((body, reply) => {
      reply.status = 200;
      return { status: 'completed', total: 101, results: [], job_id: body.job_id };
    }),
  },
  {
    name: 'job ids are numbers in text',
    finds: 'job-id',
    plant: accepted((body) => ({ ...body, job_id: '42' })),
  },
  {
    name: 'a job is named id',
    finds: 'asynchronous-batch',
    plant: accepted(({ job_id, ...body }) => ({ ...body, id: job_id })),
  },
  {
    name: 'a job is queued',
    finds: 'job-states',
    plant: accepted((body) => ({ ...body, status: 'queued' })),
  },
  {
    name: 'an accepted job has another total',
    finds: 'asynchronous-batch',
    plant: accepted((body) => ({ ...body, total: 100 })),
  },
  {
    name: 'a poll names another job',
    finds: 'poll-fields',
    plant: poll((body) => ({ ...body, id: crypto.randomUUID() })),
  },
  {
    name: 'a poll names the job job_id',
    finds: 'poll-fields',
    plant: poll(({ id, ...body }) => ({ ...body, job_id: id })),
  },
  {
    name: 'a poll without processed',
    finds: 'poll-fields',
    plant: poll(({ processed: _, ...body }) => body),
  },
  {
    name: 'a poll without results',
    finds: 'poll-fields',
    plant: poll(({ results: _, ...body }) => body),
  },
  {
    name: 'a poll with total as text',
    finds: 'poll-fields',
    plant: poll((body) => ({ ...body, total: String(body.total) })),
  },
  {
    name: 'a job is finished',
    finds: 'job-states',
    plant: poll((body) => (body.status === 'completed' ? { ...body, status: 'finished' } : body)),
  },
  {
    name: 'a completed job has processed fewer',
    finds: 'completed-job',
    plant: poll((body) => ({ ...body, processed: Math.min(body.processed, 100) })),
  },
  {
    name: 'a completed job shows a page of results',
    finds: 'completed-job',
    plant: poll((body) => ({ ...body, results: body.results.slice(0, 50) })),
  },
  {
    name: 'polls need no key',
    finds: 'poll-key',
    plant: instead(
      ({ path, headers }) => JOB.test(path) && !headers['X-Api-Key'],
      json(404, { error: 'Job not found.' }),
    ),
  },
  {
    name: 'every job is complete',
    finds: 'poll-path',
    plant: replies({ path: JOB, status: 404 }, (_, reply) => {
      reply.status = 200;
      return { status: 'completed' };
    }),
  },
  {
    name: 'links may be missing',
    finds: 'links-required',
    plant: instead(
      ({ path, body }) => BATCH.test(path) && body === '{}',
      json(200, { status: 'completed', total: 0, results: [] }),
    ),
  },
  {
    name: 'a missing list is an error of the server',
    finds: 'links-required',
    plant: instead(
      ({ path, body }) => BATCH.test(path) && body === '{}',
      json(500, { error: 'undefined is not iterable' }),
    ),
  },
  {
    name: 'bad entries are left out',
    finds: 'batch-target-required',
    plant: replies({ path: BATCH, status: 400 }, (_, reply) => {
      reply.status = 200;
      return { status: 'completed', total: 0, results: [] };
    }),
  },
  {
    name: '10,001 links are taken',
    finds: 'batch-maximum',
    plant: instead(
      ({ path, body }) => BATCH.test(path) && body.length > 400_000,
      json(202, { job_id: crypto.randomUUID(), status: 'processing', total: 10_001 }),
    ),
  },
  {
    name: 'titles of a batch are dropped',
    finds: 'batch-text-kept',
    plant: requests(BATCH, (body) => {
      for (const entry of body.links ?? []) delete entry.title;
    }),
  },
  {
    name: 'tags of a batch are dropped',
    finds: 'batch-text-kept',
    plant: requests(BATCH, (body) => {
      for (const entry of body.links ?? []) delete entry.tags;
    }),
  },
  {
    name: 'the default domain of a batch is ignored',
    finds: 'batch-domain',
    plant: requests(BATCH, (body) => {
      delete body.domain_id;
    }),
  },
  {
    name: 'the domain of an entry is ignored',
    finds: 'batch-domain',
    plant: requests(BATCH, (body) => {
      if (body.domain_id) for (const entry of body.links) delete entry.domain_id;
    }),
  },
  // Keys and errors
  { name: 'no key is 403', finds: 'key-required', plant: status(401, 403) },
  {
    name: 'an unknown key is 400',
    finds: 'key-required',
    plant: instead(
      ({ headers }) => headers['X-Api-Key'] === 'not-a-key',
      json(400, { error: 'bad key' }),
    ),
  },
  {
    name: 'batches need no key',
    finds: 'key-required',
    plant: instead(
      ({ path, headers }) => BATCH.test(path) && !headers['X-Api-Key'],
      json(200, { status: 'completed', total: 1, results: [] }),
    ),
  },
  {
    name: 'only the beginning of a key counts',
    finds: 'key-required',
    plant: (send) => (call) =>
      send({
        ...call,
        headers: {
          ...call.headers,
          'X-Api-Key': call.headers['X-Api-Key']?.replace(/x$/, '') ?? '',
        },
      }),
  },
  {
    name: 'a key without permission gets 401',
    finds: 'write-permission',
    plant: replies({ status: 403, path: /links/ }, (body, reply) => {
      if (!body.upgrade) reply.status = 401;
    }),
  },
  {
    name: 'a key without permission may create batches',
    finds: 'write-permission',
    plant: replies({ status: 403, path: BATCH }, (body, reply) => {
      if (!body.upgrade) reply.status = 200;
    }),
  },
  {
    name: 'errors are text',
    finds: 'error-body',
    plant: errors(400, (body) => String(body.error)),
  },
  {
    name: 'errors are objects',
    finds: 'error-body',
    plant: errors(400, (body) => ({ error: { message: body.error } })),
  },
  {
    name: 'errors are named message',
    finds: 'error-body',
    plant: errors(404, (body) => ({ message: body.error })),
  },
  {
    name: 'the error of a 401 is empty',
    finds: 'error-body',
    plant: errors(401, () => ({ error: '' })),
  },
  { name: 'invalid targets are 422', finds: 'invalid-target', plant: status(400, 422) },
  {
    name: 'a target that is no text is an error of the server',
    finds: 'invalid-target',
    plant: instead(({ body }) => body === '{"target_url":42}', json(500, { error: 'oops' })),
  },
  {
    name: 'an empty target is 404',
    finds: 'invalid-target',
    plant: instead(({ body }) => body === '{"target_url":""}', json(404, { error: 'no target' })),
  },
  {
    name: 'no upgrade at a limit',
    finds: 'upgrade-flag',
    account: 'small',
    plant: errors(403, ({ upgrade: _, ...body }) => body),
  },
  {
    name: 'upgrade as text',
    finds: 'upgrade-flag',
    account: 'small',
    plant: errors(403, (body) => ({ ...body, upgrade: 'true' })),
  },
  {
    name: 'upgrade in every error',
    finds: 'upgrade-flag',
    plant: errors(400, (body) => ({ ...body, upgrade: true })),
  },
  {
    name: 'upgrade in a 429',
    finds: 'upgrade-flag',
    account: 'small',
    plant: errors(429, (body) => ({ ...body, upgrade: true })),
  },
  { name: 'a limit is 402', finds: 'links-in-total', account: 'small', plant: status(403, 402) },
  {
    name: 'a limit without counts',
    finds: 'limit-message',
    account: 'small',
    plant: errors(403, (body) => ({ ...body, error: 'Upgrade your plan.' })),
  },
  {
    name: 'a limit without advice',
    finds: 'limit-message',
    account: 'small',
    plant: errors(403, (body) => ({ ...body, error: 'Limit reached: 15 of 15.' })),
  },
  {
    name: 'a limit with the counts of another account',
    finds: 'limit-message',
    account: 'small',
    plant: errors(403, (body) => ({ ...body, error: 'You use 3 of 999 links. Upgrade.' })),
  },
  // Rates and plans
  {
    name: 'a 429 without Retry-After',
    finds: 'rate-message',
    account: 'small',
    plant: errors(429, (_, reply) => {
      delete reply.headers['retry-after'];
    }),
  },
  {
    name: 'Retry-After as a date',
    finds: 'retry-after',
    account: 'small',
    plant: errors(429, (_, reply) => {
      reply.headers['retry-after'] = 'Tue, 24 Nov 2026 05:30:00 GMT';
    }),
  },
  {
    name: 'Retry-After in milliseconds',
    finds: 'retry-after',
    account: 'small',
    plant: errors(429, (_, reply) => {
      reply.headers['retry-after'] += '000';
    }),
  },
  {
    name: 'Retry-After is always 1',
    finds: 'retry-after',
    account: 'small',
    plant: errors(429, (_, reply) => {
      reply.headers['retry-after'] = '1';
    }),
  },
  {
    name: 'a 429 without the rate',
    finds: 'rate-message',
    account: 'small',
    plant: errors(429, () => ({ error: 'Slow down.' })),
  },
  { name: 'a rate limit is 503', finds: 'rate-message', account: 'small', plant: status(429, 503) },
  {
    name: 'one request a minute more',
    finds: 'requests-per-minute',
    account: 'small',
    limits: { requests_per_minute: 16 },
    plant: (send) => send,
  },
  {
    name: 'a hundred times the requests a minute',
    finds: 'requests-per-minute',
    account: 'small',
    limits: { requests_per_minute: 1_500 },
    plant: (send) => send,
  },
  {
    name: 'one request a minute fewer',
    finds: 'requests-per-minute',
    account: 'small',
    limits: { requests_per_minute: 14 },
    plant: (send) => send,
  },
  {
    name: 'another number of requests a day',
    finds: 'requests-per-day',
    account: 'small',
    limits: { requests_per_day: 1_000 },
    plant: (send) => send,
  },
  {
    name: 'another number of requests a month',
    finds: 'requests-per-day',
    account: 'small',
    limits: { requests_per_month: 20_000 },
    plant: (send) => send,
  },
  {
    name: 'one link more',
    finds: 'links-in-total',
    account: 'small',
    limits: { links: 16 },
    plant: (send) => send,
  },
  {
    name: 'one link fewer',
    finds: 'links-in-total',
    account: 'small',
    limits: { links: 14 },
    plant: (send) => send,
  },
  {
    name: 'another number of keys',
    finds: 'keys-of-plan',
    account: 'small',
    limits: { api_keys: 2 },
    plant: (send) => send,
  },
  {
    name: 'a larger batch size',
    finds: 'batch-size',
    limits: { batch_size: 10_000 },
    plant: (send) => send,
  },
  {
    name: 'usage without keys',
    finds: 'usage-of-keys',
    plant: replies({ path: /usage$/, status: 200 }, ({ keys: _, ...body }) => body),
  },
  {
    name: 'any version creates links',
    finds: 'version-in-path',
    plant: (send) => (call) => send({ ...call, path: call.path.replace(/v\d+/, 'v1') }),
  },
];

const SHORT_URL = /^https:\/\/sho\.rt\/\w+$/;

/** Ways in which a server can differ from an addition. It conforms all the same. */
export const ADDITION_FAULTS: [finds: string, plant: PlantedFault['plant']][] = [
  ['redirect', status(301, 308, SHORT_URL)],
  [
    'redirect',
    replies({ path: SHORT_URL, status: 301 }, (_, reply) => {
      reply.headers['location'] = 'https://example.com/';
    }),
  ],
  ['unknown-code', status(404, 410, SHORT_URL)],
  ['created-status', status(201, 200, LINKS)],
  ['code-alphabet', set('code', 'Il0O1')],
  ['target-rules', instead(({ body }) => body.includes('ftp://'), json(201, {}))],
  ['whole-batch', replies({ path: BATCH, status: 400 }, (body) => ({ ...body, details: [] }))],
  ['results-in-order', small((body) => ({ ...body, results: body.results.toReversed() }))],
  [
    'poll-interval',
    poll((body, reply) => {
      if (body.status === 'completed') reply.headers['retry-after'] = '1';
    }),
  ],
  [
    'poll-interval',
    accepted((_, reply) => {
      delete reply.headers['retry-after'];
    }),
  ],
  ['unknown-job', status(404, 410, JOB)],
  ['error-codes', errors(404, (body) => ({ ...body, code: 'Not found' }))],
  ['http-statuses', status(415, 400, LINKS)],
  [
    'request-id',
    errors(404, (_, reply) => {
      delete reply.headers['x-request-id'];
    }),
  ],
];
