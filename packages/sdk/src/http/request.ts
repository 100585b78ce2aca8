import type { RequestOptions } from '../options.ts';
import type { Read } from '../wire/lenient.ts';

/** One logical request: what a method of a resource asks for, whatever attempts it takes. */
export interface TransportRequest<T> {
  method: 'GET' | 'POST';
  /** From the service's root, such as `/api/v1/links`. */
  path: string;
  /** A POST that changes nothing, so that it is repeated like a GET, and needs no idempotency key. */
  createsNothing?: boolean | undefined;
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
  /** Whether each POST has an idempotency key, unless its own options say otherwise. */
  readonly hasIdempotency: boolean;

  /** @throws the classes of errors/; the signal's reason when `options.signal` is aborted */
  request<T>(request: TransportRequest<T>): Promise<Reply<T>>;

  /**
   * The wait before a GET is made again whose call ended with this error, in milliseconds; undefined where it will fail
   * again, or the service asks for a longer wait than `maxRetryAfterMs`.
   *
   * @param failures calls that failed in a row, from 1
   * @param mayPass whether the caller repeats the GET although the rules for retries don't
   */
  waitAfterFailedGet(error: unknown, failures: number, mayPass: boolean): number | undefined;
  /** The data without the API key, for errors. */
  redactData<T>(data: T): T;
}
