import {
  checkAmount,
  checkApiKey,
  checkBaseUrl,
  checkCount,
  checkHeaders,
} from './check-options.ts';
import { loggerFromEnv } from './http/logger.ts';
import { readEnv } from './http/read-env.ts';
import type { TransportSettings } from './http/settings.ts';
import type { ShortlinkOptions } from './options.ts';

/** What an option is when it is not given. */
export const DEFAULT_OPTIONS = Object.freeze({
  timeoutMs: 30_000,
  totalTimeoutMs: 0,
  maxRetries: 5,
  maxRetryAfterMs: 90_000,
  requestsPerMinute: 0,
  idempotency: false,
});

/**
 * Checks the client's options and fills in environment and defaults.
 *
 * @throws InvalidOptionError that names the option and what it accepts
 */
export function resolveOptions(options: ShortlinkOptions): TransportSettings {
  const given = <K extends keyof typeof DEFAULT_OPTIONS>(name: K) =>
    options[name] ?? DEFAULT_OPTIONS[name];
  const amount = (name: 'timeoutMs' | 'totalTimeoutMs' | 'maxRetryAfterMs') =>
    checkAmount(name, given(name), 'milliseconds');
  return {
    apiKey: checkApiKey(options.apiKey ?? readEnv('SHORTLINK_API_KEY')),
    baseUrl: checkBaseUrl(options.baseUrl ?? readEnv('SHORTLINK_BASE_URL')),
    fetch: options.fetch,
    timeoutMs: amount('timeoutMs'),
    totalTimeoutMs: amount('totalTimeoutMs'),
    maxRetries: checkCount('maxRetries', given('maxRetries')),
    maxRetryAfterMs: amount('maxRetryAfterMs'),
    requestsPerMinute: checkAmount('requestsPerMinute', given('requestsPerMinute'), 'requests'),
    idempotency: given('idempotency'),
    headers: checkHeaders(options.headers),
    hooks: options.hooks,
    logger: options.logger ?? loggerFromEnv(),
  };
}
