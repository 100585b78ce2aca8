import { createApiError } from '../errors/api-errors.ts';
import { ResponseShapeError } from '../errors/call-errors.ts';
import type { ShortlinkError } from '../errors/shortlink-error.ts';
import { type ErrorBody, readErrorBody } from '../wire/error-body.ts';
import { isObject } from '../wire/shape.ts';
import type { Redact } from './failure.ts';
import type { TransportRequest } from './request.ts';
import type { RawResponse } from './send.ts';

/** How much is kept of a body that is cut off, in characters, and how long a key at its end may be: 256 escapes of 8. */
const MAX_CUT_BODY = 65_536;
const MAX_KEY = 2_048;

/** How much of an error body that isn't the service's own is quoted. */
const EXCERPT_LENGTH = 120;

/** The data of a 2xx response. @throws ResponseShapeError when it is not JSON, too large, or lacks a required field */
export function readData<T>(raw: RawResponse, read: TransportRequest<T>['read'], redact: Redact) {
  const { status, requestId, text, isTooLarge } = raw;
  const shapeError = (problem: string, path: string) => {
    // Of a body that is cut off, the end may be a part of the key.
    const shown = redact(text);
    const end = isTooLarge
      ? Math.min(MAX_CUT_BODY, Math.max(0, shown.length - MAX_KEY))
      : undefined;
    const body = shown.slice(0, end);
    const message = `The service's ${status} response ${problem}`;
    return new ResponseShapeError(message, { status, path, requestId, body });
  };
  if (isTooLarge) throw shapeError('is larger than maxResponseBytes', '');
  const value = parseJson(text, redact);
  if (value === undefined) throw shapeError('is not JSON', '');
  if (!isObject(value)) throw shapeError('is not an object', '');
  const result = read(value, status);
  if ('data' in result) return result.data;
  throw shapeError(`has no ${result.missing}`, result.missing);
}

/** The error of a response that is not 2xx. Its message says `where` the request went if the address may be wrong. */
export function readError(
  { status, headers, text }: RawResponse,
  redact: Redact,
  retryAfterMs: number | undefined,
  where: string,
): ShortlinkError {
  const body = parseErrorBody(text, redact);
  const words = body?.error || describe(status, headers, redact(text));
  const mayBeElsewhere = [403, 404, 405].includes(status) && !body?.upgrade;
  const message = mayBeElsewhere ? `${words} (${redact(where)})` : words;
  return createApiError({ message, status, body, headers, retryAfterMs });
}

/** `__proto__`, however it is escaped, or a large number. More than these matches, which costs time only. */
const NEEDS_CARE = /__proto__|\\u00[5-7]|:\s?\d{16}/;

/** The API key is removed from the reason why an item failed, which the service wrote, but not from the caller's data. */
function parseJson(text: string, redact: Redact): unknown {
  const clean = (key: string, item: unknown) =>
    key === 'error' ? JSON.parse(redact(JSON.stringify(item))) : item;
  const isPlain = !NEEDS_CARE.test(text) && redact(text) === text;
  return parse(text, isPlain ? undefined : clean);
}

/** The service's error body, or undefined. A service that quotes the key back must not put it into an error. */
function parseErrorBody(text: string, redact: Redact): ErrorBody | undefined {
  const clean = (_: string, item: unknown) => {
    if (typeof item === 'string') return redact(item);
    if (!isObject(item)) return item;
    return Object.fromEntries(Object.entries(item).map(([name, field]) => [redact(name), field]));
  };
  return readErrorBody(parse(text, clean));
}

/**
 * `JSON.parse`; undefined for what is not JSON, because the parser's message quotes the body. `revive` also leaves out
 * `__proto__`, which would replace the prototype of a copy, and keeps each digit of an id of 64 bits, as a string.
 */
function parse(text: string, revive?: (key: string, item: unknown) => unknown): unknown {
  const exact = (key: string, item: unknown, { source = '' }: { source?: string } = {}) => {
    if (key === '__proto__') return undefined;
    return revive?.(key, /^\d{16,}$/.test(source) ? source : item);
  };
  try {
    return JSON.parse(text, revive && exact);
  } catch {
    return undefined;
  }
}

/** Words for a response that brings none of its own, such as the page of a proxy. */
function describe(status: number, headers: Headers, text: string): string {
  if (status === 0 || (status >= 300 && status < 400)) {
    const to = headers.get('location');
    const where = to ? ` to ${to}` : '';
    return `The service redirects${where}. Redirects are not followed, to protect the API key; check baseUrl`;
  }
  const line = text.replaceAll(/[\p{Cc}\s]+/gu, ' ').trim();
  const excerpt = line.slice(0, EXCERPT_LENGTH);
  return `The service responded with ${status}${excerpt && `: ${excerpt}`}`;
}
