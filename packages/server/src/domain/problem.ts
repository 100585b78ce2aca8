import * as wire from '@shortlink/sdk/wire';
import type { WindowState } from './limits.ts';

/** A request that is rejected, with its response, all of which is meant for the client. Anything else that is thrown is a 500. */
export class Problem extends Error {
  override readonly name = 'Problem';
  readonly status: number;
  readonly code: wire.ErrorCode;
  readonly body: wire.ErrorBody;
  readonly headers: Readonly<Record<string, string>>;
  /** A 503 that is no fault of the service: it counts against the quota of the caller. */
  readonly isOfCaller: boolean;

  constructor(
    status: number,
    code: wire.ErrorCode,
    message: string,
    extras: Omit<wire.ErrorBody, 'error' | 'code'> = {},
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

export const invalidRequest = (message: string) => new Problem(400, 'invalid_request', message);

/** A 400 that was found on another thread. */
export const badRequest = (body: wire.ErrorBody) =>
  new Problem(400, 'invalid_request', body.error, body);

/** Rejected fields of one link, or entries of a list: the first is the message, with its index in the list, up to 100 are in `details`. */
export function invalidInput(details: wire.ErrorDetail[], list = 'links'): Problem {
  const [first] = details;
  const where = first?.index === undefined ? '' : `${list}[${first.index}]: `;
  const message = `${where}${first?.message ?? 'invalid input'}`;
  return new Problem(400, 'invalid_request', message, { details });
}

/** RFC 9110 section 11.6.1: a 401 names a challenge. There is no registered scheme for a key header. */
export const unauthorized = (message: string) =>
  new Problem(401, 'unauthorized', message, {}, { 'WWW-Authenticate': 'ApiKey' });

export const forbidden = (anyOf: readonly wire.Permission[]) =>
  new Problem(403, 'forbidden', `This API key lacks the permission ${anyOf.join(' or ')}.`);

const DISABLED = 'This account is disabled; ask the operator of the service.';
export const accountDisabled = () => new Problem(403, 'account_disabled', DISABLED);

export const notFound = (what: string) => new Problem(404, 'not_found', `${what} not found.`);

export const gone = () => new Problem(410, 'gone', 'This short link is not active.');

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

/** `headers` tell what is wrong, the type or the encoding (RFC 9110 section 15.5.16). */
const unsupported = (message: string, headers: Problem['headers']) =>
  new Problem(415, 'unsupported_media_type', message, {}, headers);

const NOT_JSON = 'The request body must be JSON: send Content-Type: application/json.';
export const unsupportedMediaType = () => unsupported(NOT_JSON, { Accept: 'application/json' });

const COMPRESSED = 'The request body must not be compressed: send it without Content-Encoding.';
export const unsupportedContentEncoding = () =>
  unsupported(COMPRESSED, { 'Accept-Encoding': 'identity' });

/** 429 of a plan's rate limit. `Retry-After` reaches to the end of the refusing window, so waiting it out always succeeds. */
export function rateLimited(
  { name, limit, endsAt }: Pick<WindowState, 'name' | 'limit' | 'endsAt'>,
  now: number,
): Problem {
  const allowed = `your plan allows ${count(limit ?? 0)} requests per ${name}`;
  return tooMany(`Rate limit exceeded: ${allowed}.`, secondsUntil(endsAt, now));
}

/** 429 for reading the usage too often. Such requests count against no quota, so they have a limit of their own. */
export const tooManyUsageRequests = (allowed: number, endsAt: number, now: number) =>
  tooMany(`Usage can be read ${allowed} times per minute.`, secondsUntil(endsAt, now));

export function tooManyAtOnce(what: 'polls' | 'look-ups' | 'usage requests'): Problem {
  const one = what === 'polls' ? 'poll one job at a time' : 'send one after the other';
  return tooMany(`Too many ${what} at once: ${one}.`, 1);
}

const secondsUntil = (at: number, now: number) => Math.max(1, Math.ceil((at - now) / 1_000));

const retryAfter = (seconds: number) => ({ [wire.HEADERS.retryAfter]: String(seconds) });

function tooMany(reason: string, seconds: number): Problem {
  const message = `${reason} Try again in ${seconds} s.`;
  return new Problem(429, 'rate_limited', message, {}, retryAfter(seconds));
}

export interface ReachedLimit {
  limit: wire.PlanLimitName;
  used: number;
  allowed: number;
}

export function planLimitReached({ limit, used, allowed }: ReachedLimit): Problem {
  const message = `${planLimitWords({ limit, used, allowed })} Upgrade your plan for more.`;
  return new Problem(403, 'plan_limit', message, { upgrade: true, limit, used, allowed });
}

export function planLimitWords({ limit, used, allowed }: ReachedLimit): string {
  const [u, a] = [count(used), count(allowed)];
  const words: Record<wire.PlanLimitName, string> = {
    links: `Short link limit reached: ${u} used, ${a} allowed by the plan.`,
    batch_size: `Batch too large: ${u} links sent, ${a} per batch allowed by the plan.`,
    api_keys: `API key limit reached: ${u} used, ${a} allowed by the plan.`,
  };
  return words[limit];
}

export const count = (value: number) => value.toLocaleString('en-US');

const USED_BEFORE = 'This Idempotency-Key was used before for a different request.';
export const idempotencyConflict = () => new Problem(422, 'idempotency_conflict', USED_BEFORE);

const IN_PROGRESS = 'A request with this Idempotency-Key is in progress; try again in 1 s.';
/** The first request with this key is still running (draft-ietf-httpapi-idempotency-key-header-07, section 2.6). */
export const idempotencyInProgress = () =>
  new Problem(409, 'idempotency_conflict', IN_PROGRESS, {}, retryAfter(1));

/** The database can't be used just now; nothing was stored, so trying again is safe. */
export const unavailable = () =>
  overloaded('The service can not reach its database; try again in a moment.');

/** A fault of the service. The message names the request, so that its cause can be found in the log. */
export const internal = (requestId: string) =>
  new Problem(500, 'internal', `Something went wrong on our side. Request id: ${requestId}.`);

/** The service can not take this request just now, perhaps because of what its caller does; nothing was stored, so trying again is safe. */
export const overloaded = (message: string, isByCaller = false) =>
  new Problem(503, 'unavailable', message, {}, retryAfter(1), isByCaller);
