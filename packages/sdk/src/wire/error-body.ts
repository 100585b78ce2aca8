import * as z from 'zod/mini';
import {
  each,
  type Fields,
  fieldsOf,
  optionalNumber,
  optionalText,
  readFields,
  text,
} from './lenient.ts';

/** Machine words that the reference server adds to every error as `code`. */
export const ERROR_CODES = [
  'invalid_request',
  'unauthorized',
  'forbidden',
  'account_disabled',
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
const errorDetailSchema = z.looseObject({
  index: z.optional(z.number()),
  field: z.string(),
  message: z.string(),
});

/** Error body: a string `error`, and `upgrade` on a resource limit. Everything else is an addition. */
export const errorBodySchema = z.looseObject({
  error: z.string(),
  upgrade: z.optional(z.boolean()),
  code: z.optional(z.string()),
  limit: z.optional(z.string()),
  used: z.optional(z.number()),
  allowed: z.optional(z.number()),
  details: z.optional(z.array(errorDetailSchema)),
});

/**
 * Reads an error body; undefined where it has no `error` that is a string. An addition of another type is ignored, and
 * changes neither `error` nor the other additions.
 */
export function readErrorBody(value: unknown): ErrorBody | undefined {
  const fields = fieldsOf(value);
  if (typeof fields?.['error'] !== 'string') return undefined;
  return readFields(fields, {
    error: text,
    upgrade: (value) => (typeof value === 'boolean' ? value : undefined),
    code: optionalText,
    limit: optionalText,
    used: optionalNumber,
    allowed: optionalNumber,
    details: (details) => (Array.isArray(details) ? each(details, readDetail) : undefined),
  });
}

const readDetail = (detail: Fields): ErrorDetail =>
  readFields(detail, { index: optionalNumber, field: text, message: text });

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
