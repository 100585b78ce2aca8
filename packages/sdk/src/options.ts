import type { ShortlinkHooks } from './http/hooks.ts';
import type { Logger } from './http/logger.ts';

/** Options of `new Shortlink(options)`. `undefined` always means the default. */
export interface ShortlinkOptions {
  /** API key, sent as `X-Api-Key`. @default the environment variable SHORTLINK_API_KEY, where there is one */
  apiKey?: string | undefined;

  /** Address of the service, without `/api/v1`. @default the environment variable SHORTLINK_BASE_URL */
  baseUrl?: string | URL | undefined;

  /** The `fetch` to use, called with a `Request`: for proxies, tests and servers in the same process. @default globalThis.fetch */
  fetch?: typeof globalThis.fetch | undefined;

  /** Longest time of one attempt, from the request to the last byte of the body, in milliseconds. `0` is no limit. @default 30_000 */
  timeoutMs?: number | undefined;

  /** Longest time of one call with all its attempts and waits, in milliseconds. `0` is no limit. @default 0 */
  totalTimeoutMs?: number | undefined;

  /** Attempts after the first, see the retry table in the README. `0` is none. @default 5 */
  maxRetries?: number | undefined;

  /** A `Retry-After` longer than this, in milliseconds, throws the `RateLimitError` at once. @default 90_000 */
  maxRetryAfterMs?: number | undefined;

  /** Paces requests, polls included, to stay below the plan's limit, so that it is never hit. `0` is no pacing. @default 0 */
  requestsPerMinute?: number | undefined;

  /**
   * Send an `Idempotency-Key` with each POST: one key per logical call, the same on every attempt. Then lost POSTs are
   * retried too. An addition to the service: turn it on only where the server honours the header. @default false
   */
  idempotency?: boolean | undefined;

  /** Headers added to every request. They can't replace `X-Api-Key`. */
  headers?: Readonly<Record<string, string>> | undefined;

  /** Called as requests, answers, retries and cooldowns happen. */
  hooks?: ShortlinkHooks | undefined;

  /** Receives log lines. @default silent, or the console where the environment says SHORTLINK_LOG=debug, info, warn or error */
  logger?: Logger | undefined;
}

/** Options that every call takes. */
export interface RequestOptions {
  /** Ends the call, its waits and its polls at once; the promise rejects with the signal's reason. */
  signal?: AbortSignal | undefined;
  /** Overrides the client's `timeoutMs` for this call. */
  timeoutMs?: number | undefined;
  /** Overrides the client's `totalTimeoutMs` for this call. */
  totalTimeoutMs?: number | undefined;
  /** Overrides the client's `maxRetries` for this call. */
  maxRetries?: number | undefined;
  /** Added to the client's headers, and wins over them. */
  headers?: Readonly<Record<string, string>> | undefined;
  /** Overrides the client's `idempotency`; a string is the key itself. */
  idempotency?: boolean | string | undefined;
}
