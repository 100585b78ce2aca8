import * as f from './lenient.ts';

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

/** One refused entry or field. */
export interface ErrorDetail extends f.Data<typeof errorDetail> {}
const errorDetail = {
  /** Position in `links`, from 0; absent for a single link. */
  index: f.number(undefined),
  /** The field that was refused, such as `target_url` or `tags[2]`. */
  field: f.text,
  /** Why, for a person. */
  message: f.text,
};

/** Body of every error. */
export interface ErrorBody extends f.Data<typeof errorBody> {}
const errorBody = {
  /** What went wrong, for a person. */
  error: f.text,
  /** `true` when a resource limit of the plan was reached. */
  upgrade: f.flag(undefined),
  /** Stable machine word, see {@link ERROR_CODES}. Addition of the reference server. */
  code: f.optionalText,
  /** Which resource is exhausted, see {@link PLAN_LIMIT_NAMES}. Addition of the reference server. */
  limit: f.optionalText,
  /** How much of it is in use. For `batch_size`: how many links the request carried. */
  used: f.number(undefined),
  /** How much of it the plan allows. */
  allowed: f.number(undefined),
  /** Up to 100 refused entries of a batch. Addition of the reference server. */
  details: f.optional(f.list(f.object<ErrorDetail>(errorDetail))),
};

const readFields = f.object<ErrorBody>(errorBody);

/**
 * Reads an error body; undefined where it has no `error` that is a string. An addition of another type is ignored, and
 * changes neither `error` nor the other additions.
 */
export function readErrorBody(value: unknown): ErrorBody | undefined {
  const isBody = f.isObject(value) && typeof value['error'] === 'string';
  return isBody ? readFields(value) : undefined;
}
