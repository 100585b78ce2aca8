import { hasMarker } from './has-marker.ts';
import { ShortlinkError } from './shortlink-error.ts';

const marker = Symbol.for('@shortlink/sdk/ResponseShapeError');

/**
 * A 2xx answer that is not what the service documents: not JSON, or a required field is missing or of another type.
 * After a POST the links were most likely created, so it is not sent again.
 */
export class ResponseShapeError extends ShortlinkError {
  override readonly name: string = 'ResponseShapeError';

  /** HTTP status of the answer. */
  readonly status: number;

  /** Where the answer differs, such as `results[3].target_url`; empty for the answer as a whole. */
  readonly path: string;

  /** `X-Request-Id` of the answer, where the service sends one. */
  readonly requestId: string | undefined;

  constructor(
    message: string,
    options: { status: number; path: string; requestId?: string | undefined },
  ) {
    super(message);
    this.status = options.status;
    this.path = options.path;
    this.requestId = options.requestId;
  }

  get [marker](): true {
    return true;
  }

  static override isInstance(error: unknown): error is ResponseShapeError {
    return hasMarker(error, marker);
  }
}
