/**
 * The wire contract of the Shortlink service: shapes, routes, header names, limits and plans.
 * Shared by the client and the reference server; depends on nothing but `zod/mini`.
 *
 * @packageDocumentation
 */

// Links, batches and jobs
export {
  type BatchInput,
  type BatchResponse,
  type BatchResultItem,
  batchResultItemSchema,
  type CompletedBatch,
  completedBatchSchema,
  type ProcessingBatch,
  processingBatchSchema,
} from './batch.ts';
// Errors and usage
export {
  ERROR_CODES,
  type ErrorBody,
  type ErrorCode,
  type ErrorDetail,
  errorBodySchema,
  PLAN_LIMIT_NAMES,
  type PlanLimitName,
} from './error-body.ts';
export { JOB_STATUSES, type Job, jobSchema } from './job.ts';
// Limits, plans and permissions
export {
  DEFAULT_REDIRECT_TYPE,
  MAX_BATCH_LINKS,
  MAX_BODY_BYTES,
  MAX_ERROR_DETAILS,
  MAX_SYNC_BATCH_LINKS,
  MAX_TAG_LENGTH,
  MAX_TAGS,
  MAX_TARGET_URL_LENGTH,
  MAX_TITLE_LENGTH,
  PERMISSIONS,
  type Permission,
  PLAN_LIMITS,
  PLANS,
  type Plan,
  type PlanLimits,
  REDIRECT_TYPES,
  type RedirectType,
} from './limits.ts';
export {
  type CreateLinkBody,
  type Link,
  type LinkInput,
  linkSchema,
} from './link.ts';
export {
  type LookupBody,
  type LookupResponse,
  type LookupResult,
  type LookupTarget,
  lookupSchema,
  MAX_LOOKUP_ENTRIES,
} from './lookup.ts';
// Routes and headers
export { API_PREFIX, HEADERS, jobPath, ROUTES } from './routes.ts';
export {
  type KeyDay,
  type KeyRefusal,
  type KeyUsage,
  type RefusalReason,
  type ResourceUsage,
  type TopLink,
  type Usage,
  usageSchema,
  type WindowUsage,
} from './usage.ts';
