import * as wire from '@shortlink/sdk/wire';
import * as z from 'zod';
import { CODE_ALPHABET, CODE_LENGTH } from '../domain/ids.ts';
import { linkInputSchema, lookupTargetSchema } from '../domain/validate-link.ts';

/** An OpenAPI object that is written out as it stands, or a JSON Schema of the dialect that OpenAPI 3.1 uses (2020-12). */
export type OpenApiObject = { readonly [field: string]: unknown };

export const ref = (name: string): OpenApiObject => ({ $ref: `#/components/schemas/${name}` });

export const COUNT: OpenApiObject = { type: 'integer', minimum: 0 };
const UUID: OpenApiObject = { type: 'string', format: 'uuid' };
const CODE: OpenApiObject = { type: 'string', pattern: `^[${CODE_ALPHABET}]{${CODE_LENGTH}}$` };
const REDIRECT_TYPE: OpenApiObject = { type: 'integer', enum: wire.REDIRECT_TYPES };

/** What this server promises of a field, wherever it is, where the client is content with less: any string, rather than a UUID. */
const PROMISED: Record<string, OpenApiObject> = {
  ...{
    id: UUID,
    job_id: UUID,
    after: UUID,
    code: CODE,
    short_url: { type: 'string', format: 'uri' },
  },
  ...{ total: COUNT, processed: COUNT, click_count: COUNT, used: COUNT, allowed: COUNT },
  ...{ redirect_type: REDIRECT_TYPE, created_at: { type: 'string', format: 'date-time' } },
};

const list = (of: string): OpenApiObject => ({ type: 'array', items: ref(of) });

const anError = (rules: OpenApiObject): OpenApiObject => ({ allOf: [ref('Error'), rules] });

/**
 * Component schemas of the API description, made from the schemas that validate: what the server checks of a body, and what
 * the client checks of a response.
 */
export function componentSchemas(): Record<string, OpenApiObject> {
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
    LookupInput: {
      oneOf: [
        lookupInput('links', describe(lookupTargetSchema)),
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
function describe(
  schema: z.core.$ZodType,
  fields: Record<string, OpenApiObject> = {},
): OpenApiObject {
  const { $schema: _, properties, ...json } = z.toJSONSchema(schema, { io: 'input' });
  const promised = Object.entries(PROMISED).filter(([name]) => name in (properties ?? {}));
  return { ...json, properties: { ...properties, ...Object.fromEntries(promised), ...fields } };
}
