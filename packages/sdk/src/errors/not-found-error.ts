import { ApiError } from './api-error.ts';
import { hasMarker } from './has-marker.ts';

const marker = Symbol.for('@shortlink/sdk/NotFoundError');

/** 404: no such job, or a job of another account. */
export class NotFoundError extends ApiError {
  override readonly name: string = 'NotFoundError';

  get [marker](): true {
    return true;
  }

  static override isInstance(error: unknown): error is NotFoundError {
    return hasMarker(error, marker);
  }
}
