import type { RequestOptions } from '../options.ts';
import type { Read, ResponseBody } from '../wire/shape.ts';

/** One logical request, whatever attempts it takes. */
export interface TransportRequest<T> {
  method: 'GET' | 'POST';
  /** From the service's root, such as `/api/v1/links`. */
  path: string;
  /** A POST that changes nothing, so that it is repeated like a GET, and needs no idempotency key. */
  createsNothing?: boolean | undefined;
  /** JSON. */
  body?: string | undefined;
  /** Reads a 2xx response. */
  read: (value: ResponseBody, status: number) => Read<T>;
  options?: RequestOptions | undefined;
  watch?: AttemptWatch | undefined;
  /** The service counts the request against no quota, so it is sent even where a quota is used up. */
  ignoresQuota?: boolean | undefined;
  /** The caller repeats the request itself: one attempt is made, which waits for limits. */
  isRepeatedByCaller?: boolean | undefined;
}

/** A response, as `withResponse()` gives it. */
export interface ApiResponse<T> {
  data: T;
  /** HTTP status. */
  status: number;
  /** Headers of the response, without the API key. */
  headers: Headers;
  /** `X-Request-Id` of the response, for bug reports; undefined where the service sends none. */
  requestId: string | undefined;
}

export interface TransportResponse<T> extends ApiResponse<T> {
  /** When the attempt that got it was sent, on the client's clock. */
  sentAt: number;
  /** When the service wants to be asked again, in milliseconds from now, where it says so. */
  retryAfterMs: number | undefined;
}

/** The data of one request. `withResponse()` gives the status, the headers and the request id beside it. */
export interface ResponsePromise<T> extends Promise<T> {
  withResponse(): Promise<ApiResponse<T>>;
}

/** Makes a request, and gives its data; what `start` throws rejects the promise. */
export function responsePromise<T>(start: () => Promise<ApiResponse<T>>): ResponsePromise<T> {
  const started = (async () => await start())();
  const promise = started.then(({ data }) => data);
  const withResponse = async () => {
    // Of the two promises only the one that the caller asked for may be reported as unhandled.
    promise.catch(() => undefined);
    const { data, status, headers, requestId } = await started;
    return { data, status, headers, requestId };
  };
  return Object.assign(promise, { withResponse });
}

/** Follows the attempts of one request, for a caller that keeps a journal of what it sends. */
export interface AttemptWatch {
  /** An attempt is written when this resolves, unless the caller aborts its signal. All waits for limits are over. */
  beforeSend(): Promise<void>;
  /** The attempt failed, and no attempt of this call can have been carried out. */
  nothingDone(): void;
}
