import { HEADERS } from '@shortlink/sdk/wire';
import { COUNT, type OpenApiObject, ref } from './schemas.ts';

const header = (description: string, rules: OpenApiObject = {}): OpenApiObject => ({
  description,
  schema: { type: 'string', ...rules },
});

export const componentHeaders: Record<string, OpenApiObject> = {
  [HEADERS.requestId]: header('Names this response in logs and bug reports.', {
    pattern: '^[\\w=-]{1,128}$',
  }),
  [HEADERS.rateLimitPolicy]: header(
    'The request windows of the plan (IETF draft-ietf-httpapi-ratelimit-headers-11); absent when all are unlimited.',
  ),
  [HEADERS.rateLimit]: header('What is left of each window, and when it ends (same draft).'),
  [HEADERS.retryAfter]: header(
    'Whole seconds to wait before trying again; 0 is less than one.',
    COUNT,
  ),
  Location: header('Where it leads.'),
  'WWW-Authenticate': header('The challenge of a 401.', { const: 'ApiKey' }),
};

/** Headers that only some responses of a kind have. */
const SOMETIMES: Record<string, OpenApiObject | undefined> = {
  [HEADERS.retryAfter]: componentHeaders[HEADERS.retryAfter],
  Accept: header('The content type that is taken.', { const: 'application/json' }),
  'Accept-Encoding': header('The content encoding that is taken.', { const: 'identity' }),
};

export const json = (schema: string | OpenApiObject): OpenApiObject => ({
  'application/json': { schema: typeof schema === 'string' ? ref(schema) : schema },
});

export const text = (...types: string[]): OpenApiObject =>
  Object.fromEntries(types.map((type) => [type, { schema: { type: 'string' } }]));

/** A response: its body, if it has one, and the headers that it has beside the request id. One with a `?` is not always there. */
export function response(
  description: string,
  content?: OpenApiObject,
  headers: readonly string[] = [],
): OpenApiObject {
  const described = [HEADERS.requestId, ...headers].map((header) => {
    const [name = '', isOptional] = header.split('?');
    const optional = { ...SOMETIMES[name], required: false };
    return [name, isOptional === undefined ? { $ref: `#/components/headers/${name}` } : optional];
  });
  return { description, headers: Object.fromEntries(described), ...(content && { content }) };
}

/** A response of an endpoint that takes a key, once the key is known. */
export function limited(
  schema: string | OpenApiObject,
  description: string,
  headers: readonly string[] = [],
): OpenApiObject {
  const windows = [HEADERS.rateLimitPolicy, HEADERS.rateLimit];
  return response(description, json(schema), [...windows, ...headers]);
}

/** Errors that several endpoints share, by status. */
const SHARED = {
  401: response('The API key is missing or invalid. Counts against no limit.', json('Error'), [
    'WWW-Authenticate',
  ]),
  403: response(
    'The operator has disabled the account. Counts against no limit.',
    json('PermissionError'),
  ),
  404: limited('Error', 'There is nothing here.'),
  409: limited('Error', 'The first request with this Idempotency-Key is still running.', [
    HEADERS.retryAfter,
  ]),
  413: limited(
    'Error',
    'The body is larger than 256 KiB for one link, 16 MiB for a look-up, or what a batch of the plan can need.',
  ),
  415: limited('Error', 'The body is not JSON, or it is compressed.', [
    'Accept?',
    'Accept-Encoding?',
  ]),
  422: limited('Error', 'This Idempotency-Key was used before, for another request.'),
  429: limited('Error', 'A rate limit is exceeded; the message names it.', [HEADERS.retryAfter]),
  500: limited('Error', 'A fault of the service. Whether a create was carried out is unknown.'),
  503: limited(
    'Error',
    'The database can not be used for the moment, or the service is busy; nothing was stored.',
    [HEADERS.retryAfter],
  ),
} as const;

export const componentResponses: Record<string, OpenApiObject> = Object.fromEntries(
  Object.entries(SHARED).map(([status, shared]) => [`Status${status}`, shared]),
);

/** References to shared errors, to be spread into an operation's responses. */
export function refusals(...statuses: (keyof typeof SHARED)[]): Record<string, OpenApiObject> {
  return Object.fromEntries(
    statuses.map((status) => [status, { $ref: `#/components/responses/Status${status}` }]),
  );
}
