import { ApiError } from './api-error.ts';
import { hasMarker } from './has-marker.ts';

const marker = Symbol.for('@shortlink/sdk/RateLimitError');

/**
 * 429: a rate limit or quota is exceeded (spec, "Limits", rule 1). The request was refused before any work, so sending
 * it again is safe. Thrown when the retries are used up, or at once when the service asks for a longer wait than
 * `maxRetryAfterMs`; `retryAfterMs` holds the wait it asked for.
 */
export class RateLimitError extends ApiError {
  override readonly name: string = 'RateLimitError';

  get [marker](): true {
    return true;
  }

  static override isInstance(error: unknown): error is RateLimitError {
    return hasMarker(error, marker);
  }
}
