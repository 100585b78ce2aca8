import * as z from 'zod/mini';
import { listOf, readWith, text } from './lenient.ts';

/** Machine words that the reference server adds to every error as `code`. */
export const ERROR_CODES = [
  'invalid_request',
  'unauthorized',
  'forbidden',
  'not_found',
  'method_not_allowed',
  'gone',
  'payload_too_large',
  'unsupported_media_type',
  'rate_limited',
  'plan_limit',
  'idempotency_conflict',
  'unavailable',
  'internal',
] as const;
export type ErrorCode = (typeof ERROR_CODES)[number];

/** Resources a plan limits; `limit` of a 403 with `upgrade`. */
export const PLAN_LIMIT_NAMES = ['links', 'batch_size', 'api_keys'] as const;
export type PlanLimitName = (typeof PLAN_LIMIT_NAMES)[number];

/** One refused entry of a batch, or one refused field of a single link. */
export const errorDetailSchema = z.looseObject({
  index: z.optional(z.number()),
  field: z.string(),
  message: z.string(),
});

/** Error body: a text `error`, and `upgrade` on a resource limit. Everything else is an addition. */
export const errorBodySchema = z.looseObject({
  error: z.string(),
  upgrade: z.optional(z.boolean()),
  code: z.optional(z.string()),
  limit: z.optional(z.string()),
  used: z.optional(z.number()),
  allowed: z.optional(z.number()),
  details: z.optional(z.array(errorDetailSchema)),
});

const readDetailSchema = z.looseObject({
  index: z.catch(z.optional(z.number()), undefined),
  field: text(),
  message: text(),
});

/** The error body as the client reads it: an addition that is odd hides neither `error` nor the other additions. */
const readErrorBodySchema = z.looseObject({
  error: z.string(),
  upgrade: z.catch(z.optional(z.boolean()), undefined),
  code: z.catch(z.optional(z.string()), undefined),
  limit: z.catch(z.optional(z.string()), undefined),
  used: z.catch(z.optional(z.number()), undefined),
  allowed: z.catch(z.optional(z.number()), undefined),
  details: z.optional(listOf(readDetailSchema)),
});

/** Reads an error body; undefined where it has no `error` that is a text. */
export function readErrorBody(value: unknown): ErrorBody | undefined {
  const read = readWith(readErrorBodySchema, value);
  return 'data' in read ? read.data : undefined;
}

/** One refused entry or field. */
export interface ErrorDetail {
  /** Position in `links`, from 0; absent for a single link. */
  index?: number | undefined;
  /** The field that was refused, such as `target_url` or `tags[2]`. */
  field: string;
  /** Why, for a person. */
  message: string;
}

/** Body of every error. */
export interface ErrorBody {
  /** What went wrong, for a person. */
  error: string;
  /** `true` when a resource limit of the plan was reached. */
  upgrade?: boolean | undefined;
  /** Stable machine word, see {@link ERROR_CODES}. Addition of the reference server. */
  code?: string | undefined;
  /** Which resource is exhausted, see {@link PLAN_LIMIT_NAMES}. Addition of the reference server. */
  limit?: string | undefined;
  /** How much of it is in use. For `batch_size`: how many links the request carried. */
  used?: number | undefined;
  /** How much of it the plan allows. */
  allowed?: number | undefined;
  /** Up to 100 refused entries of a batch. Addition of the reference server. */
  details?: ErrorDetail[] | undefined;
}
