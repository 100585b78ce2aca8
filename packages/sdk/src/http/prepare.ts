import { checkAmount, checkCount, checkHeaders, checkIdempotencyKey } from '../check-options.ts';
import type { RequestOptions } from '../options.ts';
import { HEADERS } from '../wire/headers.ts';
import type { Answers } from './answers.ts';
import type { AttemptWatch } from './attempt-watch.ts';
import { newIdempotencyKey } from './idempotency-key.ts';
import { createRedact } from './redact.ts';
import type { RetrySubject } from './retry-policy.ts';
import type { Attempt } from './send.ts';
import type { TransportSettings } from './settings.ts';
import type { TransportRequest } from './transport.ts';

/** A request with everything decided that is the same on each of its attempts. */
export interface PreparedCall<Name extends keyof Answers> extends RetrySubject {
  path: string;
  answer: Name;
  attempt: Attempt;
  signal: AbortSignal | undefined;
  timeoutMs: number;
  totalTimeoutMs: number;
  maxRetries: number;
  watch: AttemptWatch | undefined;
}

/** Returns the function that joins a request with the client's settings. */
export function createPrepare(settings: TransportSettings) {
  const redact = createRedact(settings.apiKey);

  /** The service's own headers come last: none of the caller's may replace them. */
  function headersOf(options: RequestOptions, key: string | undefined, hasBody: boolean) {
    return {
      ...settings.headers,
      ...(options.headers && checkHeaders(options.headers)),
      ...(key !== undefined && { [HEADERS.idempotencyKey.toLowerCase()]: key }),
      ...(hasBody && { 'content-type': 'application/json' }),
      accept: 'application/json',
      [HEADERS.apiKey.toLowerCase()]: settings.apiKey,
    };
  }

  /** @throws InvalidOptionError */
  return function prepare<Name extends keyof Answers>(
    request: TransportRequest<Name>,
  ): PreparedCall<Name> {
    const { method, path, body, answer, options = {} } = request;
    const idempotency = options.idempotency ?? settings.idempotency;
    const key = method === 'POST' ? idempotencyKey(idempotency) : undefined;
    const headers = headersOf(options, key, body !== undefined);
    return {
      method,
      path,
      answer,
      hasIdempotencyKey: key !== undefined,
      attempt: {
        method,
        url: settings.baseUrl + path,
        headers,
        body,
        fetch: settings.fetch,
        redact,
      },
      signal: options.signal,
      timeoutMs: checkAmount('timeoutMs', options.timeoutMs ?? settings.timeoutMs, 'milliseconds'),
      totalTimeoutMs: checkAmount(
        'totalTimeoutMs',
        options.totalTimeoutMs ?? settings.totalTimeoutMs,
        'milliseconds',
      ),
      maxRetries: checkCount('maxRetries', options.maxRetries ?? settings.maxRetries),
      watch: request.watch,
    };
  };
}

function idempotencyKey(setting: boolean | string): string | undefined {
  if (typeof setting === 'string') return checkIdempotencyKey(setting);
  return setting ? newIdempotencyKey() : undefined;
}
