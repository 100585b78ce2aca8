import type { ShortlinkError } from '../errors/shortlink-error.ts';
import type { QuotaWindow } from './rate-limit-header.ts';

/** An attempt is about to be sent. */
export interface RequestEvent {
  method: 'GET' | 'POST';
  /** Path of the request, such as `/api/v1/links`. */
  path: string;
  /** 1 for the first attempt of a call. */
  attempt: number;
}

/** An attempt was answered, with whatever status; its body has been read. */
export interface ResponseEvent extends RequestEvent {
  status: number;
  /** From sending to the last byte of the body, in milliseconds. */
  durationMs: number;
  /** `X-Request-Id` of the answer, where the service sends one. */
  requestId: string | undefined;
  /** What the answer tells of the account's quota, in the service's order; empty where it tells nothing. */
  quota: readonly QuotaWindow[];
}

/** An attempt failed and will be repeated after a wait. */
export interface RetryEvent extends RequestEvent {
  /** Why the attempt failed. */
  error: ShortlinkError;
  /** How long the wait is, in milliseconds. */
  waitMs: number;
}

/** A 429, or a window of the quota that is used up, pauses the whole client. */
export interface CooldownEvent {
  /** How long nothing is sent, in milliseconds from now. */
  waitMs: number;
  /** The wait the service asked for, in milliseconds; undefined when there was no 429, or none that could be read. */
  retryAfterMs: number | undefined;
}

/**
 * Called as things happen. No event holds the API key or a body. What a hook throws is logged and otherwise ignored, so
 * that watching a call can't break it.
 */
export interface ShortlinkHooks {
  onRequest?: ((event: RequestEvent) => void) | undefined;
  onResponse?: ((event: ResponseEvent) => void) | undefined;
  onRetry?: ((event: RetryEvent) => void) | undefined;
  onCooldown?: ((event: CooldownEvent) => void) | undefined;
}
