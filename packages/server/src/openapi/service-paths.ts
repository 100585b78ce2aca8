import { HEADERS } from '@shortlink/sdk/wire';
import { jsonResponse, type OpenApiObject, refusals, textResponse } from './components.ts';

/** What the operator of the service and curious people ask. */
export const servicePaths: Record<string, OpenApiObject> = {
  '/openapi.json': {
    get: {
      operationId: 'getApiDescription',
      tags: ['service'],
      summary: 'This document',
      security: [],
      responses: { 200: jsonResponse('OpenAPI 3.1.', { type: 'object' }), ...refusals(500) },
    },
  },
  '/analytics': {
    get: {
      operationId: 'getAnalyticsPage',
      tags: ['usage'],
      summary: 'A page that shows the usage of a key as charts',
      security: [],
      responses: {
        200: textResponse(
          'The page; it asks for a key and sends it to this service only.',
          'text/html',
        ),
        ...refusals(500),
      },
    },
  },
  '/analytics/{file}': {
    get: {
      operationId: 'getAnalyticsFile',
      tags: ['usage'],
      summary: 'A file that the page loads',
      security: [],
      parameters: [{ name: 'file', in: 'path', required: true, schema: { type: 'string' } }],
      responses: {
        200: {
          ...textResponse('The file.', 'text/javascript'),
          content: {
            'text/javascript': { schema: { type: 'string' } },
            'text/css': { schema: { type: 'string' } },
            'text/html': { schema: { type: 'string' } },
          },
        },
        ...refusals(404, 500),
      },
    },
  },
  '/healthz': {
    get: {
      operationId: 'getHealth',
      tags: ['service'],
      summary: 'Whether the process answers',
      security: [],
      responses: { 200: jsonResponse('It does.', status('ok')), ...refusals(500) },
    },
  },
  '/readyz': {
    get: {
      operationId: 'getReadiness',
      tags: ['service'],
      summary: 'Whether requests may be sent here',
      security: [],
      responses: {
        200: jsonResponse('They may; the body also has the state of the database.', {
          type: 'object',
          properties: {
            status: { type: 'string', const: 'ok' },
            database: { type: 'string', enum: ['up', 'down'] },
          },
          required: ['status', 'database'],
        }),
        503: jsonResponse('The server is stopping.', 'Error'),
        ...refusals(500),
      },
    },
  },
  '/metrics': {
    get: {
      operationId: 'getMetrics',
      tags: ['service'],
      summary: 'Metrics in the Prometheus text format',
      description:
        'For the operator: with the token of SHORTLINK_METRICS_TOKEN, or from the same machine.',
      security: [{ metricsToken: [] }, {}],
      responses: {
        200: textResponse('The metrics.', 'text/plain'),
        403: jsonResponse('Not for this caller.', 'Error'),
        ...refusals(500),
      },
    },
  },
  '/internal/tls-check': {
    get: {
      operationId: 'checkTlsDomain',
      tags: ['service'],
      summary: 'Whether the service serves a host, for a proxy that gets certificates on demand',
      description:
        'For the operator: with the token of SHORTLINK_TLS_ASK_TOKEN, or from the same machine.',
      security: [{ tlsAskToken: [] }, {}],
      parameters: [{ name: 'domain', in: 'query', required: true, schema: { type: 'string' } }],
      responses: {
        200: jsonResponse('It does.', status('ok')),
        403: jsonResponse('Not for this caller.', 'Error'),
        ...refusals(404, 500, 503),
      },
    },
  },
};

function status(value: string) {
  return {
    type: 'object',
    properties: { status: { type: 'string', const: value } },
    required: ['status'],
  };
}

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
