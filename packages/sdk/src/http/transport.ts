import pRetry from 'p-retry';
import { checkAmount, checkCount, checkHeaders, checkIdempotency } from '../check-options.ts';
import { RateLimitError } from '../errors/api-errors.ts';
import { ConnectionError, isOutcomeUnknown, TimeoutError } from '../errors/call-errors.ts';
import { ShortlinkError } from '../errors/shortlink-error.ts';
import type { ClientSettings, RequestOptions } from '../options.ts';
import { HEADERS } from '../wire/routes.ts';
import { createRedact, type Redact, recaptureStack } from './failure.ts';
import { Limiter } from './limiter.ts';
import { readData, readError } from './read-response.ts';
import type { Reply, Transport, TransportRequest } from './request.ts';
import { parseRateLimit, parseRetryAfter, type QuotaWindow } from './response-headers.ts';
import {
  askedWaitMs,
  finalError,
  isKeyForgotten,
  isRetryable,
  type RetryCall,
  retryWaitMs,
} from './retry.ts';
import { type Attempt, type RawResponse, send, userAgent } from './send.ts';
import { type Clock, systemClock, within } from './time.ts';
import { createReporter, type Reporter } from './watching.ts';

/** The options of a call that override those of the client. */
type CallOption = 'timeoutMs' | 'totalTimeoutMs' | 'maxRetries' | 'idempotency';

/** A call: what is the same on each of its attempts, and what is known of those that were made. */
interface Call<T> extends RetryCall, Omit<TransportRequest<T>, 'body' | 'options'> {
  attempt: Attempt;
  timeoutMs: number;
  totalTimeoutMs: number;
  maxRetries: number;
  /** An attempt is being sent. */
  isInFlight: boolean;
  lastError: ShortlinkError | undefined;
}

/**
 * The transport of one client. Read it from top to bottom: `request` is a call from its start to its end, `#attempt` is one
 * attempt, `#afterFailure` decides what follows a failed one.
 *
 * Its fields are private, so that no inspection, serialization or clone of the client gets at the API key in the settings.
 */
export class HttpTransport implements Transport {
  readonly #settings: ClientSettings;
  readonly #clock: Clock;
  readonly #random: () => number;
  readonly #redact: Redact;
  readonly #reporter: Reporter;
  readonly #limiter: Limiter;
  readonly #userAgent = userAgent();

  /** @param random gives a number from 0 to below 1; tests replace it, and the clock */
  constructor(settings: ClientSettings, clock: Clock = systemClock, random = Math.random) {
    this.#settings = settings;
    this.#clock = clock;
    this.#random = random;
    this.#redact = createRedact(settings.apiKey);
    this.#reporter = createReporter(settings.hooks, settings.logger);
    this.#limiter = new Limiter(settings, clock, this.#reporter.cooldown);
  }

  get hasIdempotency(): boolean {
    return this.#settings.idempotency;
  }

  async request<T>(asked: TransportRequest<T>): Promise<Reply<T>> {
    try {
      const call = this.#prepare(asked);
      const limit = {
        signal: asked.options?.signal,
        timeoutMs: call.totalTimeoutMs,
        timeoutError: () => totalTimeout(call),
      };
      // Awaited, not only returned: one that has failed already would be unhandled for a moment, and workerd reports that.
      return await within(limit, (signal) => this.#attempts(call, signal));
    } catch (error) {
      // The reason of an abort is the caller's, whatever it is.
      const isAbort = error === asked.options?.signal?.reason;
      if (!isAbort && ShortlinkError.isInstance(error)) recaptureStack(error);
      throw error;
    }
  }

  /** @throws InvalidOptionError */
  #prepare<T>({ options = {}, ...asked }: TransportRequest<T>): Call<T> {
    const { method, path, body } = asked;
    const { baseUrl, fetch, fetchOptions, maxResponseBytes } = this.#settings;
    const given = <K extends CallOption>(name: K) => options[name] ?? this.#settings[name];
    const key =
      method === 'POST' && !asked.createsNothing ? idempotencyKey(given('idempotency')) : undefined;
    return {
      ...asked,
      hasIdempotencyKey: key !== undefined,
      attempt: {
        method,
        url: baseUrl + path,
        headers: this.#headersOf(options, key, body !== undefined),
        body,
        fetch,
        fetchOptions,
        maxResponseBytes,
        redact: this.#redact,
      },
      timeoutMs: checkAmount('timeoutMs', given('timeoutMs'), 'milliseconds'),
      totalTimeoutMs: checkAmount('totalTimeoutMs', given('totalTimeoutMs'), 'milliseconds'),
      maxRetries: checkCount('maxRetries', given('maxRetries')),
      isInFlight: false,
      lostAt: undefined,
      lastError: undefined,
    };
  }

  /** The service's own headers come last: the caller's can't replace them. */
  #headersOf({ headers }: RequestOptions, key: string | undefined, hasBody: boolean) {
    return {
      ...(this.#userAgent !== undefined && { 'user-agent': this.#userAgent }),
      ...this.#settings.headers,
      ...(headers && checkHeaders(headers)),
      ...(key !== undefined && { [HEADERS.idempotencyKey.toLowerCase()]: key }),
      ...(hasBody && { 'content-type': 'application/json' }),
      accept: 'application/json',
      [HEADERS.apiKey.toLowerCase()]: this.#settings.apiKey,
    };
  }

  /** Makes attempts until one succeeds or no other may follow. */
  #attempts<T>(call: Call<T>, signal: AbortSignal): Promise<Reply<T>> {
    return pRetry((number) => this.#attempt(call, number, signal), {
      retries: call.maxRetries,
      // p-retry's own waits don't know Retry-After; ours is in #afterFailure.
      minTimeout: 0,
      signal,
      onFailedAttempt: ({ error, attemptNumber: number, retriesLeft: left }) =>
        this.#afterFailure(call, error, { number, left }, signal),
    });
  }

  async #attempt<T>(call: Call<T>, number: number, signal: AbortSignal): Promise<Reply<T>> {
    const { ignoresQuota, lastError } = call;
    const failsAtLimit = call.maxRetries === 0;
    const turn = await this.#limiter.turn({ failsAtLimit, ignoresQuota, signal });
    let windows: readonly QuotaWindow[] = [];
    try {
      if (lastError !== undefined && isKeyForgotten(call, this.#clock.now())) throw lastError;
      if (call.watch !== undefined) {
        await call.watch.beforeSend();
        signal.throwIfAborted();
      }
      call.isInFlight = true;
      const sentAt = this.#clock.now();
      const response = await this.#exchange(call, number, signal);
      const { status, headers, requestId } = response;
      windows = parseRateLimit(headers);
      const { method, path } = call;
      const durationMs = this.#clock.now() - sentAt;
      const event = { method, path, attempt: number, status, durationMs, requestId };
      this.#reporter.response({ ...event, quota: windows });
      if (status < 200 || status > 299) throw readError(response, this.#redact, this.#clock.date());
      const data = readData(response, call.read, this.#redact);
      return { data, sentAt, retryAfterMs: parseRetryAfter(headers, this.#clock.date()) };
    } catch (error) {
      const wasSent = !ConnectionError.isInstance(error) || error.outcome !== 'not-sent';
      call.isInFlight &&= wasSent;
      throw error;
    } finally {
      this.#limiter.finish(turn, windows, call.isInFlight);
    }
  }

  /** Sends the request and reads the response, within the time of one attempt. */
  #exchange(call: Call<unknown>, attempt: number, signal: AbortSignal): Promise<RawResponse> {
    const { method, path, timeoutMs } = call;
    this.#reporter.request({ method, path, attempt });
    const message = `No complete response within ${timeoutMs} ms`;
    const timeoutError = () => new TimeoutError(message, { outcome: 'unknown', timeoutMs });
    return within({ signal, timeoutMs, timeoutError }, (signal) => send(call.attempt, signal));
  }

  /** Waits before the next attempt, or throws what the call ends with. */
  async #afterFailure(
    call: Call<unknown>,
    error: Error,
    { number, left }: { number: number; left: number },
    signal: AbortSignal,
  ): Promise<void> {
    // Anything else is a defect, and no reason to try again.
    if (!ShortlinkError.isInstance(error)) throw error;
    const wasSent = call.isInFlight;
    call.isInFlight = false;
    call.lastError = error;
    if (isOutcomeUnknown(error)) call.lostAt ??= this.#clock.now();
    if (call.lostAt === undefined) call.watch?.nothingDone();

    const waitMs = retryWaitMs(error, number, this.#random);
    const isTooLong = this.#asksTooLongWait(error);
    // A wait that this call doesn't accept is no pause for the others either: each of them would hang.
    if (wasSent && !isTooLong && RateLimitError.isInstance(error)) {
      this.#limiter.pause(waitMs, error.retryAfterMs);
    }
    const isOver = isTooLong || left === 0 || isKeyForgotten(call, this.#clock.now());
    if (isOver || !isRetryable(error, call)) throw finalError(call, error);
    const { method, path } = call;
    this.#reporter.retry({ method, path, attempt: number, error, waitMs });
    await this.#clock.delay(waitMs, signal);
  }

  #asksTooLongWait(error: unknown): boolean {
    return (askedWaitMs(error) ?? 0) > this.#settings.maxRetryAfterMs;
  }

  waitAfterFailedGet(error: unknown, failures: number, mayPass: boolean): number | undefined {
    const isFinal = !mayPass && !isRetryable(error, { method: 'GET', hasIdempotencyKey: false });
    if (isFinal || (RateLimitError.isInstance(error) && this.#asksTooLongWait(error))) return;
    return retryWaitMs(error, failures, this.#random);
  }

  redactData<T>(data: T): T {
    if (data === undefined) return data;
    const json = JSON.stringify(data);
    const redacted = this.#redact(json);
    return redacted === json ? data : JSON.parse(redacted);
  }
}

function idempotencyKey(option: boolean | string): string | undefined {
  const setting = checkIdempotency(option);
  if (typeof setting === 'string') return setting;
  return setting ? newIdempotencyKey() : undefined;
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
