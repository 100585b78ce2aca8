import { createApiError } from '../errors/create-api-error.ts';
import { ResponseShapeError } from '../errors/response-shape-error.ts';
import type { ShortlinkError } from '../errors/shortlink-error.ts';
import { type ErrorBody, errorBodySchema } from '../wire/error-body.ts';
import type { Redact } from './redact.ts';
import type { ResponseSchema } from './response-schema.ts';
import { parseRetryAfter } from './retry-after.ts';
import type { Answer } from './send.ts';

/** How much of an error body that isn't the service's own is quoted. */
const EXCERPT_LENGTH = 120;

/**
 * The data of a 2xx answer. Fields the schema doesn't know pass through.
 *
 * @throws ResponseShapeError when it is not JSON, or a required field is missing or of another type
 */
export function readData<T>(answer: Answer, schema: ResponseSchema<T>): T {
  const { status, requestId } = answer;
  const shapeError = (message: string, path: string) =>
    new ResponseShapeError(message, { status, path, requestId });
  let value: unknown;
  try {
    value = JSON.parse(answer.text);
  } catch {
    // The parser's message quotes the body, which may hold anything.
    throw shapeError(`The service's ${status} answer is not JSON`, '');
  }
  const result = schema.safeParse(value);
  if (result.success) return result.data;
  const path = formatPath(result.error.issues[0]?.path ?? []);
  const where = path === '' ? 'is not an object of the documented shape' : `has no valid ${path}`;
  throw shapeError(`The service's ${status} answer ${where}`, path);
}

/** The error of an answer that is not 2xx. `now` is milliseconds since 1970. */
export function readError(answer: Answer, redact: Redact, now: number): ShortlinkError {
  const { status } = answer;
  const headers = new Headers();
  for (const [name, value] of answer.headers) headers.append(name, redact(value));
  const body = readErrorBody(answer.text, redact);
  return createApiError({
    message: body?.error || describe(answer, headers, redact),
    status,
    body,
    headers,
    retryAfterMs: parseRetryAfter(headers, now),
  });
}

/** The service's error body (spec, "Errors"), or undefined. A broken addition doesn't hide what the spec promises. */
function readErrorBody(text: string, redact: Redact): ErrorBody | undefined {
  let value: unknown;
  try {
    // A service that quotes the key back must not put it into an error.
    value = JSON.parse(text, (_, item) => (typeof item === 'string' ? redact(item) : item));
  } catch {
    return undefined;
  }
  const result = errorBodySchema.safeParse(value);
  if (result.success) return result.data;
  const { error, upgrade }: { error?: unknown; upgrade?: unknown } =
    typeof value === 'object' && value !== null ? value : {};
  return typeof error === 'string' ? { error, upgrade: upgrade === true } : undefined;
}

/** Words for an answer that brings none of its own, such as the page of a proxy. */
function describe(answer: Answer, headers: Headers, redact: Redact): string {
  const { status } = answer;
  if (status === 0 || (status >= 300 && status < 400)) {
    const to = headers.get('location');
    const where = to === null ? '' : ` to ${to}`;
    return `The service redirects${where}, which is not followed, so that the API key stays here; check baseUrl`;
  }
  const printable = redact(answer.text).replaceAll(/[\p{Cc}\s]+/gu, ' ');
  const excerpt = printable.trim().slice(0, EXCERPT_LENGTH);
  return excerpt === ''
    ? `The service answered ${status}`
    : `The service answered ${status}: ${excerpt}`;
}

/** `['results', 3, 'code']` is `results[3].code`. */
function formatPath(path: readonly PropertyKey[]): string {
  let text = '';
  for (const key of path) {
    if (typeof key === 'number') text += `[${key}]`;
    else text += text === '' ? String(key) : `.${String(key)}`;
  }
  return text;
}
