import type { ShortlinkHooks } from './hooks.ts';
import type { Logger } from './logger.ts';

/** The client's options, checked and with every default filled in. */
export interface TransportSettings {
  apiKey: string;
  /** Without a slash at its end. */
  baseUrl: string;
  /** undefined is `globalThis.fetch`, looked up at each request, so that tools that replace it are seen. */
  fetch: typeof globalThis.fetch | undefined;
  timeoutMs: number;
  totalTimeoutMs: number;
  maxRetries: number;
  maxRetryAfterMs: number;
  requestsPerMinute: number;
  idempotency: boolean;
  /** Names in lower case. */
  headers: Readonly<Record<string, string>>;
  hooks: ShortlinkHooks | undefined;
  logger: Partial<Logger> | undefined;
}
