import { HEADERS, MAX_SYNC_BATCH_LINKS, ROUTES } from '@shortlink/sdk/wire';
import {
  componentHeaders,
  componentResponses,
  componentSchemas,
  json,
  limited,
  type OpenApiObject,
  ref,
  refusals,
  response,
  text,
} from './components.ts';

const { apiKey, idempotencyKey, retryAfter } = HEADERS;

const TAGS = {
  links: 'Creating links.',
  jobs: 'Batches that run in the background.',
  usage: "Use of the plan's limits.",
  redirects: 'Following links.',
  service: 'The state of the service.',
};

type Described = [id: string, tag: keyof typeof TAGS, summary: string, described: OpenApiObject];

/** Makes a path with one operation. Of what describes it, the fields that are named by a status are its responses. */
function pathWith(method: 'get' | 'post') {
  return (...[operationId, tag, summary, described]: Described): OpenApiObject => {
    const isResponse = ([name]: [string, unknown]) => Number(name) > 0;
    const fields = Object.entries(described);
    const request = Object.fromEntries(fields.filter((field) => !isResponse(field)));
    const responses = Object.fromEntries(fields.filter(isResponse));
    return { [method]: { operationId, tags: [tag], summary, ...request, responses } };
  };
}

const [get, post] = [pathWith('get'), pathWith('post')];

/** A `GET` that needs no key. */
const open = (...[id, tag, summary, described]: Described) =>
  get(id, tag, summary, { security: [], ...refusals(500), ...described });

const parameter = (where: 'path' | 'query', name: string): OpenApiObject => ({
  parameters: [{ name, in: where, required: true, schema: { type: 'string' } }],
});

const creating = (schema: string): OpenApiObject => ({
  parameters: [{ $ref: `#/components/parameters/${idempotencyKey}` }],
  ...body(schema),
});

const body = (schema: string) => ({ requestBody: { required: true, content: json(schema) } });

const CREATE_REFUSALS: OpenApiObject = {
  400: limited('ValidationError', 'The body breaks a rule; nothing was created.'),
  403: limited(
    { oneOf: [ref('PermissionError'), ref('PlanLimitError')] },
    'The key lacks the permission shortlinks:write, the account is disabled, or a limit of the plan is reached; nothing was created.',
  ),
  ...refusals(401, 409, 413, 415, 422, 429, 500, 503),
};

const CREATING = 'Needs the permission `shortlinks:write`.';

/** The endpoints that take an API key. */
const apiPaths: Record<string, OpenApiObject> = {
  [ROUTES.links]: post('createLink', 'links', 'Create one link', {
    description: CREATING,
    ...creating('LinkInput'),
    201: limited('Link', 'The created link.'),
    ...CREATE_REFUSALS,
  }),
  [ROUTES.linksBatch]: post('createBatch', 'links', 'Create many links', {
    description: `${CREATING} ${MAX_SYNC_BATCH_LINKS} links or fewer are created at once; more become a job. All are valid, or none is created.`,
    ...creating('BatchInput'),
    200: limited('CompletedBatch', 'All links are created, in the order they were sent.'),
    202: limited('ProcessingBatch', 'The batch became a job; poll it.', 'Location', retryAfter),
    ...CREATE_REFUSALS,
  }),
  [ROUTES.linksLookup]: post('lookUpLinks', 'links', 'Which links of the account exist', {
    description:
      'Needs the permission `shortlinks:write` or `analytics:read`. Every link is found that was created before the request, and every link of the jobs accepted before it: it waits for these, and is 503 after 10 seconds.',
    ...body('LookupInput'),
    200: limited('Lookup', 'A result for each entry, in the order asked.'),
    400: limited('ValidationError', 'The body breaks a rule.'),
    403: limited('PermissionError', 'The key lacks both permissions, or the account is disabled.'),
    ...refusals(401, 413, 415, 429, 500, 503),
  }),
  [`${ROUTES.jobs}/{job_id}`]: get('getJob', 'jobs', 'Poll a batch job', {
    description:
      'Any valid key of the account that sent the batch. Large results are sent one at a time: of many polls at once some are 429.',
    ...parameter('path', 'job_id'),
    200: limited(
      'Job',
      'The job, with the results so far in order. `Retry-After` is there until it is complete.',
      `${retryAfter}?`,
    ),
    ...refusals(401, 403, 404, 429, 500, 503),
  }),
  [ROUTES.usage]: get('getUsage', 'usage', "Use of the plan's limits, in total and per key", {
    description:
      'Any valid key of the account. Counts against no limit of the plan, but can be read 60 times a minute only.',
    200: limited('Usage', 'What is used of what the plan allows.'),
    ...refusals(401, 403, 429, 500, 503),
  }),
};

const FOUND = response('The target of the link, with its redirect type.', undefined, 'Location');
/** JSON for programs, a page for browsers. */
const PROBLEM = { ...json('Error'), ...text('text/html') };
const NOT_FOR_CALLER = response('Not for this caller.', json('Error'));

const healthy = (more?: OpenApiObject): OpenApiObject => {
  const properties = { status: { type: 'string', const: 'ok' }, ...more };
  return json({ type: 'object', properties, required: Object.keys(properties) });
};

/** What visitors, curious people and the operator of the service ask. */
const openPaths: Record<string, OpenApiObject> = {
  '/openapi.json': open('getApiDescription', 'service', 'This document', {
    200: response('OpenAPI 3.1.', json({ type: 'object' })),
  }),
  '/analytics': open(
    'getAnalyticsPage',
    'usage',
    'A page that shows the usage of a key as charts',
    {
      200: response(
        'The page; it asks for a key and sends it to this service only.',
        text('text/html'),
      ),
    },
  ),
  '/analytics/{file}': open('getAnalyticsFile', 'usage', 'A file that the page loads', {
    ...parameter('path', 'file'),
    200: response('The file.', text('text/javascript', 'text/css', 'text/html')),
    ...refusals(404),
  }),
  '/healthz': open('getHealth', 'service', 'Whether the process answers', {
    200: response('It does.', healthy()),
  }),
  '/readyz': open('getReadiness', 'service', 'Whether requests may be sent here', {
    200: response(
      'They may; the body also has the state of the database.',
      healthy({ database: { type: 'string', enum: ['up', 'down'] } }),
    ),
    503: response('The server is stopping.', json('Error')),
  }),
  '/metrics': open('getMetrics', 'service', 'Metrics in the Prometheus text format', {
    description:
      'For the operator: with the token of SHORTLINK_METRICS_TOKEN, or from the same machine.',
    security: [{ metricsToken: [] }, {}],
    200: response('The metrics.', text('text/plain')),
    403: NOT_FOR_CALLER,
  }),
  '/internal/tls-check': open('checkTlsDomain', 'service', 'Which hosts need a certificate', {
    description:
      'Whether the service serves a host, for a proxy that gets certificates on demand. For the operator: with the token of SHORTLINK_TLS_ASK_TOKEN, or from the same machine.',
    ...parameter('query', 'domain'),
    security: [{ tlsAskToken: [] }, {}],
    200: response('It does.', healthy()),
    403: NOT_FOR_CALLER,
    ...refusals(404, 503),
  }),
  '/': open('openRoot', 'redirects', 'A page for people who open the bare domain', {
    200: response('The page, for browsers.', text('text/html')),
    302: response('The address that the operator wants it to be.', undefined, 'Location'),
    404: response('There is nothing here for programs.', json('Error')),
  }),
  '/{code}': open('followLink', 'redirects', 'Follow a short link', {
    description:
      'Counts a click, unless it is a `HEAD`. Browsers get a page where programs get JSON, or a 302 to a page of the operator.',
    ...parameter('path', 'code'),
    ...{ 301: FOUND, 302: FOUND, 307: FOUND },
    404: response('No link has this code on this host.', PROBLEM),
    410: response('The link is switched off.', PROBLEM),
    500: response('A fault of the service.', PROBLEM),
    503: response('The database can not be used for the moment.', PROBLEM, retryAfter),
  }),
};

const DESCRIPTION = `Creates short links, one at a time or in batches of up to 10,000.

Every path that has \`GET\` has \`HEAD\` too; a wrong method on a known path is 405 with \`Allow\`. Bodies of errors
have \`error\`, for people, and \`code\`, for programs.`;

const KEY = 'A key of the account, made with `shortlink-server keys create`.';

const secretIn = (where: 'header' | 'query', name: string, description: string) => {
  return { type: 'apiKey', in: where, name, description };
};

/** The API description (OpenAPI 3.1), which is made when the schemas change and kept as `api/openapi.json`: a server needs no program that makes it. */
export function openApiDocument(): OpenApiObject {
  return {
    openapi: '3.1.1',
    info: {
      title: 'Shortlink',
      version: '1.0.0',
      summary: 'A short-link service',
      description: DESCRIPTION,
      license: { name: 'MIT', identifier: 'MIT' },
    },
    servers: [{ url: 'https://sho.rt' }],
    security: [{ apiKey: [] }],
    tags: Object.entries(TAGS).map(([name, description]) => ({ name, description })),
    paths: { ...apiPaths, ...openPaths },
    components: {
      schemas: componentSchemas(),
      headers: componentHeaders,
      parameters: {
        [idempotencyKey]: {
          name: idempotencyKey,
          in: 'header',
          description:
            'One key per logical request: sent again within 24 hours with the same body, it gets the first response again.',
          schema: { type: 'string', minLength: 1, maxLength: 255 },
        },
      },
      responses: componentResponses,
      securitySchemes: {
        apiKey: secretIn('header', apiKey, KEY),
        tlsAskToken: secretIn('query', 'token', 'SHORTLINK_TLS_ASK_TOKEN.'),
        metricsToken: { type: 'http', scheme: 'bearer', description: 'SHORTLINK_METRICS_TOKEN.' },
      },
    },
  };
}
