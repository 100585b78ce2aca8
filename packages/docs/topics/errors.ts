/**
 * What calls throw. Every error extends `ShortlinkError`.
 *
 * @module sdk/errors
 */
export {
  ApiError,
  AuthenticationError,
  BadRequestError,
  ConnectionError,
  type ErrorBody,
  type ErrorCode,
  type ErrorDetail,
  InvalidOptionError,
  isOutcomeUnknown,
  JobFailedError,
  JobTimeoutError,
  NotFoundError,
  type Outcome,
  PermissionError,
  PlanLimitError,
  type PlanLimitName,
  RateLimitError,
  ResponseShapeError,
  ServerError,
  ShortlinkError,
  TimeoutError,
  UnsupportedError,
} from '../../sdk/src/index.ts';
