import type { ErrorBody } from '../wire/error-body.ts';
import { hasMarker } from './has-marker.ts';
import { ShortlinkError } from './shortlink-error.ts';

const marker = Symbol.for('@shortlink/sdk/ApiError');

/** What an {@link ApiError} is built from. */
export interface ApiErrorInit {
  message: string;
  status: number;
  body?: ErrorBody | undefined;
  headers: Headers;
  retryAfterMs?: number | undefined;
}

/**
 * The service answered, and the answer is an error (spec, "Errors"). Statuses without a class of their own, such as
 * 405, 409, 413, 415 and 422, are plain `ApiError`s.
 */
export class ApiError extends ShortlinkError {
  override readonly name: string = 'ApiError';

  /** HTTP status. `0` where a browser hides it: the answer was a redirect, which is never followed. */
  readonly status: number;

  /** The error body, or undefined when the answer had none that could be read, such as the HTML page of a proxy. */
  readonly body: ErrorBody | undefined;

  /** Headers of the answer. */
  readonly headers: Headers;

  /** `X-Request-Id` of the answer, for bug reports; undefined when the service sends none. */
  readonly requestId: string | undefined;

  /** How long the service asks to wait, in milliseconds, from a readable `Retry-After` (RFC 9110 section 10.2.3). */
  readonly retryAfterMs: number | undefined;

  constructor(init: ApiErrorInit) {
    super(init.message);
    this.status = init.status;
    this.body = init.body;
    this.headers = init.headers;
    this.requestId = init.headers.get('x-request-id') ?? undefined;
    this.retryAfterMs = init.retryAfterMs;
  }

  get [marker](): true {
    return true;
  }

  static override isInstance(error: unknown): error is ApiError {
    return hasMarker(error, marker);
  }
}
