import * as wire from '@shortlink/sdk/wire';
import * as z from 'zod';
import { CODE_ALPHABET, CODE_LENGTH } from '../domain/ids.ts';
import { linkInputSchema, lookupTargetSchema } from '../domain/validate-link.ts';

/** An OpenAPI object that is written out as it stands, or a JSON Schema of the dialect that OpenAPI 3.1 uses (2020-12). */
export type OpenApiObject = { readonly [field: string]: unknown };

/** A reference to one of the {@link componentSchemas}. */
export const ref = (name: string): OpenApiObject => ({ $ref: `#/components/schemas/${name}` });

export const COUNT: OpenApiObject = { type: 'integer', minimum: 0 };
const UUID: OpenApiObject = { type: 'string', format: 'uuid' };
const TIME: OpenApiObject = { type: 'string', format: 'date-time' };
const CODE: OpenApiObject = { type: 'string', pattern: `^[${CODE_ALPHABET}]{${CODE_LENGTH}}$` };
const REDIRECT_TYPE: OpenApiObject = { type: 'integer', enum: wire.REDIRECT_TYPES };

/**
 * Component schemas of the API description, made from the schemas that validate: what the server checks of a body, and what
 * the client checks of a response. The client is tolerant; where this server promises more than the client asks for (a
 * UUID rather than any string), the field is described by that.
 */
export function componentSchemas(): Record<string, OpenApiObject> {
  const resultItem = describe(wire.batchResultItemSchema, {
    code: CODE,
    short_url: { type: 'string', format: 'uri' },
  });
  return {
    LinkInput: describe(linkInputSchema, {
      redirect_type: { ...REDIRECT_TYPE, default: wire.DEFAULT_REDIRECT_TYPE },
    }),
    BatchInput: {
      type: 'object',
      properties: {
        domain_id: { type: 'string', description: 'Default domain of all links of the request.' },
        links: {
          type: 'array',
          items: ref('LinkInput'),
          minItems: 1,
          maxItems: wire.MAX_BATCH_LINKS,
        },
      },
      required: ['links'],
    },
    LookupInput: {
      oneOf: [
        lookupInput('links', describe(lookupTargetSchema, { after: UUID })),
        lookupInput('codes', { type: 'string' }),
      ],
    },
    Lookup: describe(wire.lookupSchema, {
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
    Link: describe(wire.linkSchema, {
      id: UUID,
      code: CODE,
      short_url: { type: 'string', format: 'uri' },
      redirect_type: REDIRECT_TYPE,
      click_count: COUNT,
      created_at: TIME,
    }),
    BatchResultItem: { ...resultItem, required: ['target_url', 'code', 'short_url'] },
    CompletedBatch: describe(wire.completedBatchSchema, {
      total: COUNT,
      results: { type: 'array', items: ref('BatchResultItem') },
    }),
    ProcessingBatch: describe(wire.processingBatchSchema, { job_id: UUID, total: COUNT }),
    Job: describe(wire.jobSchema, {
      id: UUID,
      status: { type: 'string', enum: wire.JOB_STATUSES },
      total: COUNT,
      processed: COUNT,
      results: { type: 'array', items: ref('BatchResultItem') },
    }),
    Usage: describe(wire.usageSchema, { plan: { type: 'string', enum: wire.PLANS } }),
    Error: {
      ...describe(wire.errorBodySchema, {
        code: { type: 'string', enum: wire.ERROR_CODES },
        limit: { type: 'string', enum: wire.PLAN_LIMIT_NAMES },
        used: COUNT,
        allowed: COUNT,
      }),
      required: ['error', 'code'],
    },
    ValidationError: {
      allOf: [ref('Error'), { properties: { details: { maxItems: wire.MAX_ERROR_DETAILS } } }],
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
          description: `The key lacks a permission (there are ${wire.PERMISSIONS.join(' and ')}), or the account is disabled.`,
          properties: { code: { enum: ['forbidden', 'account_disabled'] } },
        },
      ],
    },
  };
}

function lookupInput(list: string, items: OpenApiObject): OpenApiObject {
  const entries = { type: 'array', items, minItems: 1, maxItems: wire.MAX_LOOKUP_ENTRIES };
  return { type: 'object', properties: { [list]: entries }, required: [list] };
}

/** The JSON Schema of a validating schema, with some of its fields described more closely. */
function describe(schema: z.core.$ZodType, fields: Record<string, OpenApiObject>): OpenApiObject {
  const { $schema: _, ...json } = z.toJSONSchema(schema, { io: 'input' });
  return { ...json, properties: { ...json.properties, ...fields } };
}
