import {
  batchResultItemSchema,
  completedBatchSchema,
  DEFAULT_REDIRECT_TYPE,
  ERROR_CODES,
  errorBodySchema,
  HEADERS,
  JOB_STATUSES,
  jobSchema,
  linkSchema,
  lookupSchema,
  MAX_BATCH_LINKS,
  MAX_ERROR_DETAILS,
  MAX_LOOKUP_ENTRIES,
  PERMISSIONS,
  PLAN_LIMIT_NAMES,
  PLANS,
  processingBatchSchema,
  REDIRECT_TYPES,
  usageSchema,
} from '@shortlink/sdk/wire';
import * as z from 'zod';
import { CODE_ALPHABET, CODE_LENGTH } from '../domain/ids.ts';
import { linkInputSchema } from '../domain/validate-link.ts';
import { lookupTargetSchema } from '../domain/validate-lookup.ts';

/** An OpenAPI object that is written out as it stands, or a JSON Schema of the dialect that OpenAPI 3.1 uses (2020-12). */
export type OpenApiObject = { readonly [field: string]: unknown };

/** A reference to one of the {@link componentSchemas}. */
export const ref = (name: string): OpenApiObject => ({ $ref: `#/components/schemas/${name}` });

const COUNT: OpenApiObject = { type: 'integer', minimum: 0 };
const UUID: OpenApiObject = { type: 'string', format: 'uuid' };
const TIME: OpenApiObject = { type: 'string', format: 'date-time' };
const CODE: OpenApiObject = { type: 'string', pattern: `^[${CODE_ALPHABET}]{${CODE_LENGTH}}$` };
const REDIRECT_TYPE: OpenApiObject = { type: 'integer', enum: REDIRECT_TYPES };

/**
 * Component schemas of the API description, made from the schemas that validate: what the server checks of a body, and what
 * the client checks of a response. The client is tolerant; where this server promises more than the client asks for (a
 * UUID rather than any string), the field is described by that.
 */
export function componentSchemas(): Record<string, OpenApiObject> {
  const resultItem = describe(batchResultItemSchema, {
    code: CODE,
    short_url: { type: 'string', format: 'uri' },
  });
  return {
    LinkInput: describe(linkInputSchema, {
      redirect_type: { ...REDIRECT_TYPE, default: DEFAULT_REDIRECT_TYPE },
    }),
    BatchInput: {
      type: 'object',
      properties: {
        domain_id: { type: 'string', description: 'Default domain of all links of the request.' },
        links: { type: 'array', items: ref('LinkInput'), minItems: 1, maxItems: MAX_BATCH_LINKS },
      },
      required: ['links'],
    },
    LookupInput: {
      oneOf: [
        lookupInput('links', describe(lookupTargetSchema, { after: UUID })),
        lookupInput('codes', { type: 'string' }),
      ],
    },
    Lookup: describe(lookupSchema, {
      results: {
        type: 'array',
        description:
          'Of each entry up to 20 links, of all entries up to 50,000, or fewer where they are long. `more`: there are others, which the same entry gets with the id of the last link as `after`.',
        items: {
          type: 'object',
          properties: { links: { type: 'array', items: ref('Link') }, more: { type: 'boolean' } },
          required: ['links', 'more'],
        },
      },
    }),
    Link: describe(linkSchema, {
      id: UUID,
      code: CODE,
      short_url: { type: 'string', format: 'uri' },
      redirect_type: REDIRECT_TYPE,
      click_count: COUNT,
      created_at: TIME,
    }),
    BatchResultItem: { ...resultItem, required: ['target_url', 'code', 'short_url'] },
    CompletedBatch: describe(completedBatchSchema, {
      total: COUNT,
      results: { type: 'array', items: ref('BatchResultItem') },
    }),
    ProcessingBatch: describe(processingBatchSchema, { job_id: UUID, total: COUNT }),
    Job: describe(jobSchema, {
      id: UUID,
      status: { type: 'string', enum: JOB_STATUSES },
      total: COUNT,
      processed: COUNT,
      results: { type: 'array', items: ref('BatchResultItem') },
    }),
    Usage: describe(usageSchema, { plan: { type: 'string', enum: PLANS } }),
    ...errorSchemas(),
  };
}

function errorSchemas(): Record<string, OpenApiObject> {
  return {
    Error: {
      ...describe(errorBodySchema, {
        code: { type: 'string', enum: ERROR_CODES },
        limit: { type: 'string', enum: PLAN_LIMIT_NAMES },
        used: COUNT,
        allowed: COUNT,
      }),
      required: ['error', 'code'],
    },
    ValidationError: {
      allOf: [ref('Error'), { properties: { details: { maxItems: MAX_ERROR_DETAILS } } }],
    },
    PlanLimitError: {
      allOf: [
        ref('Error'),
        {
          properties: { code: { const: 'plan_limit' }, upgrade: { const: true } },
          required: ['upgrade', 'limit', 'used', 'allowed'],
        },
      ],
    },
    PermissionError: {
      allOf: [
        ref('Error'),
        {
          description: `The key lacks a permission (there are ${PERMISSIONS.join(' and ')}), or the account is disabled.`,
          properties: { code: { enum: ['forbidden', 'account_disabled'] } },
        },
      ],
    },
  };
}

function lookupInput(list: string, items: OpenApiObject): OpenApiObject {
  const entries = { type: 'array', items, minItems: 1, maxItems: MAX_LOOKUP_ENTRIES };
  return { type: 'object', properties: { [list]: entries }, required: [list] };
}

/** The JSON Schema of a validating schema, with some of its fields described more closely. */
function describe(schema: z.core.$ZodType, fields: Record<string, OpenApiObject>): OpenApiObject {
  const { $schema: _, ...json } = z.toJSONSchema(schema, { io: 'input' });
  return { ...json, properties: { ...json.properties, ...fields } };
}

const textHeader = (description: string, pattern: OpenApiObject = {}): OpenApiObject => ({
  description,
  schema: { type: 'string', ...pattern },
});

export const componentHeaders: Record<string, OpenApiObject> = {
  [HEADERS.requestId]: textHeader('Names this response in logs and bug reports.', {
    pattern: '^[\\w=-]{1,128}$',
  }),
  [HEADERS.rateLimitPolicy]: textHeader(
    'The request windows of the plan (IETF draft-ietf-httpapi-ratelimit-headers-11); absent when all are unlimited.',
  ),
  [HEADERS.rateLimit]: textHeader('What is left of each window, and when it ends (same draft).'),
  [HEADERS.retryAfter]: {
    description: 'Whole seconds to wait before trying again; 0 is less than one.',
    schema: COUNT,
  },
  Location: textHeader('Where it leads.'),
  'WWW-Authenticate': textHeader('The challenge of a 401.', { const: 'ApiKey' }),
};

/** Headers that a response has only if they say what was wrong. */
const hintHeaders: Record<string, OpenApiObject> = {
  Accept: textHeader('The content type that is taken.', { const: 'application/json' }),
  'Accept-Encoding': textHeader('The content encoding that is taken.', { const: 'identity' }),
};

/** Headers of every response of an endpoint that takes a key, once the key is known. */
export const LIMITED_HEADERS = [HEADERS.rateLimitPolicy, HEADERS.rateLimit];

/** A JSON response. Every response also has its request id. */
export function jsonResponse(
  description: string,
  schema: string | OpenApiObject,
  headers: readonly string[] = [],
  optionalHeaders: readonly string[] = [],
): OpenApiObject {
  return {
    ...plainResponse(description, headers, optionalHeaders),
    content: {
      'application/json': { schema: typeof schema === 'string' ? ref(schema) : schema },
    },
  };
}

/** A response with a text of one of these media types. */
export function textResponse(description: string, ...types: string[]): OpenApiObject {
  const content = types.map((type) => [type, { schema: { type: 'string' } }]);
  return { ...plainResponse(description), content: Object.fromEntries(content) };
}

/** A response without a body, or with one that the caller describes. */
export function plainResponse(
  description: string,
  headers: readonly string[] = [],
  optionalHeaders: readonly string[] = [],
): OpenApiObject {
  const names = [HEADERS.requestId, ...headers];
  const optional = (name: string) => [
    name,
    { ...componentHeaders[name], ...hintHeaders[name], required: false },
  ];
  return {
    description,
    headers: {
      ...Object.fromEntries(names.map((name) => [name, { $ref: `#/components/headers/${name}` }])),
      ...Object.fromEntries(optionalHeaders.map(optional)),
    },
  };
}

/** An error of an endpoint that takes a key, once the key is known. */
const limitedError = (description: string, headers: string[] = [], optional: string[] = []) =>
  jsonResponse(description, 'Error', [...LIMITED_HEADERS, ...headers], optional);

/** Errors that several endpoints share, by status. */
const SHARED = {
  401: jsonResponse('The API key is missing or invalid. Counts against no limit.', 'Error', [
    'WWW-Authenticate',
  ]),
  403: jsonResponse(
    'The operator has disabled the account. Counts against no limit.',
    'PermissionError',
  ),
  404: limitedError('There is nothing here.'),
  409: limitedError('The first request with this Idempotency-Key is still running.', [
    HEADERS.retryAfter,
  ]),
  413: limitedError(
    'The body is larger than 256 KiB for one link, 16 MiB for a look-up, or what a batch of the plan can need.',
  ),
  415: limitedError(
    'The body is not JSON, or it is compressed.',
    [],
    ['Accept', 'Accept-Encoding'],
  ),
  422: limitedError('This Idempotency-Key was used before, for another request.'),
  429: limitedError('A rate limit is exceeded; the message names it.', [HEADERS.retryAfter]),
  500: limitedError('A fault of the service. Whether a create was carried out is unknown.'),
  503: limitedError(
    'The database can not be used for the moment, or the service is busy; nothing was stored.',
    [HEADERS.retryAfter],
  ),
} as const;

export const componentResponses: Record<string, OpenApiObject> = Object.fromEntries(
  Object.entries(SHARED).map(([status, response]) => [`Status${status}`, response]),
);

/** References to shared errors, to be spread into an operation's responses. */
export function refusals(...statuses: (keyof typeof SHARED)[]): Record<string, OpenApiObject> {
  return Object.fromEntries(
    statuses.map((status) => [status, { $ref: `#/components/responses/Status${status}` }]),
  );
}
