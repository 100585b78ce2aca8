import { ShortlinkError } from './shortlink-error.ts';

/**
 * What is known of a request that got no response: `not-sent` means that the service never saw it; `unknown` means that
 * it may have been carried out.
 */
export type Outcome = 'not-sent' | 'unknown';

/**
 * No response: refused, name not found, certificate not trusted (`outcome: 'not-sent'`), or the connection was lost
 * after sending (`outcome: 'unknown'`). Browsers don't tell the two apart, so there it is always `unknown`.
 */
export class ConnectionError extends ShortlinkError {
  static override readonly kind = 'ConnectionError';
  declare readonly name: 'ConnectionError';

  /** Whether the service may have carried the request out. */
  readonly outcome: Outcome;

  /** Code of the failure where the runtime gives one, such as `ECONNREFUSED` or `CERT_HAS_EXPIRED`. */
  readonly code: string | undefined;

  /** `true` where sending again can't help until something is changed, as with an expired certificate. */
  readonly isPermanent: boolean;

  constructor(
    message: string,
    options: {
      outcome: Outcome;
      code?: string | undefined;
      isPermanent?: boolean | undefined;
      cause?: unknown;
    },
  ) {
    super(message, { cause: options.cause });
    this.outcome = options.outcome;
    this.code = options.code;
    this.isPermanent = options.isPermanent ?? false;
  }
}

/** An attempt took longer than `timeoutMs`, or the whole call longer than `totalTimeoutMs`. */
export class TimeoutError extends ShortlinkError {
  static override readonly kind = 'TimeoutError';
  declare readonly name: 'TimeoutError';

  /** Whether the service may have carried the request out. `not-sent` only when time ran out during a wait. */
  readonly outcome: Outcome;

  /** The limit that was passed, in milliseconds. */
  readonly timeoutMs: number;

  constructor(message: string, options: { outcome: Outcome; timeoutMs: number; cause?: unknown }) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause });
    this.outcome = options.outcome;
    this.timeoutMs = options.timeoutMs;
  }
}

/**
 * A 2xx response that can't be read: it is not JSON, it lacks what must be there (`code` and `short_url` of a created
 * link, `results` or `job_id` of a batch), or it is larger than `maxResponseBytes`. After a POST the links were most
 * likely created, so it is not sent again; `body` has what the service said.
 */
export class ResponseShapeError extends ShortlinkError {
  static override readonly kind = 'ResponseShapeError';
  declare readonly name: 'ResponseShapeError';

  /** HTTP status of the response. */
  readonly status: number;

  /** The field that is missing, such as `short_url`; empty for the response as a whole. */
  readonly path: string;

  /** `X-Request-Id` of the response, where the service sends one. */
  readonly requestId: string | undefined;

  /** Text of the response, the API key removed. Empty where the response was too large to be read. */
  readonly body: string;

  constructor(
    message: string,
    options: {
      status: number;
      path: string;
      requestId?: string | undefined;
      body?: string | undefined;
    },
  ) {
    super(message);
    this.status = options.status;
    this.path = options.path;
    this.requestId = options.requestId;
    this.body = options.body ?? '';
  }
}

/** An option of the client, or an argument of a call, can't be used. Thrown before anything is sent. */
export class InvalidOptionError extends ShortlinkError {
  static override readonly kind = 'InvalidOptionError';
  declare readonly name: 'InvalidOptionError';

  /** Name of the option, such as `maxRetries`. */
  readonly option: string;

  /**
   * @param expected ends the sentence "`option` must be …"; it must not contain a secret value
   * @param message replaces that sentence
   */
  constructor(option: string, expected: string, message = `${option} must be ${expected}`) {
    super(message);
    this.option = option;
  }
}
