/**
 * Options of the client and of each call, and the hooks that watch its requests.
 *
 * @module sdk/options
 */
export type {
  CooldownEvent,
  EndEvent,
  Fetch,
  FetchInit,
  FetchOptions,
  FetchResponse,
  HeadersInput,
  Logger,
  LogLevel,
  QuotaWindow,
  RequestEvent,
  RequestOptions,
  ResponseEvent,
  RetryEvent,
  ShortlinkHooks,
  ShortlinkOptions,
} from '../../sdk/src/index.ts';
