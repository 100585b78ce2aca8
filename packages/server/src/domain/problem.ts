import {
  type ErrorBody,
  type ErrorCode,
  type ErrorDetail,
  HEADERS,
  type Permission,
  type PlanLimitName,
} from '@shortlink/sdk/wire';
import type { WindowState } from './limits.ts';

type Extras = Omit<ErrorBody, 'error' | 'code'>;

/** A request that is rejected, with its response, all of which is meant for the client. Anything else that is thrown is a 500. */
export class Problem extends Error {
  override readonly name = 'Problem';
  readonly status: number;
  readonly code: ErrorCode;
  readonly body: ErrorBody;
  readonly headers: Readonly<Record<string, string>>;
  /** A 503 that is no fault of the service: it counts against the quota of the caller. */
  readonly isOfCaller: boolean;

  constructor(
    status: number,
    code: ErrorCode,
    message: string,
    extras: Extras = {},
    headers: Readonly<Record<string, string>> = {},
    isOfCaller = false,
  ) {
    super(message);
    this.status = status;
    this.code = code;
    this.body = { error: message, code, ...extras };
    this.headers = headers;
    this.isOfCaller = isOfCaller;
  }
}

export function invalidRequest(message: string): Problem {
  return new Problem(400, 'invalid_request', message);
}

/** A 400 that was found on another thread. */
export function badRequest(body: ErrorBody): Problem {
  return new Problem(400, 'invalid_request', body.error, body);
}

/** Rejected fields of one link, or entries of a list: the first is the message, with its index in the list, up to 100 are in `details`. */
export function invalidInput(details: ErrorDetail[], list = 'links'): Problem {
  const [first] = details;
  const where = first?.index === undefined ? '' : `${list}[${first.index}]: `;
  const message = `${where}${first?.message ?? 'invalid input'}`;
  return new Problem(400, 'invalid_request', message, { details });
}

export function unauthorized(message: string): Problem {
  // RFC 9110 section 11.6.1: a 401 names a challenge. There is no registered scheme for a key header.
  return new Problem(401, 'unauthorized', message, {}, { 'WWW-Authenticate': 'ApiKey' });
}

export function forbidden(anyOf: readonly Permission[]): Problem {
  return new Problem(403, 'forbidden', `This API key lacks the permission ${anyOf.join(' or ')}.`);
}

export function accountDisabled(): Problem {
  const message = 'This account is disabled; ask the operator of the service.';
  return new Problem(403, 'account_disabled', message);
}

export function notFound(what: string): Problem {
  return new Problem(404, 'not_found', `${what} not found.`);
}

export function gone(): Problem {
  return new Problem(410, 'gone', 'This short link is not active.');
}

export function methodNotAllowed(method: string, allowed: readonly string[]): Problem {
  const allow = allowed.join(', ');
  const message = `${method} is not allowed here; use ${allow}.`;
  return new Problem(405, 'method_not_allowed', message, {}, { Allow: allow });
}

/** A body above `maxBytes`, which is a whole number of KiB. */
export function payloadTooLarge(maxBytes: number): Problem {
  const kib = maxBytes / 1024;
  const size = kib % 1024 === 0 ? `${kib / 1024} MiB` : `${count(kib)} KiB`;
  return new Problem(413, 'payload_too_large', `The request body is larger than ${size}.`);
}

export function unsupportedMediaType(): Problem {
  const message = 'The request body must be JSON: send Content-Type: application/json.';
  return new Problem(415, 'unsupported_media_type', message, {}, { Accept: 'application/json' });
}

/** RFC 9110 section 15.5.16: `Accept-Encoding` tells that the encoding is the problem, not the type. */
export function unsupportedContentEncoding(): Problem {
  const message = 'The request body must not be compressed: send it without Content-Encoding.';
  const headers = { 'Accept-Encoding': 'identity' };
  return new Problem(415, 'unsupported_media_type', message, {}, headers);
}

/** 429 of a plan's rate limit. `Retry-After` reaches to the end of the refusing window, so waiting it out always succeeds. */
export function rateLimited(
  window: Pick<WindowState, 'name' | 'limit' | 'endsAt'>,
  now: number,
): Problem {
  const seconds = Math.max(1, Math.ceil((window.endsAt - now) / 1000));
  const allowed = `your plan allows ${count(window.limit ?? 0)} requests per ${window.name}`;
  return tooMany(`Rate limit exceeded: ${allowed}.`, seconds);
}

function tooMany(reason: string, seconds: number): Problem {
  const message = `${reason} Try again in ${seconds} s.`;
  return new Problem(429, 'rate_limited', message, {}, { [HEADERS.retryAfter]: String(seconds) });
}

export function tooManyAtOnce(what: 'polls' | 'look-ups'): Problem {
  const one = what === 'polls' ? 'poll one job at a time' : 'send one after the other';
  return tooMany(`Too many ${what} at once: ${one}.`, 1);
}

/** 429 for reading the usage too often. Such requests count against no quota, so they have a limit of their own. */
export function tooManyUsageRequests(allowed: number, seconds: number): Problem {
  return tooMany(`Usage can be read ${allowed} times per minute.`, seconds);
}

/** A plan limit that would be passed. */
export interface ReachedLimit {
  limit: PlanLimitName;
  used: number;
  allowed: number;
}

export function planLimitReached({ limit, used, allowed }: ReachedLimit): Problem {
  const message = `${planLimitWords({ limit, used, allowed })} Upgrade your plan for more.`;
  return new Problem(403, 'plan_limit', message, { upgrade: true, limit, used, allowed });
}

export function planLimitWords({ limit, used, allowed }: ReachedLimit): string {
  const [u, a] = [count(used), count(allowed)];
  switch (limit) {
    case 'links':
      return `Short link limit reached: ${u} used, ${a} allowed by the plan.`;
    case 'batch_size':
      return `Batch too large: ${u} links sent, ${a} per batch allowed by the plan.`;
    case 'api_keys':
      return `API key limit reached: ${u} used, ${a} allowed by the plan.`;
  }
}

export function count(value: number): string {
  return value.toLocaleString('en-US');
}

export function idempotencyConflict(): Problem {
  const message = 'This Idempotency-Key was used before for a different request.';
  return new Problem(422, 'idempotency_conflict', message);
}

/** The first request with this key is still running (draft-ietf-httpapi-idempotency-key-header-07, section 2.6). */
export function idempotencyInProgress(): Problem {
  const message = 'A request with this Idempotency-Key is in progress; try again in 1 s.';
  return new Problem(409, 'idempotency_conflict', message, {}, { [HEADERS.retryAfter]: '1' });
}

/** The database can't be used just now; nothing was stored, so trying again is safe. */
export function unavailable(): Problem {
  return overloaded('The service can not reach its database; try again in a moment.');
}

/** A fault of the service. The message names the request, so that its cause can be found in the log. */
export function internal(requestId: string): Problem {
  const message = `Something went wrong on our side. Request id: ${requestId}.`;
  return new Problem(500, 'internal', message);
}

/** The service can not take this request just now, perhaps because of what its caller does; nothing was stored, so trying again is safe. */
export function overloaded(message: string, isByCaller = false): Problem {
  return new Problem(503, 'unavailable', message, {}, { [HEADERS.retryAfter]: '1' }, isByCaller);
}
