/**
 * Typed client of the Shortlink service.
 *
 * @packageDocumentation
 */

// Bulk
export type {
  BatchEvent,
  BatchRange,
  BatchRecord,
  BulkItem,
  BulkItems,
  BulkSource,
  BulkSourceIterator,
  CreateManyOptions,
  RecordedResult,
} from './bulk/types.ts';
// Client
export { Shortlink } from './client.ts';
// Errors
export { ApiError } from './errors/api-error.ts';
export { AuthenticationError } from './errors/authentication-error.ts';
export { BadRequestError } from './errors/bad-request-error.ts';
export { ConnectionError, type Outcome } from './errors/connection-error.ts';
export { InvalidOptionError } from './errors/invalid-option-error.ts';
export { isOutcomeUnknown } from './errors/is-outcome-unknown.ts';
export { JobFailedError } from './errors/job-failed-error.ts';
export { JobTimeoutError } from './errors/job-timeout-error.ts';
export { NotFoundError } from './errors/not-found-error.ts';
export { PermissionError } from './errors/permission-error.ts';
export { PlanLimitError } from './errors/plan-limit-error.ts';
export { RateLimitError } from './errors/rate-limit-error.ts';
export { ResponseShapeError } from './errors/response-shape-error.ts';
export { ServerError } from './errors/server-error.ts';
export { ShortlinkError } from './errors/shortlink-error.ts';
export { TimeoutError } from './errors/timeout-error.ts';
// Watching
export type {
  CooldownEvent,
  RequestEvent,
  ResponseEvent,
  RetryEvent,
  ShortlinkHooks,
} from './http/hooks.ts';
export type { Logger } from './http/logger.ts';
export type { QuotaWindow } from './http/rate-limit-header.ts';
export type { RequestOptions, ShortlinkOptions } from './options.ts';
export type { Jobs, WaitOptions } from './resources/jobs.ts';
export type { Links } from './resources/links.ts';
export type { UsageResource } from './resources/usage.ts';

// Data, as it is on the wire
export type {
  BatchAnswer,
  BatchLinkInput,
  BatchResultItem,
  CompletedBatch,
  CreateBatchBody,
  ProcessingBatch,
} from './wire/batch.ts';
export type { ErrorBody, ErrorCode, ErrorDetail, PlanLimitName } from './wire/error-body.ts';
export type { Job } from './wire/job.ts';
// Limits and plans of the service
export {
  DEFAULT_REDIRECT_TYPE,
  MAX_BATCH_LINKS,
  MAX_BODY_BYTES,
  MAX_SYNC_BATCH_LINKS,
  MAX_TAG_LENGTH,
  MAX_TAGS,
  MAX_TARGET_URL_LENGTH,
  MAX_TITLE_LENGTH,
  REDIRECT_TYPES,
  type RedirectType,
} from './wire/limits.ts';
export type { CreateLinkBody, Link } from './wire/link.ts';
export { PLAN_LIMITS, PLANS, type Plan, type PlanLimits } from './wire/plans.ts';
export type { KeyDay, KeyUsage, ResourceUsage, Usage, WindowUsage } from './wire/usage.ts';
