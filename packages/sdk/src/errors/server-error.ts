import { ApiError } from './api-error.ts';
import { hasMarker } from './has-marker.ts';

const marker = Symbol.for('@shortlink/sdk/ServerError');

/**
 * 5xx: the service failed. After a POST it is not known whether the links were created, except for a 503 with
 * `Retry-After`, which refuses before any work; see `isOutcomeUnknown`.
 */
export class ServerError extends ApiError {
  override readonly name: string = 'ServerError';

  get [marker](): true {
    return true;
  }

  static override isInstance(error: unknown): error is ServerError {
    return hasMarker(error, marker);
  }
}
