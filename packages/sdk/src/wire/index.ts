/**
 * The wire contract of the Shortlink service: shapes, routes, header names, limits and plans.
 * Shared by the client and the reference server. Only the types of the schemas need the package zod; its code is built in.
 *
 * @packageDocumentation
 */

// Shapes and constants, which need no zod: links, batches and jobs
export {
  type BatchInput,
  type BatchResponse,
  type BatchResultItem,
  type CompletedBatch,
  JOB_STATUSES,
  type Job,
  type ProcessingBatch,
} from './batch.ts';
// Errors and usage
export {
  ERROR_CODES,
  type ErrorBody,
  type ErrorCode,
  type ErrorDetail,
  PLAN_LIMIT_NAMES,
  type PlanLimitName,
} from './error-body.ts';
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
export type { CreateLinkBody, Link, LinkInput } from './link.ts';
export {
  type LookupBody,
  type LookupResponse,
  type LookupResult,
  type LookupTarget,
  MAX_LOOKUP_ENTRIES,
} from './lookup.ts';
// Routes and headers
export { API_PREFIX, HEADERS, jobPath, ROUTES } from './routes.ts';
export {
  batchResultItemSchema,
  completedBatchSchema,
  errorBodySchema,
  jobSchema,
  linkSchema,
  lookupSchema,
  processingBatchSchema,
  usageSchema,
} from './schemas.ts';
export type {
  KeyDay,
  KeyRefusal,
  KeyUsage,
  RefusalReason,
  ResourceUsage,
  TopLink,
  Usage,
  WindowUsage,
} from './usage.ts';
