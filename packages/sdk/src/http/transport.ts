import pRetry from 'p-retry';
import { checkAmount, checkCount, checkHeaders, checkIdempotency } from '../check-options.ts';
import { RateLimitError } from '../errors/api-errors.ts';
import { ConnectionError, isOutcomeUnknown, TimeoutError } from '../errors/call-errors.ts';
import { ShortlinkError } from '../errors/shortlink-error.ts';
import type { ClientSettings, RequestOptions } from '../options.ts';
import type { Read } from '../wire/lenient.ts';
import { HEADERS } from '../wire/routes.ts';
import { createRedact, recaptureStack } from './failure.ts';
import { Limiter } from './limiter.ts';
import { readData, readError } from './read-response.ts';
import { parseRateLimit, parseRetryAfter, type QuotaWindow } from './response-headers.ts';
import {
  askedWaitMs,
  isRetryable,
  type RetrySubject,
  retryWaitMs,
  settlesEarlierAttempts,
} from './retry.ts';
import { type Attempt, send, userAgent } from './send.ts';
import { type Clock, systemClock, within } from './time.ts';
import { createReporter } from './watching.ts';

/** One logical request: what a method of a resource asks for, whatever attempts it takes. */
export interface TransportRequest<T> {
  method: 'GET' | 'POST';
  /** From the service's root, such as `/api/v1/links`. */
  path: string;
  /** JSON. */
  body?: string | undefined;
  /** Reads a 2xx response. */
  read: (value: unknown, status: number) => Read<T>;
  options?: RequestOptions | undefined;
  watch?: AttemptWatch | undefined;
  /** The service counts the request against no quota, so it is sent even where a quota is used up. */
  ignoresQuota?: boolean | undefined;
}

/** What a call ends with. */
export interface Reply<T> {
  data: T;
  /** When the attempt that got it was sent, on the client's clock. */
  sentAt: number;
  /** When the service wants to be asked again, in milliseconds from now, where it says so. */
  retryAfterMs: number | undefined;
}

/** Follows the attempts of one request, for a caller that keeps a journal of what it sends. */
export interface AttemptWatch {
  /**
   * An attempt is about to be written: all waits for limits are over. It is awaited. A caller that wants the request not
   * to be written after all aborts its signal here.
   */
  beforeSend(): Promise<void>;

  /** The attempt failed, and no attempt of this call can have been carried out. A wait for the next one may follow. */
  nothingDone(): void;
}

/** Sends requests: attempts, waits, limits and errors are its business, resources only name what they want. */
export interface Transport {
  /** @throws the classes of errors/; the signal's reason when `options.signal` is aborted */
  request<T>(request: TransportRequest<T>): Promise<Reply<T>>;

  /**
   * The wait before a GET is made again whose call ended with this error, in milliseconds; undefined where it will fail
   * again, or the service asks for a longer wait than `maxRetryAfterMs`.
   *
   * @param failures calls that failed in a row, from 1
   */
  waitAfterFailedGet(error: unknown, failures: number): number | undefined;
  /** The data without the API key, for errors. */
  redactData<T>(data: T): T;
}

/** Services keep idempotency keys for 24 hours; an hour of it is left for clocks and timeouts. */
const KEY_LIFETIME_MS = 23 * 3_600_000;

/** What tests replace. */
export interface TransportParts {
  clock: Clock;
  /** From 0 to below 1. */
  random: () => number;
}

/** A call: what is the same on each of its attempts, and what is known of those that were made. */
interface Call<T> extends RetrySubject, Omit<TransportRequest<T>, 'body' | 'options'> {
  attempt: Attempt;
  signal: AbortSignal | undefined;
  timeoutMs: number;
  totalTimeoutMs: number;
  maxRetries: number;
  /** An attempt is being sent. */
  isInFlight: boolean;
  /** When an attempt was first lost: since then the service may have carried the request out, whatever it says to the next one. */
  lostAt: number | undefined;
  lastError: ShortlinkError | undefined;
}

/**
 * The transport of one client. Read it from top to bottom: `request` is a call from its start to its end, `attempt` is
 * one attempt, `afterFailure` decides what follows a failed one.
 *
 * The settings, and in them the API key, live in this closure, where no inspection, serialization or clone of the client
 * gets at them.
 */
export function createTransport(
  settings: ClientSettings,
  { clock, random }: TransportParts = { clock: systemClock, random: Math.random },
): Transport {
  const { maxRetryAfterMs } = settings;
  const redact = createRedact(settings.apiKey);
  const reporter = createReporter(settings.hooks, settings.logger);
  const limiter = new Limiter(settings, clock, reporter.cooldown);
  const userAgentValue = userAgent();

  async function request<T>(asked: TransportRequest<T>): Promise<Reply<T>> {
    try {
      const call = prepare(asked);
      const { totalTimeoutMs, signal } = call;
      // Awaited, not only returned: one that has failed already would be unhandled for a moment, and workerd reports that.
      if (totalTimeoutMs === 0) return await attempts(call, signal);
      const timeoutError = () => totalTimeout(call);
      return await within({ signal, timeoutMs: totalTimeoutMs, timeoutError }, (totalSignal) =>
        attempts(call, totalSignal),
      );
    } catch (error) {
      // The reason of an abort is the caller's, whatever it is.
      const isAbort = error === asked.options?.signal?.reason;
      if (!isAbort && ShortlinkError.isInstance(error)) recaptureStack(error);
      throw error;
    }
  }

  /** @throws InvalidOptionError */
  function prepare<T>({ options = {}, ...asked }: TransportRequest<T>): Call<T> {
    const { method, path, body } = asked;
    const { fetch, fetchOptions, maxResponseBytes } = settings;
    const key = method === 'POST' ? idempotencyKey(options.idempotency) : undefined;
    const given = <K extends 'timeoutMs' | 'totalTimeoutMs' | 'maxRetries'>(name: K) =>
      options[name] ?? settings[name];
    return {
      ...asked,
      hasIdempotencyKey: key !== undefined,
      attempt: {
        method,
        url: settings.baseUrl + path,
        headers: headersOf(options, key, body !== undefined),
        body,
        fetch,
        fetchOptions,
        maxResponseBytes,
        redact,
      },
      signal: options.signal,
      timeoutMs: checkAmount('timeoutMs', given('timeoutMs'), 'milliseconds'),
      totalTimeoutMs: checkAmount('totalTimeoutMs', given('totalTimeoutMs'), 'milliseconds'),
      maxRetries: checkCount('maxRetries', given('maxRetries')),
      isInFlight: false,
      lostAt: undefined,
      lastError: undefined,
    };
  }

  function idempotencyKey(option: boolean | string | undefined): string | undefined {
    const setting = checkIdempotency(option ?? settings.idempotency);
    if (typeof setting === 'string') return setting;
    return setting ? newIdempotencyKey() : undefined;
  }

  /** The service's own headers come last: the caller's can't replace them. */
  function headersOf({ headers }: RequestOptions, key: string | undefined, hasBody: boolean) {
    return {
      ...(userAgentValue !== undefined && { 'user-agent': userAgentValue }),
      ...settings.headers,
      ...(headers && checkHeaders(headers)),
      ...(key !== undefined && { [HEADERS.idempotencyKey.toLowerCase()]: key }),
      ...(hasBody && { 'content-type': 'application/json' }),
      accept: 'application/json',
      [HEADERS.apiKey.toLowerCase()]: settings.apiKey,
    };
  }

  /** Makes attempts until one succeeds or no other may follow. */
  function attempts<T>(call: Call<T>, signal: AbortSignal | undefined): Promise<Reply<T>> {
    return pRetry((number) => attempt(call, number, signal), {
      retries: call.maxRetries,
      // p-retry's own waits don't know Retry-After; ours is in afterFailure.
      minTimeout: 0,
      ...(signal && { signal }),
      onFailedAttempt: ({ error, attemptNumber: number, retriesLeft: left }) =>
        afterFailure(call, error, { number, left }, signal),
    });
  }

  async function attempt<T>(
    call: Call<T>,
    number: number,
    signal: AbortSignal | undefined,
  ): Promise<Reply<T>> {
    const { method, path, timeoutMs } = call;
    const failsAtLimit = call.maxRetries === 0;
    const turn = await limiter.turn({ failsAtLimit, ignoresQuota: call.ignoresQuota, signal });
    if (call.lastError !== undefined && isKeyForgotten(call, clock)) throw call.lastError;
    let windows: readonly QuotaWindow[] = [];
    try {
      if (call.watch !== undefined) {
        await call.watch.beforeSend();
        signal?.throwIfAborted();
      }
      const event = { method, path, attempt: number };
      reporter.request(event);
      call.isInFlight = true;
      const sentAt = clock.now();
      const timeoutError = () =>
        new TimeoutError(`No complete response within ${timeoutMs} ms`, {
          outcome: 'unknown',
          timeoutMs,
        });
      const response = await within({ signal, timeoutMs, timeoutError }, (attemptSignal) =>
        send(call.attempt, attemptSignal),
      );
      const { status, headers, requestId } = response;
      windows = parseRateLimit(headers);
      const durationMs = clock.now() - sentAt;
      reporter.response({ ...event, status, durationMs, requestId, quota: windows });
      if (status < 200 || status > 299) throw readError(response, redact, clock.date());
      const data = readData(response, call.read, redact);
      return { data, sentAt, retryAfterMs: parseRetryAfter(headers, clock.date()) };
    } finally {
      limiter.finish(turn, windows);
    }
  }

  /** Waits before the next attempt, or throws what the call ends with. */
  async function afterFailure(
    call: Call<unknown>,
    error: Error,
    { number, left }: { number: number; left: number },
    signal: AbortSignal | undefined,
  ): Promise<void> {
    // Anything else is a defect, and no reason to try again.
    if (!ShortlinkError.isInstance(error)) throw error;
    const wasSent = call.isInFlight;
    call.isInFlight = false;
    call.lastError = error;
    if (isOutcomeUnknown(error)) call.lostAt ??= clock.now();
    if (call.lostAt === undefined) call.watch?.nothingDone();

    const retryAfterMs = askedWaitMs(error);
    const waitMs = retryWaitMs(error, number, random);
    const isTooLong = retryAfterMs !== undefined && retryAfterMs > maxRetryAfterMs;
    // A wait that this call doesn't accept is no pause for the others either: each of them would hang.
    if (wasSent && !isTooLong && RateLimitError.isInstance(error)) {
      limiter.pause(waitMs, retryAfterMs);
    }
    const isOver = isTooLong || left === 0 || isKeyForgotten(call, clock);
    if (isOver || !isRetryable(error, call)) throw finalError(call, error);
    const { method, path } = call;
    reporter.retry({ method, path, attempt: number, error, waitMs });
    await clock.delay(waitMs, signal);
  }

  return {
    request,
    redactData(data) {
      if (data === undefined) return data;
      const json = JSON.stringify(data);
      const redacted = redact(json);
      return redacted === json ? data : JSON.parse(redacted);
    },
    waitAfterFailedGet(error, failures) {
      if (!isRetryable(error, { method: 'GET', hasIdempotencyKey: false })) return undefined;
      const isLimited = RateLimitError.isInstance(error);
      if (isLimited && (askedWaitMs(error) ?? 0) > maxRetryAfterMs) return undefined;
      return retryWaitMs(error, failures, random);
    },
  };
}

/** Whether the service may have forgotten the key of a lost POST, so that sending it again could create a second link. */
function isKeyForgotten(call: Call<unknown>, clock: Clock): boolean {
  const { method, lostAt = Number.POSITIVE_INFINITY } = call;
  return method === 'POST' && clock.now() - lostAt > KEY_LIFETIME_MS;
}

/**
 * The error that a call ends with, when its last attempt failed with this one. With an idempotency key an attempt may be
 * lost and the next one refused. The last error alone would then claim that nothing was created, which is not known.
 */
function finalError({ method, lostAt }: Call<unknown>, last: ShortlinkError): ShortlinkError {
  const isSettled = lostAt === undefined || isOutcomeUnknown(last) || settlesEarlierAttempts(last);
  if (method === 'GET' || isSettled) return last;
  const message = `An earlier attempt may have been carried out, and the last one failed: ${last.message}`;
  return new ConnectionError(message, { outcome: 'unknown', cause: last });
}

function totalTimeout({ totalTimeoutMs, isInFlight, lostAt, lastError }: Call<unknown>) {
  return new TimeoutError(`The call took longer than ${totalTimeoutMs} ms`, {
    outcome: isInFlight || lostAt !== undefined ? 'unknown' : 'not-sent',
    timeoutMs: totalTimeoutMs,
    cause: lastError,
  });
}

/** A new key for one logical POST. `randomUUID` would do, but browsers offer it on https and localhost pages only. */
function newIdempotencyKey(): string {
  const bytes = crypto.getRandomValues(new Uint8Array(16));
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, '0')).join('');
}
