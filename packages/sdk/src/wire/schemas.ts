import * as z from 'zod/mini';
import * as batch from './batch.ts';
import { type ErrorBody, errorBody } from './error-body.ts';
import { type Link, link } from './link.ts';
import { type LookupResponse, lookupResponse } from './lookup.ts';
import { type Usage, usage } from './usage.ts';

/**
 * The shapes of the protocol as zod/mini schemas: what the reference server sends. Its OpenAPI document is made from them. The
 * client doesn't run them, and nothing else of this package imports zod. Its classes are called without its functions, which
 * also read messages and checks: a page loads 0.2 KB less.
 *
 * @param rare makes the schemas that few shapes need: a page that imports a schema without them doesn't load them
 */
function schema<T>(shape: T, rare?: typeof rareSchema): z.ZodMiniType<T>;
function schema(shape: unknown, rare?: typeof rareSchema): z.ZodMiniType {
  const made = rare?.(shape);
  if (made !== undefined) return made;
  if (typeof shape === 'string') return new z.ZodMiniString({ type: 'string' });
  if (typeof shape === 'boolean') return new z.ZodMiniBoolean({ type: 'boolean' });
  if (typeof shape === 'number') return new z.ZodMiniNumber({ type: 'number', checks: [] });
  if (Array.isArray(shape)) {
    return new z.ZodMiniArray({ type: 'array', element: schema(shape[0], rare) });
  }
  const fields = Object.entries(Object(shape)).map(([name, field]) => [name, schema(field, rare)]);
  const catchall = new z.ZodMiniUnknown({ type: 'unknown' });
  return new z.ZodMiniObject({ type: 'object', shape: Object.fromEntries(fields), catchall });
}

function rareSchema(shape: unknown): z.ZodMiniType | undefined {
  if (typeof shape === 'string' && shape) {
    return new z.ZodMiniLiteral({ type: 'literal', values: [shape] });
  }
  if (shape === null) return nullable(0);
  if (shape === undefined) return nullable({ optional: '' });
  const { optional } = Object(shape);
  if (optional === undefined) return undefined;
  return new z.ZodMiniOptional({ type: 'optional', innerType: schema(optional, rareSchema) });
}

function nullable(shape: unknown): z.ZodMiniType {
  return new z.ZodMiniNullable({ type: 'nullable', innerType: schema(shape, rareSchema) });
}

/** The schema of a shape that has rare ones in it. */
const rich = <T>(shape: T) => schema<T>(shape, rareSchema);

/** A link, as each field of it is sent. */
export const linkSchema = schema<Link>(link);

/** One entry of `results`. */
export const batchResultItemSchema = rich<batch.BatchResultItem>(batch.batchResultItem);

/** 200: the batch was small enough to be carried out at once. */
export const completedBatchSchema = rich<batch.CompletedBatch>(batch.completedBatch);

/** 202: the batch became a job. */
export const processingBatchSchema = rich<batch.ProcessingBatch>(batch.processingBatch);

/** The response to a poll. */
export const jobSchema = rich<batch.Job>(batch.job);

/** The response to a look-up. An addition of the reference server. */
export const lookupSchema = schema<LookupResponse>(lookupResponse);

/** Error body: a string `error`, and `upgrade` on a resource limit. Everything else is an addition. */
export const errorBodySchema = rich<ErrorBody>(errorBody);

/** The response of `GET /api/v1/usage`. An addition of the reference server. */
export const usageSchema = rich<Usage>(usage);
