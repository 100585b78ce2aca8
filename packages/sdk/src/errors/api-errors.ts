import type { ErrorBody, ErrorCode, PlanLimitName } from '../wire/error-body.ts';
import { ShortlinkError } from './shortlink-error.ts';

/** What an {@link ApiError} is built from. */
export interface ApiErrorInit {
  message: string;
  status: number;
  body?: ErrorBody | undefined;
  headers: Headers;
  retryAfterMs?: number | undefined;
}

/** The service responded with an error. Statuses without a class of their own, such as 405, 409 and 413, are plain `ApiError`s. */
export class ApiError extends ShortlinkError {
  static override readonly kind: string = 'ApiError';

  /** HTTP status. `0` where a browser hides it: the response was a redirect, which is never followed. */
  declare readonly status: number;
  /** Stable machine word such as `rate_limited`, from the body; undefined where the service sends none. */
  declare readonly code: ErrorCode | (string & {}) | undefined;
  /** The error body; undefined when there was none that could be read, as on the HTML page of a proxy. */
  declare readonly body: ErrorBody | undefined;
  /** Headers of the response. */
  declare readonly headers: Headers;
  /** `X-Request-Id` of the response, for bug reports; undefined when the service sends none. */
  declare readonly requestId: string | undefined;
  /** How long the service asks to wait, in milliseconds, from a readable `Retry-After` (RFC 9110 section 10.2.3). */
  declare readonly retryAfterMs: number | undefined;

  constructor({ message, status, body, headers, retryAfterMs }: ApiErrorInit) {
    const requestId = headers.get('x-request-id') || undefined;
    super(message, { status, code: body?.code, body, headers, requestId, retryAfterMs });
  }

  override toJSON(): object {
    return { ...super.toJSON(), headers: Object.fromEntries(this.headers) };
  }
}

/** 400: the request is invalid and nothing was created. `body.details` lists the bad entries where the service does. */
export class BadRequestError extends ApiError {
  static override readonly kind = 'BadRequestError';
  declare readonly name: 'BadRequestError';
}

/** 401: the API key is missing or invalid. */
export class AuthenticationError extends ApiError {
  static override readonly kind = 'AuthenticationError';
  declare readonly name: 'AuthenticationError';
}

/** 403: the API key lacks a permission, such as `shortlinks:write`. */
export class PermissionError extends ApiError {
  static override readonly kind = 'PermissionError';
  declare readonly name: 'PermissionError';
}

/** 403 with `upgrade`: a resource limit of the plan is reached and nothing was created. */
export class PlanLimitError extends ApiError {
  static override readonly kind = 'PlanLimitError';
  declare readonly name: 'PlanLimitError';

  /** Always `true`, as in the body. */
  readonly upgrade = true;
  /** The limit that is reached, where the service says it: `links`, `batch_size` or `api_keys`. */
  declare readonly limit: PlanLimitName | (string & {}) | undefined;
  /** How much of it is in use, where the service says it. */
  declare readonly used: number | undefined;
  /** How much of it the plan allows, where the service says it. */
  declare readonly allowed: number | undefined;

  constructor(init: ApiErrorInit) {
    super(init);
    const { limit, used, allowed } = init.body ?? {};
    Object.assign(this, { limit, used, allowed });
  }
}

/** 404: no such job, or a job of another account. */
export class NotFoundError extends ApiError {
  static override readonly kind = 'NotFoundError';
  declare readonly name: 'NotFoundError';
}

/**
 * 429: a rate limit or quota is exceeded, and nothing was done. Thrown when the retries are used up, at once when the service
 * asks for a longer wait than `maxRetryAfterMs`, or when `maxRetries` is 0 and a limit is known before sending.
 */
export class RateLimitError extends ApiError {
  static override readonly kind = 'RateLimitError';
  declare readonly name: 'RateLimitError';
}

/** 5xx: the service failed. After a POST links may have been created, except for a 503 with `Retry-After`; see `isOutcomeUnknown`. */
export class ServerError extends ApiError {
  static override readonly kind = 'ServerError';
  declare readonly name: 'ServerError';
}

/** 404, 405 or 501 from an endpoint that not every service has, such as that of `links.lookup`; see `usage.features`. */
export class UnsupportedError extends ApiError {
  static override readonly kind = 'UnsupportedError';
  declare readonly name: 'UnsupportedError';

  /** @param what the service has not, such as "look-up of links" */
  constructor(what: string, cause: ApiError) {
    super({ ...cause, message: `The service has no ${what}: ${cause.message}` });
    this.cause = cause;
  }
}

const CLASS_BY_STATUS: Readonly<Record<number, typeof ApiError>> = {
  400: BadRequestError,
  401: AuthenticationError,
  403: PermissionError,
  404: NotFoundError,
  429: RateLimitError,
};

/** The error of a response that is not 2xx. */
export function createApiError(init: ApiErrorInit): ApiError {
  const { status, body } = init;
  if (status === 403 && body?.upgrade === true) return new PlanLimitError(init);
  const ErrorClass = status >= 500 ? ServerError : (CLASS_BY_STATUS[status] ?? ApiError);
  return new ErrorClass(init);
}
