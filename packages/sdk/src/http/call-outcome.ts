import { ApiError } from '../errors/api-error.ts';
import { ConnectionError, type Outcome } from '../errors/connection-error.ts';
import { isOutcomeUnknown } from '../errors/is-outcome-unknown.ts';
import type { ShortlinkError } from '../errors/shortlink-error.ts';
import { TimeoutError } from '../errors/timeout-error.ts';
import type { RetrySubject } from './retry-policy.ts';

/**
 * What is known of a call over all of its attempts. With an idempotency key an attempt may be lost and the next one
 * refused: then the last error alone would say that nothing was created, which nobody knows.
 */
export class CallOutcome {
  readonly #subject: RetrySubject;
  #inFlight = false;
  #lost = false;
  #lastError: ShortlinkError | undefined;

  constructor(subject: RetrySubject) {
    this.#subject = subject;
  }

  /** An attempt goes out. */
  sending(): void {
    this.#inFlight = true;
  }

  /** The attempt failed. */
  failed(error: ShortlinkError): void {
    this.#inFlight = false;
    this.#lastError = error;
    if (isOutcomeUnknown(error)) this.#lost = true;
  }

  /** Whether the service may have carried the request out: it is being sent, or an attempt was lost. */
  get mayBeDone(): boolean {
    return this.#inFlight || this.#lost;
  }

  /** The error that the call ends with, when its last attempt failed with this one. */
  finalError(last: ShortlinkError): ShortlinkError {
    const unsettled =
      this.#subject.method === 'POST' && this.#lost && !isOutcomeUnknown(last) && !isSettling(last);
    if (!unsettled) return last;
    const message = `An earlier attempt may have been carried out, and the last one failed: ${last.message}`;
    return new ConnectionError(message, { outcome: 'unknown', cause: last });
  }

  /** The error of a call that took longer than its `totalTimeoutMs`. */
  timeoutError(timeoutMs: number): TimeoutError {
    const outcome: Outcome = this.mayBeDone ? 'unknown' : 'not-sent';
    const message = `The call took longer than ${timeoutMs} ms`;
    return new TimeoutError(message, { outcome, timeoutMs, cause: this.#lastError });
  }
}

/**
 * Whether an answer settles what became of the earlier attempts with the same idempotency key. The service looks the key
 * up after 401, 429 and 503, and 409 says that the earlier attempt still runs.
 */
function isSettling(error: ShortlinkError): boolean {
  return ApiError.isInstance(error) && ![401, 409, 429, 503].includes(error.status);
}
