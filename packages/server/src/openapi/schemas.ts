import {
  batchResultItemSchema,
  completedBatchSchema,
  DEFAULT_REDIRECT_TYPE,
  ERROR_CODES,
  errorBodySchema,
  JOB_STATUSES,
  jobSchema,
  linkSchema,
  MAX_BATCH_LINKS,
  MAX_ERROR_DETAILS,
  PERMISSIONS,
  PLAN_LIMIT_NAMES,
  PLANS,
  processingBatchSchema,
  REDIRECT_TYPES,
  usageSchema,
} from '@shortlink/sdk/wire';
import * as z from 'zod';
import { CODE_ALPHABET, CODE_LENGTH } from '../domain/codes.ts';
import { linkInputSchema } from '../domain/validate-link.ts';

/** A JSON Schema of the dialect that OpenAPI 3.1 uses (2020-12). */
export type JsonSchema = { readonly [keyword: string]: unknown };

const ref = (name: string): JsonSchema => ({ $ref: `#/components/schemas/${name}` });

const COUNT: JsonSchema = { type: 'integer', minimum: 0 };
const UUID: JsonSchema = { type: 'string', format: 'uuid' };
const TIME: JsonSchema = { type: 'string', format: 'date-time' };
const CODE: JsonSchema = { type: 'string', pattern: `^[${CODE_ALPHABET}]{${CODE_LENGTH}}$` };
const REDIRECT_TYPE: JsonSchema = { type: 'integer', enum: REDIRECT_TYPES };

/**
 * Component schemas of the API description, made from the schemas that validate: what the server checks of a body, and what
 * the client checks of a response. The client is tolerant; where this server promises more than the client asks for (a
 * UUID rather than any string), the field is described by that.
 */
export function componentSchemas(): Record<string, JsonSchema> {
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

/** The JSON Schema of a validating schema, with some of its fields described more closely. */
function describe(schema: z.core.$ZodType, fields: Record<string, JsonSchema>): JsonSchema {
  const { $schema: _, ...json } = z.toJSONSchema(schema, { io: 'input' });
  return { ...json, properties: { ...json.properties, ...fields } };
}
