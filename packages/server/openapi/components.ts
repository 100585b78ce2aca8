import * as wire from '@shortlink/sdk/wire';
import * as z from 'zod';
import { CODE_ALPHABET, CODE_LENGTH } from '../src/domain/ids.ts';
import { linkInputSchema, lookupTargetSchema } from '../src/domain/validate-link.ts';

/** An OpenAPI object that is written out as it stands, or a JSON Schema of the dialect that OpenAPI 3.1 uses (2020-12). */
export type OpenApiObject = { readonly [field: string]: unknown };

export const ref = (name: string): OpenApiObject => ({ $ref: `#/components/schemas/${name}` });

const COUNT: OpenApiObject = { type: 'integer', minimum: 0 };
const UUID: OpenApiObject = { type: 'string', format: 'uuid' };
const CODE: OpenApiObject = { type: 'string', pattern: `^[${CODE_ALPHABET}]{${CODE_LENGTH}}$` };
const REDIRECT_TYPE: OpenApiObject = { type: 'integer', enum: wire.REDIRECT_TYPES };

/** What this server promises of a field, wherever it is, where the client is content with less: any string, rather than a UUID. */
const PROMISED: Record<string, OpenApiObject> = {
  ...{ id: UUID, job_id: UUID, after: UUID, code: CODE },
  short_url: { type: 'string', format: 'uri' },
  ...{ total: COUNT, processed: COUNT, click_count: COUNT, used: COUNT, allowed: COUNT },
  ...{ redirect_type: REDIRECT_TYPE, created_at: { type: 'string', format: 'date-time' } },
};

const list = (of: string): OpenApiObject => ({ type: 'array', items: ref(of) });

const anError = (rules: OpenApiObject) => ({ allOf: [ref('Error'), rules] });

/** Component schemas, made from those that validate: the server's of bodies, and the client's of responses. */
export function componentSchemas(): Record<string, OpenApiObject> {
  const [targets, codes] = [describe(lookupTargetSchema), { type: 'string' }];
  return {
    LinkInput: describe(linkInputSchema, {
      redirect_type: { ...REDIRECT_TYPE, default: wire.DEFAULT_REDIRECT_TYPE },
    }),
    BatchInput: {
      type: 'object',
      properties: {
        domain_id: { type: 'string', description: 'Default domain of all links of the request.' },
        links: { ...list('LinkInput'), minItems: 1, maxItems: wire.MAX_BATCH_LINKS },
      },
      required: ['links'],
    },
    LookupInput: { oneOf: [lookupInput('links', targets), lookupInput('codes', codes)] },
    Lookup: describe(wire.lookupSchema, {
      results: {
        type: 'array',
        description:
          'Of each entry up to 20 links, of all entries up to 50,000, or fewer where they are long. `more`: there are others, which the same entry gets with the id of the last link as `after`.',
        items: {
          type: 'object',
          properties: { links: list('Link'), more: { type: 'boolean' } },
          required: ['links', 'more'],
        },
      },
    }),
    Link: describe(wire.linkSchema),
    BatchResultItem: {
      ...describe(wire.batchResultItemSchema),
      required: ['target_url', 'code', 'short_url'],
    },
    CompletedBatch: describe(wire.completedBatchSchema, { results: list('BatchResultItem') }),
    ProcessingBatch: describe(wire.processingBatchSchema),
    Job: describe(wire.jobSchema, {
      status: { type: 'string', enum: wire.JOB_STATUSES },
      results: list('BatchResultItem'),
    }),
    Usage: describe(wire.usageSchema, { plan: { type: 'string', enum: wire.PLANS } }),
    Error: {
      ...describe(wire.errorBodySchema, {
        code: { type: 'string', enum: wire.ERROR_CODES },
        limit: { type: 'string', enum: wire.PLAN_LIMIT_NAMES },
      }),
      required: ['error', 'code'],
    },
    ValidationError: anError({ properties: { details: { maxItems: wire.MAX_ERROR_DETAILS } } }),
    PlanLimitError: anError({
      properties: { code: { const: 'plan_limit' }, upgrade: { const: true } },
      required: ['upgrade', 'limit', 'used', 'allowed'],
    }),
    PermissionError: anError({
      description: `The key lacks a permission (there are ${wire.PERMISSIONS.join(' and ')}), or the account is disabled.`,
      properties: { code: { enum: ['forbidden', 'account_disabled'] } },
    }),
  };
}

function lookupInput(list: string, items: OpenApiObject): OpenApiObject {
  const entries = { type: 'array', items, minItems: 1, maxItems: wire.MAX_LOOKUP_ENTRIES };
  return { type: 'object', properties: { [list]: entries }, required: [list] };
}

/** The JSON Schema of a validating schema, with some of its fields described more closely. */
function describe(schema: z.core.$ZodType, fields: Record<string, OpenApiObject> = {}) {
  const { $schema: _, properties, ...json } = z.toJSONSchema(schema, { io: 'input' });
  const promised = Object.entries(PROMISED).filter(([name]) => name in (properties ?? {}));
  return { ...json, properties: { ...properties, ...Object.fromEntries(promised), ...fields } };
}

const { rateLimit, rateLimitPolicy, requestId, retryAfter } = wire.HEADERS;

const header = (description: string, rules: OpenApiObject = {}): OpenApiObject => ({
  description,
  schema: { type: 'string', ...rules },
});

export const componentHeaders: Record<string, OpenApiObject> = {
  [requestId]: header('Names this response in logs and bug reports.', {
    pattern: '^[\\w=-]{1,128}$',
  }),
  [rateLimitPolicy]: header(
    'The request windows of the plan (IETF draft-ietf-httpapi-ratelimit-headers-11); absent when all are unlimited.',
  ),
  [rateLimit]: header('What is left of each window, and when it ends (same draft).'),
  [retryAfter]: header('Whole seconds to wait before trying again; 0 is less than one.', COUNT),
  Location: header('Where it leads.'),
  'WWW-Authenticate': header('The challenge of a 401.', { const: 'ApiKey' }),
};

/** Headers that only some responses of a kind have. */
const SOMETIMES: Record<string, OpenApiObject | undefined> = {
  [retryAfter]: componentHeaders[retryAfter],
  Accept: header('The content type that is taken.', { const: 'application/json' }),
  'Accept-Encoding': header('The content encoding that is taken.', { const: 'identity' }),
};

export const json = (schema: string | OpenApiObject): OpenApiObject => ({
  'application/json': { schema: typeof schema === 'string' ? ref(schema) : schema },
});

export const text = (...types: string[]): OpenApiObject =>
  Object.fromEntries(types.map((type) => [type, { schema: { type: 'string' } }]));

/** A response: its body, if it has one, and the headers that it has beside the request id. One with a `?` is not always there. */
export function response(description: string, content?: OpenApiObject, ...headers: string[]) {
  const described = [requestId, ...headers].map((header) => {
    const [name = '', isOptional] = header.split('?');
    const optional = { ...SOMETIMES[name], required: false };
    return [name, isOptional === undefined ? { $ref: `#/components/headers/${name}` } : optional];
  });
  return { description, headers: Object.fromEntries(described), ...(content && { content }) };
}

/** A response of an endpoint that takes a key, once the key is known. */
export const limited = (schema: string | OpenApiObject, description: string, ...more: string[]) =>
  response(description, json(schema), rateLimitPolicy, rateLimit, ...more);

/** What errors of several endpoints mean once the key is known, and the headers that they have, by status. */
const SHARED = {
  404: ['There is nothing here.'],
  409: ['The first request with this Idempotency-Key is still running.', retryAfter],
  413: [
    'The body is larger than 256 KiB for one link, 16 MiB for a look-up, or what a batch of the plan can need.',
  ],
  415: ['The body is not JSON, or it is compressed.', 'Accept?', 'Accept-Encoding?'],
  422: ['This Idempotency-Key was used before, for another request.'],
  429: ['A rate limit is exceeded; the message names it.', retryAfter],
  500: ['A fault of the service. Whether a create was carried out is unknown.'],
  503: [
    'The database can not be used for the moment, or the service is busy; nothing was stored.',
    retryAfter,
  ],
} satisfies Record<number, [description: string, ...headers: string[]]>;

export const componentResponses: Record<string, OpenApiObject> = {
  Status401: response(
    'The API key is missing or invalid. Counts against no limit.',
    json('Error'),
    'WWW-Authenticate',
  ),
  Status403: response(
    'The operator has disabled the account. Counts against no limit.',
    json('PermissionError'),
  ),
};
for (const [status, [description, ...headers]] of Object.entries(SHARED)) {
  componentResponses[`Status${status}`] = limited('Error', description, ...headers);
}

/** References to shared errors, to be spread into an operation's responses. */
export function refusals(...statuses: (401 | 403 | keyof typeof SHARED)[]) {
  return Object.fromEntries(
    statuses.map((status) => [status, { $ref: `#/components/responses/Status${status}` }]),
  );
}
