import { ApiError } from './api-error.ts';
import { hasMarker } from './has-marker.ts';

const marker = Symbol.for('@shortlink/sdk/AuthenticationError');

/** 401: the API key is missing or invalid (spec, "Authentication"). */
export class AuthenticationError extends ApiError {
  override readonly name: string = 'AuthenticationError';

  get [marker](): true {
    return true;
  }

  static override isInstance(error: unknown): error is AuthenticationError {
    return hasMarker(error, marker);
  }
}
