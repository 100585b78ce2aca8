import { HEADERS, MAX_SYNC_BATCH_LINKS, ROUTES } from '@shortlink/sdk/wire';
import {
  jsonResponse,
  LIMITED_HEADERS,
  type OpenApiObject,
  plainResponse,
  ref,
  refusals,
  textResponse,
} from './components.ts';

const jsonBody = (schema: string): OpenApiObject => ({
  required: true,
  content: { 'application/json': { schema: ref(schema) } },
});

/** 403 has two causes: a plan limit, with `upgrade` in the body, or a missing permission. */
const CREATE_REFUSALS: Record<string, OpenApiObject> = {
  400: jsonResponse(
    'The body breaks a rule; nothing was created.',
    'ValidationError',
    LIMITED_HEADERS,
  ),
  403: jsonResponse(
    'The key lacks the permission shortlinks:write, the account is disabled, or a limit of the plan is reached; nothing was created.',
    { oneOf: [ref('PermissionError'), ref('PlanLimitError')] },
    LIMITED_HEADERS,
  ),
  ...refusals(401, 409, 413, 415, 422, 429, 500, 503),
};

const IDEMPOTENCY_KEY: OpenApiObject = {
  $ref: `#/components/parameters/${HEADERS.idempotencyKey}`,
};

export const componentParameters: Record<string, OpenApiObject> = {
  [HEADERS.idempotencyKey]: {
    name: HEADERS.idempotencyKey,
    in: 'header',
    description:
      'One key per logical request: sent again within 24 hours with the same body, it gets the first response again.',
    schema: { type: 'string', minLength: 1, maxLength: 255 },
  },
};

/** The endpoints that take an API key. */
export const apiPaths: Record<string, OpenApiObject> = {
  [ROUTES.links]: {
    post: {
      operationId: 'createLink',
      tags: ['links'],
      summary: 'Create one link',
      description: 'Needs the permission `shortlinks:write`.',
      parameters: [IDEMPOTENCY_KEY],
      requestBody: jsonBody('LinkInput'),
      responses: {
        201: jsonResponse('The created link.', 'Link', LIMITED_HEADERS),
        ...CREATE_REFUSALS,
      },
    },
  },
  [ROUTES.linksBatch]: {
    post: {
      operationId: 'createBatch',
      tags: ['links'],
      summary: 'Create many links',
      description: `Needs the permission \`shortlinks:write\`. ${MAX_SYNC_BATCH_LINKS} links or fewer are created at once; more become a job. All are valid, or none is created.`,
      parameters: [IDEMPOTENCY_KEY],
      requestBody: jsonBody('BatchInput'),
      responses: {
        200: jsonResponse(
          'All links are created, in the order they were sent.',
          'CompletedBatch',
          LIMITED_HEADERS,
        ),
        202: jsonResponse('The batch became a job; poll it.', 'ProcessingBatch', [
          ...LIMITED_HEADERS,
          'Location',
          HEADERS.retryAfter,
        ]),
        ...CREATE_REFUSALS,
      },
    },
  },
  [ROUTES.linksLookup]: {
    post: {
      operationId: 'lookUpLinks',
      tags: ['links'],
      summary: 'Which links of the account exist',
      description:
        'Needs the permission `shortlinks:write` or `analytics:read`. Every link is found that was created before the request, and every link of the jobs accepted before it: it waits for these, and is 503 after 10 seconds.',
      requestBody: jsonBody('LookupInput'),
      responses: {
        200: jsonResponse(
          'A result for each entry, in the order asked.',
          'Lookup',
          LIMITED_HEADERS,
        ),
        400: jsonResponse('The body breaks a rule.', 'ValidationError', LIMITED_HEADERS),
        403: jsonResponse(
          'The key lacks both permissions, or the account is disabled.',
          'PermissionError',
          LIMITED_HEADERS,
        ),
        ...refusals(401, 413, 415, 429, 500, 503),
      },
    },
  },
  [`${ROUTES.jobs}/{job_id}`]: {
    get: {
      operationId: 'getJob',
      tags: ['jobs'],
      summary: 'Poll a batch job',
      description:
        'Any valid key of the account that sent the batch. Large results are sent one at a time: of many polls at once some are 429.',
      parameters: [{ name: 'job_id', in: 'path', required: true, schema: { type: 'string' } }],
      responses: {
        200: jsonResponse(
          'The job, with the results so far in order. `Retry-After` is there until it is complete.',
          'Job',
          LIMITED_HEADERS,
          [HEADERS.retryAfter],
        ),
        ...refusals(401, 403, 404, 429, 500, 503),
      },
    },
  },
  [ROUTES.usage]: {
    get: {
      operationId: 'getUsage',
      tags: ['usage'],
      summary: "Use of the plan's limits, in total and per key",
      description:
        'Any valid key of the account. Counts against no limit of the plan, but can be read 60 times a minute only.',
      responses: {
        200: jsonResponse('What is used of what the plan allows.', 'Usage', LIMITED_HEADERS),
        ...refusals(401, 403, 429, 500, 503),
      },
    },
  },
};

/** What anyone may ask without a key. */
export const openPaths: Record<string, OpenApiObject> = {
  '/': {
    get: {
      operationId: 'openRoot',
      tags: ['redirects'],
      summary: 'A page for people who open the bare domain',
      security: [],
      responses: {
        200: textResponse('The page, for browsers.', 'text/html'),
        302: plainResponse('The address that the operator wants it to be.', ['Location']),
        404: jsonResponse('There is nothing here for programs.', 'Error'),
        ...refusals(500),
      },
    },
  },
  '/{code}': {
    parameters: [{ name: 'code', in: 'path', required: true, schema: { type: 'string' } }],
    get: redirectOperation('followLink', 'Follow a short link', 'Counts a click.'),
    head: redirectOperation('inspectLink', 'See where a short link leads', 'Counts no click.'),
  },
};

function redirectOperation(operationId: string, summary: string, description: string) {
  const found = plainResponse('The target of the link, with its redirect type.', ['Location']);
  const failed = (text: string, headers: string[] = []) =>
    operationId === 'inspectLink' ? plainResponse(text, headers) : visitorResponse(text, headers);
  return {
    operationId,
    tags: ['redirects'],
    summary,
    description: `${description} Browsers get a page where programs get JSON, or a 302 to a page of the operator.`,
    security: [],
    responses: {
      301: found,
      302: found,
      307: found,
      404: failed('No link has this code on this host.'),
      410: failed('The link is switched off.'),
      500: failed('A fault of the service.'),
      503: failed('The database can not be used for the moment.', [HEADERS.retryAfter]),
    },
  };
}

/** JSON for programs, a page for browsers. */
function visitorResponse(description: string, headers: string[]): OpenApiObject {
  const { content, ...json } = jsonResponse(description, 'Error', headers);
  return { ...json, content: { ...Object(content), 'text/html': { schema: { type: 'string' } } } };
}
