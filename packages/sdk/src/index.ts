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
  BulkSource,
  CreateManyOptions,
  RecordedResult,
  RecordedResults,
} from './bulk/create-many.ts';
// Client
export { Shortlink } from './client.ts';
// Errors
export {
  ApiError,
  AuthenticationError,
  BadRequestError,
  NotFoundError,
  PermissionError,
  PlanLimitError,
  RateLimitError,
  ServerError,
  UnsupportedError,
} from './errors/api-errors.ts';
export {
  ConnectionError,
  InvalidOptionError,
  isOutcomeUnknown,
  JobFailedError,
  JobTimeoutError,
  type Outcome,
  ResponseShapeError,
  TimeoutError,
} from './errors/call-errors.ts';
export { ShortlinkError } from './errors/shortlink-error.ts';
// Watching
export type { ApiResponse, ResponsePromise } from './http/request.ts';
export type { QuotaWindow } from './http/response-headers.ts';
export type {
  CooldownEvent,
  EndEvent,
  Logger,
  LogLevel,
  RequestEvent,
  ResponseEvent,
  RetryEvent,
  ShortlinkHooks,
} from './http/watching.ts';
// Options
export type {
  Fetch,
  FetchInit,
  FetchOptions,
  FetchResponse,
  HeadersInput,
  RequestOptions,
  ShortlinkOptions,
  WaitOptions,
} from './options.ts';
export type { Jobs } from './resources/jobs.ts';
export type { BatchWaitOptions, Links } from './resources/links.ts';
export type { LookupEntry, LookupSource } from './resources/lookup.ts';
export type { UsageResource } from './resources/usage.ts';

// Data, as it is on the wire
export type {
  BatchInput,
  BatchResponse,
  BatchResultItem,
  CompletedBatch,
  Job,
  ProcessingBatch,
} from './wire/batch.ts';
export type { ErrorBody, ErrorCode, ErrorDetail, PlanLimitName } from './wire/error-body.ts';
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
  PLAN_LIMITS,
  PLANS,
  type Plan,
  type PlanLimits,
  REDIRECT_TYPES,
  type RedirectType,
} from './wire/limits.ts';
export type { CreateLinkBody, Link, LinkInput } from './wire/link.ts';
export type { LookupInput, LookupResult } from './wire/lookup.ts';
export type { KeyDay, KeyUsage, ResourceUsage, TopLink, Usage, WindowUsage } from './wire/usage.ts';
