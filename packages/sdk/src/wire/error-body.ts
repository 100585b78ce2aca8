import { type Data, isObject, optional, reader } from './shape.ts';

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
export interface ErrorDetail extends Data<typeof errorDetail> {}
const errorDetail = {
  /** Position in `links`, from 0; absent for a single link. */
  index: optional(0),
  /** The field that was refused, such as `target_url` or `tags[2]`. */
  field: '',
  /** Why, for a person. */
  message: '',
};

/** Body of every error. */
export interface ErrorBody extends Data<typeof errorBody> {}
export const errorBody = {
  /** What went wrong, for a person. */
  error: '',
  /** `true` when a resource limit of the plan was reached. */
  upgrade: optional(false),
  /** Stable machine word, see {@link ERROR_CODES}. Addition of the reference server. */
  code: optional(''),
  /** Which resource is exhausted, see {@link PLAN_LIMIT_NAMES}. Addition of the reference server. */
  limit: optional(''),
  /** How much of it is in use. For `batch_size`: how many links the request carried. */
  used: optional(0),
  /** How much of it the plan allows. */
  allowed: optional(0),
  /** Up to 100 refused entries of a batch. Addition of the reference server. */
  details: optional([errorDetail] as ErrorDetail[]),
};

const readFields = reader<ErrorBody>(errorBody);

/** Reads an error body; undefined where it has no `error` that is a string. An addition of another type is ignored. */
export function readErrorBody(value: unknown): ErrorBody | undefined {
  const isBody = isObject(value) && typeof value['error'] === 'string';
  return isBody ? readFields(value) : undefined;
}
