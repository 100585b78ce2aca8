import type { Redact } from './http/failure.ts';
import type { Logger, LogLevel, Report, ShortlinkHooks } from './http/watching.ts';
import type { Job } from './wire/batch.ts';

/** The second argument of `fetch`. It also holds the options of {@link ShortlinkOptions.fetchOptions}. */
export interface FetchInit {
  method: 'GET' | 'POST';
  headers: Record<string, string>;
  /** JSON. Absent for GET. In Deno it is a `Blob`, because Deno might send a string a second time without asking. */
  body?: string;
  signal: AbortSignal;
  redirect: 'manual';
}

/** The part of a response that the client uses. The `Response` of every runtime, of npm's undici and of node-fetch fits. */
export interface FetchResponse {
  readonly ok: boolean;
  readonly status: number;
  readonly headers: Iterable<[string, string]>;
  /** A `ReadableStream` is read in pieces, up to a bound; anything else through `text()`. */
  readonly body: object | null;
  text(): Promise<string>;
}

/** Options of a runtime's own `fetch`, without those that the client sets. */
export type FetchOptions = Readonly<Record<string, unknown>> & {
  readonly [Name in keyof FetchInit]?: never;
};

/** Sends one request: the runtime's `fetch`, or another function like it. */
export type Fetch = (url: string, init: FetchInit) => Promise<FetchResponse>;

/** Headers of a request, by name. */
export type HeadersInput = Headers | Readonly<Record<string, string>>;

/** Options of `new Shortlink(options)`. `undefined` and null mean the default. */
export interface ShortlinkOptions {
  /** API key, sent as `X-Api-Key`. @default the environment variable SHORTLINK_API_KEY */
  apiKey?: string | undefined;
  /** Address of the service, without `/api/v1`. @default the environment variable SHORTLINK_BASE_URL */
  baseUrl?: string | URL | undefined;
  /** Called with the URL as a string and an init object: for tests, proxies, servers in the same process. @default globalThis.fetch */
  fetch?: Fetch | undefined;
  /** Passed to `fetch` with each request, such as `{ dispatcher }` of undici, or `{ cf }` in a worker. What the client sets is ignored. */
  fetchOptions?: FetchOptions | undefined;
  /**
   * Longest time of one attempt, from the request to the last byte of the response, in milliseconds. A second is added for
   * each 64 KiB that are sent. `0` is no limit. @default 30_000
   */
  timeoutMs?: number | undefined;
  /** Longest time of one call with all its attempts and waits, in milliseconds. `0` is no limit. @default 0 */
  totalTimeoutMs?: number | undefined;
  /**
   * How often a failed call is retried at most, see the guide "Retries and exactly once". With `0` a call also fails at a limit that is
   * known (a pause after a 429, a quota that is used up) instead of waiting for it. @default 5
   */
  maxRetries?: number | undefined;
  /** A `Retry-After` longer than this, in milliseconds, throws the `RateLimitError` at once. @default 90_000 */
  maxRetryAfterMs?: number | undefined;
  /**
   * Spreads requests, polls included, evenly below this limit, so that it is never hit. A request waits for its turn also
   * with `maxRetries: 0`. @default Infinity (no pacing)
   */
  requestsPerMinute?: number | undefined;
  /**
   * Largest response that is read, in bytes after decompression. A larger one ends as a `ResponseShapeError`. Of an error
   * (any status but 2xx) at most 1 MiB is read. @default 134_217_728 (128 MiB)
   */
  maxResponseBytes?: number | undefined;
  /**
   * Send an `Idempotency-Key` with each POST: one key per logical call, the same on every attempt. Then lost POSTs are
   * retried too. An addition to the service: turn it on only where the server honours the header. @default false
   */
  idempotency?: boolean | undefined;
  /**
   * Added to every request. They can't replace `Accept` and `Content-Type`; a `User-Agent` replaces the client's own. `X-Api-Key`
   * and `Idempotency-Key` have options, and are refused here.
   */
  headers?: HeadersInput | undefined;
  /** Called as requests, responses, retries and pauses happen. */
  hooks?: ShortlinkHooks | undefined;
  /** Receives log lines. @default the console, from `logLevel` on */
  logger?: Logger | undefined;
  /**
   * The least important lines that are logged: `debug`, `info`, `warn`, `error`, or `silent` for none.
   * @default `debug` with a `logger`; else the environment variable SHORTLINK_LOG, or `silent`
   */
  logLevel?: LogLevel | undefined;
}

/** Options that every call takes. */
export interface RequestOptions {
  /** Ends the call, its waits and its polls at once. The promise rejects with the signal's reason. */
  signal?: AbortSignal | undefined;
  /** Overrides the client's `timeoutMs` for this call. */
  timeoutMs?: number | undefined;
  /** Overrides the client's `totalTimeoutMs` for this call. */
  totalTimeoutMs?: number | undefined;
  /** Overrides the client's `maxRetries` for this call. */
  maxRetries?: number | undefined;
  /** Added to the client's headers, and wins over them. */
  headers?: HeadersInput | undefined;
  /** Overrides the client's `idempotency`; a string is the key itself. */
  idempotency?: boolean | string | undefined;
}

/** Options of `jobs.wait`. Each poll has the `headers` and the client's `timeoutMs`, and is repeated whatever `maxRetries` is. */
export interface WaitOptions extends Pick<RequestOptions, 'signal' | 'maxRetries' | 'headers'> {
  /** Called with the job as each successful poll shows it, the last one included. */
  onProgress?: ((job: Job) => void) | undefined;
  /** Longest wait for the job, in milliseconds. `0` is no limit. @default 3_600_000 */
  timeoutMs?: number | undefined;
  /** Number of links in the job, which times the first poll. @default the `total` of the batch, where this client created it */
  total?: number | undefined;
}

/** Longest wait for a job, in milliseconds, where the caller names none. */
export const DEFAULT_JOB_TIMEOUT_MS = 3_600_000;

/** Names of the options of a call, of a wait and of a client, to refuse others. A test compares them with the types. */
export const CALL_OPTIONS = 'signal timeoutMs totalTimeoutMs maxRetries headers idempotency';
export const WAIT_OPTIONS = 'signal timeoutMs total maxRetries headers onProgress';
export const CLIENT_OPTIONS =
  'apiKey baseUrl timeoutMs totalTimeoutMs maxRetries maxRetryAfterMs requestsPerMinute maxResponseBytes idempotency fetch fetchOptions headers hooks logger logLevel';

/** The client's options, checked and with every default filled in. */
export interface ClientSettings extends DefaultOptions {
  apiKey: string;
  /** Without a slash at its end. */
  baseUrl: string;
  /** `undefined` means `globalThis.fetch`, looked up at each request, so that a tool may replace it at any time. */
  fetch?: Fetch;
  fetchOptions: Readonly<Record<string, unknown>>;
  /** Names in lower case. */
  headers: Readonly<Record<string, string>>;
  /** Removes the API key. */
  redact: Redact;
  /** Tells hooks and log what happens. */
  report: Report;
}

/** The values of options that are not given. */
export const DEFAULT_OPTIONS = /* @__PURE__ */ Object.freeze({
  timeoutMs: 30_000,
  totalTimeoutMs: 0,
  maxRetries: 5,
  maxRetryAfterMs: 90_000,
  requestsPerMinute: Number.POSITIVE_INFINITY,
  maxResponseBytes: 134_217_728,
  idempotency: false,
});

type DefaultOptions = {
  readonly [Name in keyof typeof DEFAULT_OPTIONS]: NonNullable<ShortlinkOptions[Name]>;
};
