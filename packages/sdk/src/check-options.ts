import { InvalidOptionError } from './errors/call-errors.ts';
import type { HeadersInput } from './options.ts';

/** Visible ASCII: what a header carries unchanged through every runtime and proxy. */
const TOKEN = /^[\x21-\x7e]+$/;
/** Names of header fields (RFC 9110 section 5.1). */
const HEADER_NAME = /^[\w!#$%&'*+\-.^`|~]+$/;
/** Values of header fields that `fetch` takes: no control characters, one byte each (RFC 9110 section 5.5). */
const HEADER_VALUE = /^[\t\x20-\x7e\x80-\xff]*$/;

/** Refuses an option that there is not, such as one of another library, and says which one is meant. */
export function checkNames(options: object, words: string): void {
  const names = words.split(' ');
  for (const [name, value] of Object.entries(options)) {
    if (value === undefined || names.includes(name)) continue;
    const isLike = (known: string) =>
      stem(known).includes(stem(name)) || stem(name).includes(stem(known));
    const likely = names.find(isLike);
    const hint = likely === undefined ? `the options are ${names.join(', ')}` : `use ${likely}`;
    throw new InvalidOptionError(name, '', `There is no option ${name}: ${hint}`);
  }
}

/** What two spellings of an option have in common: `timeout` and `timeoutMs`, `retry` and `maxRetries`, `baseURL` and `base_url`. */
function stem(name: string): string {
  return name
    .toLowerCase()
    .replace(/[^a-z]/g, '')
    .replace(/ms$/, '')
    .replace(/ies$/, 'y');
}

/** A duration or size: 0 or more. */
export function checkAmount(option: string, value: number, unit: string): number {
  if (typeof value === 'number' && value >= 0) return value;
  throw new InvalidOptionError(option, `0 or more ${unit}, not ${show(value)}`);
}

/** A rate: more than 0. `Infinity` is no limit. */
export function checkRate(option: string, value: number): number {
  if (typeof value === 'number' && value > 0) return value;
  throw new InvalidOptionError(option, `more than 0 requests, not ${show(value)}`);
}

/** A whole number within bounds. `Infinity` is one, where there is no largest number. */
export function checkCount(
  option: string,
  value: number,
  { least = 0, most = Number.POSITIVE_INFINITY } = {},
): number {
  const isWhole = Number.isInteger(value) || value === Number.POSITIVE_INFINITY;
  if (isWhole && value >= least && value <= most) return value;
  const upTo = most < Number.MAX_SAFE_INTEGER ? ` to ${most}` : '';
  throw new InvalidOptionError(option, `a whole number from ${least}${upTo}, not ${show(value)}`);
}

/** The API key. Its value is in no message: it is a secret even when it is wrong. */
export function checkApiKey(value: string | undefined): string {
  if (typeof value === 'string' && TOKEN.test(value)) return value;
  if (value === '') throw new InvalidOptionError('apiKey', '', 'apiKey is empty');
  const expected = 'visible ASCII characters only, without spaces or line breaks';
  throw new InvalidOptionError('apiKey', value === undefined ? orEnv('API_KEY') : expected);
}

/** What is expected of an option that is given nowhere. */
const orEnv = (name: string) => `given, or set in the environment variable SHORTLINK_${name}`;

/** One of a few words. */
export function checkOneOf(option: string, value: string, words: readonly string[]): void {
  if (!words.includes(value)) {
    throw new InvalidOptionError(option, `one of ${words.join(', ')}, not ${show(value)}`);
  }
}

/** An idempotency key that every service takes. */
export function isIdempotencyKey(value: unknown): value is string {
  return typeof value === 'string' && TOKEN.test(value) && value.length <= 255;
}

/** The `idempotency` of a client or a call: on, off, or a key given by the caller. */
export function checkIdempotency(value: boolean | string): boolean | string {
  if (typeof value === 'boolean' || isIdempotencyKey(value)) return value;
  const expected = 'true, false or a key of 1 to 255 visible ASCII characters';
  throw new InvalidOptionError('idempotency', expected);
}

/** An id that can be one segment of a path. `fetch` would resolve `..`, and many proxies split at an escaped slash. */
export function checkJobId(jobId: string): void {
  const isSegment = typeof jobId === 'string' && !/^\.{0,2}$|[/\\\p{Cc}\p{Cs}]/u.test(jobId);
  if (!isSegment) {
    throw new InvalidOptionError('jobId', `the job_id of a batch, not ${show(jobId)}`);
  }
}

/** Address of the service. Returned without a slash at its end. */
export function checkBaseUrl(value: string | URL | undefined): string {
  const refusal = (expected: string) => new InvalidOptionError('baseUrl', expected);
  if (value === undefined) throw refusal(orEnv('BASE_URL'));
  const url = URL.canParse(String(value)) ? new URL(value) : undefined;
  if (url === undefined || !/^https?:$/.test(url.protocol)) {
    // Without a dot and a colon it may be the API key, where the two settings were exchanged.
    const shown = /[.:]/.test(String(value)) ? `, not ${hideUserInfo(value)}` : '';
    throw refusal(`an absolute http: or https: URL${shown}`);
  }
  if (url.username || url.password) throw refusal('without a user name and password');
  if (url.search || url.hash) throw refusal('without a query and fragment');
  const path = url.pathname.replace(/\/+$/, '');
  if (path.endsWith('/api/v1')) {
    throw refusal(`the address before /api/v1, not ${hideUserInfo(url)}`);
  }
  return url.origin + path;
}

/** Headers about the connection. The runtime sets them itself, and refuses a request that brings its own. */
const CONNECTION_HEADER =
  /^(?:(?:content-length|expect|keep-alive|transfer-encoding|upgrade):|connection: (?!(?:close|keep-alive)$))/i;

/** Extra headers, with lower-case names, so that two spellings of one name are one header. */
export function checkHeaders(headers: HeadersInput | undefined): Record<string, string> {
  // Without a prototype, so that a header may have any name.
  const checked: Record<string, string> = Object.create(null);
  // Recognised by its iterator, so that the `Headers` of another realm or of npm's undici work too.
  const entries =
    headers !== undefined && Symbol.iterator in headers ? headers : Object.entries(headers ?? {});
  for (const [name, value] of entries) {
    if (!HEADER_NAME.test(name)) {
      throw new InvalidOptionError('headers', `named as HTTP allows, not ${show(name)}`);
    }
    // The value may be a secret, so only the name is said.
    if (typeof value !== 'string' || !HEADER_VALUE.test(value)) {
      throw new InvalidOptionError(`headers[${show(name)}]`, 'a string without control characters');
    }
    if (CONNECTION_HEADER.test(`${name}: ${value}`)) {
      const expected = `without ${show(name)}, which belongs to the runtime`;
      throw new InvalidOptionError('headers', expected);
    }
    checked[name.toLowerCase()] = value;
  }
  return checked;
}

/** Shows a URL. What is before the last `@` may be a password, also one with a slash that should have been escaped. */
function hideUserInfo(url: string | URL): string {
  return show(String(url).replace(/^(\w+:\/\/)?.*@/s, '$1…@'));
}

/** Whether a value may be a link. Whether its fields are valid is for the service to say. */
export function isLink<T>(value: T): value is T & object {
  if (typeof value !== 'object' || value === null) return false;
  if ('target_url' in value) return true;
  return !(Array.isArray(value) || value instanceof URL || value instanceof Date);
}

export function notALink(option: string, value: unknown): InvalidOptionError {
  const given = Array.isArray(value) ? 'a list' : show(value);
  return new InvalidOptionError(option, `a link, such as { target_url }, not ${given}`);
}

export function show(value: unknown): string {
  return typeof value === 'string' ? JSON.stringify(value) : String(value);
}
