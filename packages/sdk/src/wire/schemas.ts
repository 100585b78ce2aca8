import * as z from 'zod/mini';
import { COMPLETED_BATCH, PROCESSING_BATCH, RESULT_ITEM } from './batch.ts';
import { ERROR_BODY } from './error-body.ts';
import { JOB } from './job.ts';
import type { Field, Shaped } from './lenient.ts';
import { LINK } from './link.ts';
import { LOOKUP } from './lookup.ts';
import { USAGE } from './usage.ts';

/**
 * The shapes of the protocol as zod/mini schemas: what the reference server sends. Its OpenAPI document is made from them, and the
 * tests check by them what the client reads. Nothing else of this package imports zod.
 */

/** A link, as each field of it is sent. */
export const linkSchema = schemaOf(LINK);

/** One entry of `results`. */
export const batchResultItemSchema = schemaOf(RESULT_ITEM);

/** 200: the batch was small enough to be carried out at once. */
export const completedBatchSchema = schemaOf(COMPLETED_BATCH);

/** 202: the batch became a job. */
export const processingBatchSchema = schemaOf(PROCESSING_BATCH);

/** The response to a poll. */
export const jobSchema = schemaOf(JOB);

/** The response to a look-up. An addition of the reference server. */
export const lookupSchema = schemaOf(LOOKUP);

/** The response of `GET /api/v1/usage`. An addition of the reference server. */
export const usageSchema = schemaOf(USAGE);

/** Error body: a string `error`, and `upgrade` on a resource limit. Everything else is an addition. */
export const errorBodySchema = schemaOf(ERROR_BODY);

function schemaOf<T>(field: Field<T>): z.ZodMiniType<T> {
  return zodOf(field) as z.ZodMiniType<T>;
}

function zodOf({ shape }: Shaped): z.ZodMiniType {
  if (shape === 'string') return z.string();
  if (shape === 'number') return z.number();
  if (shape === 'boolean') return z.boolean();
  if ('literal' in shape) return z.literal(shape.literal);
  if ('optional' in shape) return z.optional(zodOf(shape.optional));
  if ('nullable' in shape) return z.nullable(zodOf(shape.nullable));
  if ('list' in shape) return z.array(zodOf(shape.list));
  const fields = Object.entries(shape.object).map(([name, field]) => [name, zodOf(field)]);
  return z.looseObject(Object.fromEntries(fields));
}
