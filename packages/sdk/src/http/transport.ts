import pRetry from 'p-retry';
import * as check from '../check-options.ts';
import { ApiError, RateLimitError } from '../errors/api-errors.ts';
import {
  ConnectionError,
  isOutcomeUnknown,
  leaveInDoubt,
  stateOutcome,
  TimeoutError,
} from '../errors/call-errors.ts';
import { ShortlinkError } from '../errors/shortlink-error.ts';
import { CALL_OPTIONS, type ClientSettings } from '../options.ts';
import { HEADERS } from '../wire/routes.ts';
import { recaptureStack } from './failure.ts';
import type { Limiter, RequestEnd, Turn, TurnOptions } from './limiter.ts';
import { readData, readError } from './read-response.ts';
import type { TransportRequest, TransportResponse } from './request.ts';
import { parseRateLimit, parseRetryAfter } from './response-headers.ts';
import { asksTooLongWait, decide, isKeyForgotten, type RetryCall, retryWaitMs } from './retry.ts';
import { type Attempt, randomHex, send, userAgent } from './send.ts';
import { type Clock, within } from './time.ts';

/** A call: what is the same on each of its attempts, and how many of them were sent. */
interface Call<T> extends RetryCall, Attempt, TurnOptions, Omit<TransportRequest<T>, 'options'> {
  id: string;
  totalTimeoutMs: number;
  maxRetries: number;
  attempts: number;
  /** In milliseconds. It goes on while the machine sleeps. */
  now: () => number;
}

/** An attempt failed. The service may have counted it if it `wasSent`. */
interface Failure {
  error: ShortlinkError;
  wasSent: boolean;
  /** A 429 refused it while others got through: that is no failure of the call, which waits for its turn. */
  isOvertaken: boolean;
}

/** How often a call may be refused while others get through before that counts as failures of its own. */
const MAX_OVERTAKEN = 20;

/** What a transport works with. Tests replace the clock and the random number. */
export interface TransportParts extends ClientSettings {
  limiter: Limiter;
  clock: Clock;
  /** Gives a number from 0 to below 1. */
  random: () => number;
}

/**
 * The transport of one client: `request` is a call from its start to its end, `#attempt` is one attempt, `decide` in retry.ts
 * says what follows a failed one. Its fields are private, so that no inspection or clone of the client gets at the API key.
 */
export class HttpTransport {
  readonly #parts: TransportParts;
  readonly #userAgent = userAgent();
  /** Random for each client, and then counted: random digits take long. Made at the first call: workers refuse it while a module loads. */
  #idStart: string | undefined;
  #calls = 0;

  constructor(parts: TransportParts) {
    this.#parts = parts;
  }

  /** A call from its start to its end. @throws the classes of errors/, or the reason of `options.signal` */
  async request<T>(asked: TransportRequest<T>): Promise<TransportResponse<T>> {
    const call = this.#prepare(asked);
    const { id, method, path } = call;
    const { clock, report } = this.#parts;
    const startedAt = clock.now();
    const signal = asked.options?.signal;
    let error: unknown;
    try {
      // Awaited, not only returned: one that has failed already would be unhandled for a moment, and workerd reports that.
      return await this.#attempts(call, signal);
    } catch (thrown) {
      error = thrown;
      // The reason of an abort is the caller's.
      if (signal?.aborted && error === signal.reason) {
        if (!call.isRead && call.lostAt !== undefined) leaveInDoubt(error);
      } else if (ShortlinkError.isInstance(error)) {
        recaptureStack(error);
        // The first request with the caller's key may be creating the link at this moment.
        const hasOwnKey = typeof asked.options?.idempotency === 'string';
        const isSecond = hasOwnKey && ApiError.isInstance(error) && error.status === 409;
        if (call.isRead || isSecond) stateOutcome(error, !call.isRead);
      }
      throw error;
    } finally {
      const durationMs = clock.now() - startedAt;
      report('onEnd', { id, method, path, attempts: call.attempts, durationMs, error });
    }
  }

  /** @throws InvalidOptionError */
  #prepare<T>({ options, ...asked }: TransportRequest<T>): Call<T> {
    const { headers, ...given } = check.given(options, CALL_OPTIONS);
    const settings = { ...this.#parts, ...given };
    const isRead = asked.method === 'GET' || asked.createsNothing === true;
    const setting = !isRead && settings.idempotency;
    const key = setting === true ? randomHex() : setting || undefined;
    this.#calls += 1;
    this.#idStart ??= randomHex().slice(12);
    const id = this.#idStart + this.#calls.toString(16).padStart(12, '0');
    const skew = settings.clock.date() - settings.clock.now();
    return {
      ...settings,
      ...asked,
      id,
      url: settings.baseUrl + asked.path,
      // The service's own headers come last: the caller's can't replace them.
      headers: {
        ...(this.#userAgent !== undefined && { 'user-agent': this.#userAgent }),
        ...settings.headers,
        ...(headers && check.headers(headers)),
        ...(key !== undefined && { [HEADERS.idempotencyKey.toLowerCase()]: key }),
        ...(asked.body !== undefined && { 'content-type': 'application/json' }),
        accept: 'application/json',
        [HEADERS.apiKey.toLowerCase()]: settings.apiKey,
      },
      onPause: (pause) => settings.report('onCooldown', { id, ...pause }),
      failsAtLimit: settings.maxRetries === 0 && !asked.isRepeatedByCaller,
      isRead,
      hasIdempotencyKey: key !== undefined,
      attempts: 0,
      // While a machine sleeps, its clock may stand still, and a key grows older.
      now: () => Math.max(settings.clock.now(), settings.clock.date() - skew),
    };
  }

  /** Makes attempts until one succeeds, no other may follow, or `totalTimeoutMs` is over. */
  #attempts<T>(call: Call<T>, signal: AbortSignal | undefined): Promise<TransportResponse<T>> {
    const { id, method, path, maxRetryAfterMs, totalTimeoutMs: timeoutMs } = call;
    const { clock, limiter, random, report } = this.#parts;
    let last: Failure | undefined;
    const timeoutError = () => {
      const outcome = call.lostAt === undefined ? 'not-sent' : 'unknown';
      const message = `The call took longer than ${timeoutMs} ms`;
      return new TimeoutError(message, { outcome, timeoutMs, cause: last?.error });
    };
    const retried = (signal: AbortSignal) => {
      const attempt = async () => {
        const end = await this.#attempt(call, last, signal);
        if ('data' in end) return end;
        last = end;
        throw end.error;
      };
      return pRetry(attempt, {
        retries: call.isRepeatedByCaller ? 0 : call.maxRetries,
        // p-retry's own waits don't know Retry-After.
        minTimeout: 0,
        signal,
        shouldConsumeRetry: ({ attemptNumber, retriesConsumed }) =>
          !last?.isOvertaken || attemptNumber - retriesConsumed > MAX_OVERTAKEN,
        onFailedAttempt: async ({ error: thrown, retriesConsumed, retriesLeft }) => {
          // Anything else is a defect, and no reason to try again.
          if (last?.error !== thrown) throw thrown;
          const { error, wasSent } = last;
          const waitMs = retryWaitMs(error, retriesConsumed + 1, random);
          // A wait that this call doesn't accept is no pause for the others either: each of them would hang.
          const isAccepted = !asksTooLongWait(error, maxRetryAfterMs);
          if (wasSent && RateLimitError.isInstance(error) && isAccepted) {
            limiter.pause(waitMs, error.retryAfterMs, call.onPause);
          }
          const end = decide(error, call, { retriesLeft, maxRetryAfterMs, now: call.now() });
          if (end !== undefined) throw end;
          if (call.lostAt === undefined) call.watch?.nothingDone();
          report('onRetry', { id, method, path, attempt: call.attempts, error, waitMs });
          await clock.delay(waitMs, signal);
        },
      });
    };
    return within({ signal, timeoutMs, timeoutError }, retried);
  }

  /** @throws what is no error of this package: a defect, or what `watch` throws */
  async #attempt<T>(
    call: Call<T>,
    last: Failure | undefined,
    signal: AbortSignal,
  ): Promise<TransportResponse<T> | Failure> {
    const { id, method, path, lostAt, watch, redact } = call;
    const { baseUrl, clock, limiter, report } = this.#parts;
    const { passed } = limiter;
    let turn: Turn | undefined;
    let end: RequestEnd = { wasSent: false };
    try {
      turn = await limiter.turn(call, signal);
      if (last && isKeyForgotten(call, call.now())) return { ...last, wasSent: false };
      if (watch !== undefined) await watch.beforeSend();
      signal.throwIfAborted();
      call.attempts += 1;
      const about = { id, method, path, attempt: call.attempts };
      report('onRequest', about);
      const sentAt = clock.now();
      call.lostAt ??= sentAt;
      // For the limiter, which is about quotas, one that counts against none is as good as not sent.
      const wasSent = !call.ignoresQuota;
      end = { wasSent };
      const raw = await send(call, signal);
      const { status, headers, requestId } = raw;
      const windows = parseRateLimit(headers);
      const durationMs = clock.now() - sentAt;
      report('onResponse', { ...about, status, durationMs, requestId, quota: windows });
      const retryAfterMs = parseRetryAfter(headers, clock.date());
      end = { wasSent, windows, ...(wasSent && { status, retryAfterMs }) };
      if (status < 200 || status > 299) {
        throw readError(raw, redact, retryAfterMs, `${method} ${path} at ${baseUrl}`);
      }
      const data = readData(raw, call.read, redact);
      return { data, status, headers, requestId, sentAt, retryAfterMs };
    } catch (error) {
      if (signal.aborted || !ShortlinkError.isInstance(error)) throw error;
      end.wasSent &&= !(ConnectionError.isInstance(error) && error.outcome === 'not-sent');
      // Nothing came of this attempt, so only an earlier one can be in doubt.
      if (!isOutcomeUnknown(error)) call.lostAt = lostAt;
      const isRefused = RateLimitError.isInstance(error) && Boolean(end.retryAfterMs);
      const isOvertaken = isRefused && limiter.passed > passed;
      return { error, wasSent: end.wasSent === true, isOvertaken };
    } finally {
      if (turn) limiter.finish(turn, end);
    }
  }
}
