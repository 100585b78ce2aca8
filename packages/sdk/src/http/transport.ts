import pRetry from 'p-retry';
import { RateLimitError } from '../errors/rate-limit-error.ts';
import { ShortlinkError } from '../errors/shortlink-error.ts';
import { TimeoutError } from '../errors/timeout-error.ts';
import type { RequestOptions } from '../options.ts';
import type { AttemptWatch } from './attempt-watch.ts';
import { CallOutcome } from './call-outcome.ts';
import { type Clock, systemClock } from './clock.ts';
import { Cooldown } from './cooldown.ts';
import { Pace, type Turn } from './pace.ts';
import { createPrepare, type PreparedCall } from './prepare.ts';
import { Quota } from './quota.ts';
import { parseRateLimit, type QuotaWindow } from './rate-limit-header.ts';
import { readData, readError } from './read-answer.ts';
import { recaptureStack } from './recapture-stack.ts';
import { createReporter } from './reporter.ts';
import type { ResponseSchema } from './response-schema.ts';
import { askedWaitMs, isRetryable, retryWaitMs } from './retry-policy.ts';
import { send } from './send.ts';
import type { TransportSettings } from './settings.ts';
import { toldRequestsPerMinute } from './told-limit.ts';
import { within } from './within.ts';

/** One logical request: what a resource's method asks for, whatever attempts it takes. */
export interface TransportRequest<T> {
  method: 'GET' | 'POST';
  /** From the service's root, such as `/api/v1/links`. */
  path: string;
  /** Sent as JSON. */
  body?: unknown;
  /** What a 2xx answer must look like. */
  schema: ResponseSchema<T>;
  options?: RequestOptions | undefined;
  watch?: AttemptWatch | undefined;
}

/** Sends requests: attempts, waits, limits and errors are its business, resources only name what they want. */
export interface Transport {
  /**
   * @throws the classes of errors/; the signal's reason when `options.signal` is aborted
   */
  request<T>(request: TransportRequest<T>): Promise<T>;
}

/** What tests replace. */
export interface TransportParts {
  clock: Clock;
  /** From 0 to below 1. */
  random: () => number;
}

/**
 * The transport of one client. Its settings, and in them the API key, live in this closure, where no inspection,
 * serialization or clone of the client gets at them.
 */
export function createTransport(
  settings: TransportSettings,
  { clock, random }: TransportParts = { clock: systemClock, random: Math.random },
): Transport {
  const { requestsPerMinute, maxRetryAfterMs } = settings;
  const prepare = createPrepare(settings);
  const reporter = createReporter(settings.hooks, settings.logger);
  const cooldown = new Cooldown(clock);
  let pace = requestsPerMinute > 0 ? new Pace(requestsPerMinute, clock) : undefined;
  const quota = new Quota(clock);

  /** Waits until nothing is paused, and pace and quota allow a request. What changed during a wait is looked at again. */
  async function takeTurn(
    { maxRetries }: Pick<PreparedCall<unknown>, 'maxRetries'>,
    signal: AbortSignal | undefined,
  ): Promise<{ sentAt: number; turn: Turn | undefined }> {
    for (;;) {
      // Whoever wants no retries wants to hear of a limit, not to wait for it.
      const short = maxRetries > 0 ? quota.wait(maxRetryAfterMs) : undefined;
      const pausedMs = cooldown.leftMs();
      if (short?.isUsedUp && short.waitMs > pausedMs + 1 && cooldown.extend(short.waitMs)) {
        reporter.cooldown({ waitMs: short.waitMs, retryAfterMs: undefined });
      }
      const waitMs = Math.max(cooldown.leftMs(), pace?.leftMs() ?? 0, short?.waitMs ?? 0);
      if (waitMs <= 0) {
        return { sentAt: quota.take(), turn: pace?.take() };
      }
      await clock.delay(waitMs, signal);
    }
  }

  /** Where neither the caller nor headers say how many requests the service takes, its first 429 does. */
  function learnPace({ message, retryAfterMs, headers }: RateLimitError): void {
    if (pace !== undefined || parseRateLimit(headers).length > 0) return;
    const limit = toldRequestsPerMinute(message, retryAfterMs);
    if (limit !== undefined) pace = new Pace(limit, clock, false);
  }

  async function attempt<T>(
    call: PreparedCall<T>,
    number: number,
    outcome: CallOutcome,
    signal: AbortSignal | undefined,
  ): Promise<T> {
    const { method, path, timeoutMs, watch } = call;
    const { sentAt, turn } = await takeTurn(call, signal);
    let windows: readonly QuotaWindow[] = [];
    try {
      if (watch !== undefined) {
        await watch.beforeSend();
        signal?.throwIfAborted();
      }
      const event = { method, path, attempt: number };
      reporter.request(event);
      outcome.sending();
      const startedAt = clock.now();
      const timeoutError = () =>
        new TimeoutError(`No whole answer within ${timeoutMs} ms`, {
          outcome: 'unknown',
          timeoutMs,
        });
      const answer = await within({ signal, timeoutMs, timeoutError }, (attemptSignal) =>
        send(call.attempt, attemptSignal),
      );
      const { status, requestId } = answer;
      windows = parseRateLimit(answer.headers);
      const durationMs = clock.now() - startedAt;
      reporter.response({ ...event, status, durationMs, requestId, quota: windows });
      if (status < 200 || status > 299) {
        throw readError(answer, call.attempt.redact, clock.date());
      }
      return readData(answer, call.schema);
    } finally {
      quota.finish(sentAt, windows);
      if (turn !== undefined) pace?.finish(turn);
    }
  }

  /** Waits before the next attempt, or throws what the call ends with. */
  async function afterFailure<T>(
    error: Error,
    call: PreparedCall<T>,
    attempts: { number: number; left: number },
    outcome: CallOutcome,
    signal: AbortSignal | undefined,
  ): Promise<void> {
    // Anything else is a defect, and no reason to try again.
    if (!ShortlinkError.isInstance(error)) throw error;
    outcome.failed(error);
    if (!outcome.mayBeDone) call.watch?.nothingDone();
    const retryAfterMs = askedWaitMs(error);
    const waitMs = retryWaitMs(error, attempts.number, random);
    const tooLong = retryAfterMs !== undefined && retryAfterMs > maxRetryAfterMs;
    if (RateLimitError.isInstance(error)) learnPace(error);
    // A wait that this call won't sit out is none for the others either: each of them would hang.
    if (RateLimitError.isInstance(error) && !tooLong && cooldown.extend(waitMs)) {
      reporter.cooldown({ waitMs, retryAfterMs });
    }
    if (tooLong || attempts.left === 0 || !isRetryable(error, call))
      throw outcome.finalError(error);
    const { method, path } = call;
    reporter.retry({ method, path, attempt: attempts.number, error, waitMs });
    await clock.delay(waitMs, signal);
  }

  async function run<T>(call: PreparedCall<T>): Promise<T> {
    const { totalTimeoutMs, maxRetries } = call;
    const outcome = new CallOutcome(call);
    const attempts = (signal: AbortSignal | undefined) =>
      pRetry((number) => attempt(call, number, outcome, signal), {
        retries: maxRetries,
        // p-retry's own waits know nothing of Retry-After; ours is in onFailedAttempt.
        minTimeout: 0,
        ...(signal && { signal }),
        onFailedAttempt: ({ error, attemptNumber: number, retriesLeft: left }) =>
          afterFailure(error, call, { number, left }, outcome, signal),
      });
    // Awaited, not only returned: one that has failed already would be unhandled for a moment, and workerd reports that.
    if (totalTimeoutMs === 0) return await attempts(call.signal);
    const timeoutError = () => outcome.timeoutError(totalTimeoutMs);
    return await within({ signal: call.signal, timeoutMs: totalTimeoutMs, timeoutError }, attempts);
  }

  return {
    async request(request) {
      try {
        return await run(prepare(request));
      } catch (error) {
        // The reason of an abort is the caller's, whatever it is.
        const isAbort = error === request.options?.signal?.reason;
        if (!isAbort && ShortlinkError.isInstance(error)) recaptureStack(error);
        throw error;
      }
    },
  };
}
