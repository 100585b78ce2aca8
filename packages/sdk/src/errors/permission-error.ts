import { ApiError } from './api-error.ts';
import { hasMarker } from './has-marker.ts';

const marker = Symbol.for('@shortlink/sdk/PermissionError');

/** 403: the API key lacks the permission, such as `shortlinks:write` (spec, "Authentication"). */
export class PermissionError extends ApiError {
  override readonly name: string = 'PermissionError';

  get [marker](): true {
    return true;
  }

  static override isInstance(error: unknown): error is PermissionError {
    return hasMarker(error, marker);
  }
}
