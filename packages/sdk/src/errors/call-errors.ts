import type { Job } from '../wire/batch.ts';
import { ApiError, ServerError } from './api-errors.ts';
import { type ErrorFields, ShortlinkError } from './shortlink-error.ts';

/** What is known of a request that got no response: the service never saw it, or it may have been carried out. */
export type Outcome = 'not-sent' | 'unknown';

/**
 * No response: refused, name not found, certificate not trusted (`outcome: 'not-sent'`), or the connection was lost
 * after sending (`outcome: 'unknown'`). Browsers don't tell the two apart, so there it is always `unknown`.
 */
export class ConnectionError extends ShortlinkError {
  static override readonly kind = 'ConnectionError';
  declare readonly name: 'ConnectionError';

  /** Whether the service may have carried the request out. */
  declare readonly outcome: Outcome;
  /** Code of the failure where the runtime gives one, such as `ECONNREFUSED` or `CERT_HAS_EXPIRED`. */
  declare readonly code: string | undefined;
  /** `true` where sending again can't help until something is changed, as with an expired certificate. */
  declare readonly isPermanent: boolean;

  constructor(
    message: string,
    fields: ErrorFields<ConnectionError, 'outcome', 'code' | 'isPermanent'>,
  ) {
    super(message, { code: undefined, isPermanent: false, ...fields });
  }
}

/** An attempt took longer than `timeoutMs`, or the whole call longer than `totalTimeoutMs`. */
export class TimeoutError extends ShortlinkError {
  static override readonly kind = 'TimeoutError';
  declare readonly name: 'TimeoutError';
  /** Whether the service may have carried the request out. `not-sent` only when time ran out during a wait. */
  declare readonly outcome: Outcome;
  /** The limit that was passed, in milliseconds. */
  declare readonly timeoutMs: number;

  constructor(message: string, fields: ErrorFields<TimeoutError, 'outcome' | 'timeoutMs'>) {
    super(message, fields);
  }
}

/**
 * A 2xx response that can't be read: it is not JSON, it lacks what must be there (`code` and `short_url` of a created
 * link, `results` or `job_id` of a batch), or it is larger than `maxResponseBytes`. After a POST the links most likely exist.
 */
export class ResponseShapeError extends ShortlinkError {
  static override readonly kind = 'ResponseShapeError';
  declare readonly name: 'ResponseShapeError';
  /** HTTP status of the response. */
  declare readonly status: number;
  /** The field that is missing, such as `short_url`; empty for the response as a whole. */
  declare readonly path: string;
  /** `X-Request-Id` of the response, where the service sends one. */
  declare readonly requestId: string | undefined;
  /** Body of the response without the API key. Only the beginning of a body that is too large. */
  declare readonly body: string;

  constructor(
    message: string,
    fields: ErrorFields<ResponseShapeError, 'status' | 'path', 'requestId' | 'body'>,
  ) {
    super(message, { body: '', ...fields });
  }
}

/** The job ended without completing, with a status such as `failed` or `cancelled`. `job.results` holds what was done. */
export class JobFailedError extends ShortlinkError {
  static override readonly kind = 'JobFailedError';
  declare readonly name: 'JobFailedError';
  declare readonly jobId: string;
  /** The response that ended the wait. */
  declare readonly job: Job;

  constructor(message: string, fields: ErrorFields<JobFailedError, 'jobId' | 'job'>) {
    super(message, fields);
  }
}

/**
 * `jobs.wait` reached its `timeoutMs` and the job is not done. The job itself continues: wait for it again by its id.
 * Where the last poll failed, its error is the `cause`.
 */
export class JobTimeoutError extends ShortlinkError {
  static override readonly kind = 'JobTimeoutError';
  declare readonly name: 'JobTimeoutError';
  declare readonly jobId: string;
  /** The limit that was passed, in milliseconds. */
  declare readonly timeoutMs: number;
  /** What the last successful poll said; undefined when there was none. */
  declare readonly job: Job | undefined;

  constructor(message: string, fields: ErrorFields<JobTimeoutError, 'jobId' | 'timeoutMs', 'job'>) {
    super(message, fields);
  }
}

/** An option of the client, or an argument of a call, can't be used. Thrown before anything is sent. */
export class InvalidOptionError extends ShortlinkError {
  static override readonly kind = 'InvalidOptionError';
  declare readonly name: 'InvalidOptionError';
  /** Name of the option, such as `maxRetries`. */
  declare readonly option: string;

  /** @param expected ends the sentence "`option` must be …", without a secret value; `message` replaces that sentence */
  constructor(option: string, expected: string, message = `${option} must be ${expected}`) {
    super(message, { option });
  }
}

/** 0: a redirect whose status a browser hides. 303: the result exists at another address. 408: the service had begun to read the request. */
const STATUSES_OF_UNKNOWN_OUTCOME: readonly number[] = [0, 303, 408];

/** Says for an error what `isOutcomeUnknown` returns, where the error by itself would say otherwise. */
export function stateOutcome(error: ShortlinkError, isUnknown: boolean): void {
  Object.defineProperty(error, 'isOutcomeUnknown', { value: isUnknown });
}

/** Reasons of aborts that left links in doubt, for all copies of this package. They are the callers', so nothing is written on them. */
const IN_DOUBT = /* @__PURE__ */ Symbol.for('@shortlink/sdk.inDoubt');
const shared: { [IN_DOUBT]?: WeakSet<object>; Symbol: unknown } = globalThis;

/** Says that an abort with this reason ended a call after which links may exist. */
export function leaveInDoubt(reason: unknown): void {
  shared[IN_DOUBT] ??= new WeakSet();
  shared[IN_DOUBT].add(Object(reason));
}

/**
 * Whether links may exist although the call failed with this error: the connection was lost after sending, time ran out,
 * the service failed in the middle, its response could not be read, or any error ended the wait for an accepted job, such as
 * a 401 of a poll. `false` means that the call created nothing.
 *
 * For the reason of an abort it is true when any call that was ended with this reason had sent a POST, or waited for a job.
 * Nothing can be known of a reason that is no object, so that it is true for each.
 */
export function isOutcomeUnknown(error: unknown): boolean {
  if (error !== undefined && Object(error) !== error) return true;
  if (shared[IN_DOUBT]?.has(Object(error))) return true;
  if (ShortlinkError.isInstance(error) && error.jobId !== undefined) return true;
  const stated: unknown = Reflect.get(Object(error), 'isOutcomeUnknown');
  if (typeof stated === 'boolean') return stated;
  if (ConnectionError.isInstance(error) || TimeoutError.isInstance(error)) {
    return error.outcome === 'unknown';
  }
  // A 503 that says when to come back is sent before any work.
  if (ServerError.isInstance(error)) {
    return !(error.status === 503 && error.retryAfterMs !== undefined);
  }
  if (ApiError.isInstance(error)) return STATUSES_OF_UNKNOWN_OUTCOME.includes(error.status);
  return ResponseShapeError.isInstance(error);
}
