import { HEADERS } from '@shortlink/sdk/wire';
import { jsonResponse, type OpenApiObject, refusals, textResponse } from './components.ts';

/** A `GET` that takes no key. What `more` holds is added to it, or replaces it. */
function get(
  operationId: string,
  summary: string,
  responses: OpenApiObject,
  more: OpenApiObject = {},
): OpenApiObject {
  const errors = refusals(500);
  const rest = { security: [], responses: { ...responses, ...errors }, ...more };
  return { get: { operationId, tags: ['service'], summary, ...rest } };
}

const OK: OpenApiObject = {
  type: 'object',
  properties: { status: { type: 'string', const: 'ok' } },
  required: ['status'],
};

const PAGE = { tags: ['usage'] };

/** What the operator of the service and curious people ask. */
export const servicePaths: Record<string, OpenApiObject> = {
  '/openapi.json': get('getApiDescription', 'This document', {
    200: jsonResponse('OpenAPI 3.1.', { type: 'object' }),
  }),
  '/analytics': get(
    'getAnalyticsPage',
    'A page that shows the usage of a key as charts',
    {
      200: textResponse(
        'The page; it asks for a key and sends it to this service only.',
        'text/html',
      ),
    },
    PAGE,
  ),
  '/analytics/{file}': get(
    'getAnalyticsFile',
    'A file that the page loads',
    {
      200: textResponse('The file.', 'text/javascript', 'text/css', 'text/html'),
      ...refusals(404),
    },
    {
      ...PAGE,
      parameters: [{ name: 'file', in: 'path', required: true, schema: { type: 'string' } }],
    },
  ),
  '/healthz': get('getHealth', 'Whether the process answers', {
    200: jsonResponse('It does.', OK),
  }),
  '/readyz': get('getReadiness', 'Whether requests may be sent here', {
    200: jsonResponse('They may; the body also has the state of the database.', {
      type: 'object',
      properties: {
        status: { type: 'string', const: 'ok' },
        database: { type: 'string', enum: ['up', 'down'] },
      },
      required: ['status', 'database'],
    }),
    503: jsonResponse('The server is stopping.', 'Error'),
  }),
  '/metrics': get(
    'getMetrics',
    'Metrics in the Prometheus text format',
    {
      200: textResponse('The metrics.', 'text/plain'),
      403: jsonResponse('Not for this caller.', 'Error'),
    },
    {
      description:
        'For the operator: with the token of SHORTLINK_METRICS_TOKEN, or from the same machine.',
      security: [{ metricsToken: [] }, {}],
    },
  ),
  '/internal/tls-check': get(
    'checkTlsDomain',
    'Whether the service serves a host, for a proxy that gets certificates on demand',
    {
      200: jsonResponse('It does.', OK),
      403: jsonResponse('Not for this caller.', 'Error'),
      ...refusals(404, 503),
    },
    {
      description:
        'For the operator: with the token of SHORTLINK_TLS_ASK_TOKEN, or from the same machine.',
      security: [{ tlsAskToken: [] }, {}],
      parameters: [{ name: 'domain', in: 'query', required: true, schema: { type: 'string' } }],
    },
  ),
};

export const securitySchemes: Record<string, OpenApiObject> = {
  apiKey: {
    type: 'apiKey',
    in: 'header',
    name: HEADERS.apiKey,
    description: 'A key of the account, made with `shortlink-server keys create`.',
  },
  tlsAskToken: {
    type: 'apiKey',
    in: 'query',
    name: 'token',
    description: 'SHORTLINK_TLS_ASK_TOKEN.',
  },
  metricsToken: { type: 'http', scheme: 'bearer', description: 'SHORTLINK_METRICS_TOKEN.' },
};
