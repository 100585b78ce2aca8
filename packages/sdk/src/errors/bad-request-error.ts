import { ApiError } from './api-error.ts';
import { hasMarker } from './has-marker.ts';

const marker = Symbol.for('@shortlink/sdk/BadRequestError');

/** 400: the request is invalid and nothing was created. `body.details` lists refused entries where the service gives them. */
export class BadRequestError extends ApiError {
  override readonly name: string = 'BadRequestError';

  get [marker](): true {
    return true;
  }

  static override isInstance(error: unknown): error is BadRequestError {
    return hasMarker(error, marker);
  }
}
