import { InvalidOptionError } from './errors/call-errors.ts';
import { CLIENT_OPTIONS, type HeadersInput, WAIT_OPTIONS } from './options.ts';
import { MAX_BATCH_LINKS } from './wire/limits.ts';

// Imported as `check`: each function throws an InvalidOptionError for what can't be used.

/** Visible ASCII: what a header carries unchanged through every runtime and proxy. */
const TOKEN = /^[\x21-\x7e]+$/;
/** Names of header fields (RFC 9110 section 5.1). */
const HEADER_NAME = /^[\w!#$%&'*+\-.^`|~]+$/;
/** Values of header fields that `fetch` takes: no control characters, one byte each (RFC 9110 section 5.5). */
const HEADER_VALUE = /^[\t\x20-\x7e\x80-\xff]*$/;

/** What these checks refuse is not shown: it may hold anything. */
const isFunction = (value: unknown, name: string) =>
  typeof value === 'function' || refuse(name, 'a function');
const isSignal = (value: { throwIfAborted?: unknown }, name: string) =>
  typeof value.throwIfAborted === 'function' || refuse(name, 'an AbortSignal');

const ALL_OPTIONS: readonly string[] = `${CLIENT_OPTIONS} ${WAIT_OPTIONS}`.split(' ');
const HOOKS = 'onRequest onResponse onRetry onCooldown onEnd';

/** What an option must be, by its name, which means the same wherever it is given. A name that ends in `Ms` is a duration. */
const CHECKS: Readonly<Record<string, (value: never, name: string) => unknown>> = {
  batchSize: (value) => value === 'auto' || count('batchSize', value, 1, MAX_BATCH_LINKS),
  concurrency: (value) => count('concurrency', value, 1, Number.MAX_SAFE_INTEGER),
  fetch: isFunction,
  headers,
  // One of a class may have fields of its own.
  hooks: (value: object) => {
    if (typeof value !== 'object') refuse('hooks', 'an object');
    const own = Object.entries(value).filter(([name]) => /^on[A-Z]/.test(name));
    given(Object.fromEntries(own), HOOKS);
  },
  idempotency: (value) =>
    typeof value === 'boolean' ||
    isIdempotencyKey(value) ||
    refuse('idempotency', 'true, false or a key of 1 to 255 visible ASCII characters'),
  idempotencyKey: isFunction,
  maxResponseBytes: (value) => amount('maxResponseBytes', value, 'bytes'),
  maxRetries: (value) => count('maxRetries', value, 0),
  onBatch: isFunction,
  onCooldown: isFunction,
  onEnd: isFunction,
  onJobProgress: isFunction,
  onProgress: isFunction,
  onRequest: isFunction,
  onResponse: isFunction,
  onRetry: isFunction,
  onUnknown: (value) => oneOf('onUnknown', value, ['stop', 'continue']),
  requestsPerMinute: (value, name) =>
    that(typeof value === 'number' && value > 0, name, value, 'more than 0 requests'),
  // What is only async would be read as an empty list, and every link be created again.
  resume: (value) => Symbol.iterator in Object(value) || refuse('resume', 'a sync iterable'),
  signal: isSignal,
  stopSignal: isSignal,
};

export type Given<T> = { [Name in keyof T]?: NonNullable<T[Name]> };

/** The options that are given, which null is not. One without these names is refused, with a hint at what is meant. */
export function given<T extends object>(options: T | null | undefined, words: string): Given<T> {
  const all = options ?? {};
  // What it is instead is not said: it may be the API key.
  if (typeof all !== 'object' || Array.isArray(all)) refuse('options', 'an object');
  const names = words.split(' ');
  for (const [name, value] of Object.entries(all)) {
    if (value === null || value === undefined || names.includes(name)) continue;
    const like = stem(name);
    const isLike = (known: string) => known.includes(like) || like.includes(known);
    // An option of the client, or of another call, is no misspelt one of this call.
    const isMisspelt = like.length > 2 && !ALL_OPTIONS.includes(name);
    const likely = isMisspelt
      ? (names.find((known) => stem(known) === like) ?? names.find((known) => isLike(stem(known))))
      : undefined;
    const hint = likely === undefined ? `the options are ${names.join(', ')}` : `use ${likely}`;
    refuse(name, '', `There is no option ${name}: ${hint}`);
  }
  const given: Record<string, unknown> = {};
  for (const name of names) {
    const value: unknown = Reflect.get(all, name);
    if (value === null || value === undefined) continue;
    CHECKS[name]?.(value as never, name);
    if (name.endsWith('Ms')) amount(name, value, 'milliseconds');
    given[name] = value;
  }
  return given as Given<T>;
}

/** What two spellings have in common: `timeout` and `timeoutMs`, `retry` and `maxRetries`, `baseURL` and `base_url`. */
function stem(name: string): string {
  return name.toLowerCase().replace(/[^a-z]|ms$|ies$|(?<=tr)y$/g, '');
}

/** Refuses what can't be iterated, and a string, which would be read letter by letter. */
export function iterable(option: string, value: unknown): void {
  const isIterable =
    typeof value === 'object' &&
    (Symbol.asyncIterator in Object(value) || Symbol.iterator in Object(value));
  that(isIterable, option, value, 'iterable or async iterable');
}

/** @param expected ends the sentence "`option` must be …"; `message` replaces that sentence. Neither may hold a secret */
export function refuse(option: string, expected: string, message?: string): never {
  throw new InvalidOptionError(option, expected, message);
}

function that(isGood: boolean, option: string, value: unknown, expected: string): void {
  if (!isGood) refuse(option, `${expected}, not ${show(value)}`);
}

/** A duration or size: 0 or more. */
function amount(option: string, value: unknown, unit: string): void {
  that(typeof value === 'number' && value >= 0, option, value, `0 or more ${unit}`);
}

/** A whole number within bounds. `Infinity` is one, where there is no largest number. */
function count(option: string, value: number, least: number, most = Number.POSITIVE_INFINITY) {
  const isWhole = Number.isInteger(value) || value === Number.POSITIVE_INFINITY;
  const upTo = most < Number.MAX_SAFE_INTEGER ? ` to ${most}` : '';
  const expected = `a whole number from ${least}${upTo}`;
  that(isWhole && value >= least && value <= most, option, value, expected);
}

/** One of a few words. */
export function oneOf(option: string, value: string, words: readonly string[]): void {
  that(words.includes(value), option, value, `one of ${words.join(', ')}`);
}

/** An id that can be one segment of a path. `fetch` would resolve `..`, and many proxies split at an escaped slash. */
export function jobId(jobId: string): void {
  const isSegment = typeof jobId === 'string' && !/^\.{0,2}$|[/\\\p{Cc}\p{Cs}]/u.test(jobId);
  that(isSegment, 'jobId', jobId, 'the job_id of a batch');
}

/** What is expected of an option that is given nowhere. */
const orEnv = (name: string) => `given, or set in the environment variable SHORTLINK_${name}`;

/** The API key. No message has its value, which is a secret even when it is wrong. */
export function apiKey(value: string | undefined): string {
  if (typeof value === 'string' && TOKEN.test(value) && !/^https?:/.test(value)) return value;
  if (value === '') refuse('apiKey', '', 'apiKey is empty');
  if (value === undefined) refuse('apiKey', orEnv('API_KEY'));
  return refuse('apiKey', 'visible ASCII characters without spaces, and no address');
}

/** An idempotency key that every service takes. */
export function isIdempotencyKey(value: unknown): value is string {
  return typeof value === 'string' && TOKEN.test(value) && value.length <= 255;
}

/** Address of the service. Returned without a slash at its end. */
export function baseUrl(value: string | URL | undefined): string {
  if (value === undefined) refuse('baseUrl', orEnv('BASE_URL'));
  const url = URL.canParse(String(value)) ? new URL(value) : undefined;
  if (url === undefined || !/^https?:$/.test(url.protocol)) {
    // Without a dot and a colon it may be the API key, where the two settings were exchanged.
    const shown = /[.:]/.test(String(value)) ? `, not ${hideUserInfo(value)}` : '';
    refuse('baseUrl', `an absolute http: or https: URL${shown}`);
  }
  if (url.username || url.password) refuse('baseUrl', 'without a user name and password');
  if (url.search || url.hash) refuse('baseUrl', 'without a query and fragment');
  const path = url.pathname.replace(/\/+$/, '');
  if (path.endsWith('/api/v1')) {
    refuse('baseUrl', `the address before /api/v1, not ${hideUserInfo(url)}`);
  }
  return url.origin + path;
}

/** Headers about the connection. The runtime sets them itself, and refuses a request that brings its own. */
const CONNECTION_HEADER =
  /^(?:(?:content-length|expect|keep-alive|transfer-encoding|upgrade):|connection: (?!(?:close|keep-alive)$))/i;

/** Headers for which there is an option. An `Idempotency-Key` among the headers of a client would be sent with all of its creates. */
const OPTION_HEADER = /^(?:idempotency|x-api)-key$/i;

/** Extra headers, with lower-case names, so that two spellings of one name are one header. */
export function headers(headers: HeadersInput | undefined): Record<string, string> {
  // Without a prototype, so that a header may have any name.
  const checked: Record<string, string> = Object.create(null);
  const given = headers ?? {};
  // Recognised by its iterator, so that the `Headers` of another realm or of npm's undici work too.
  for (const [name, value] of Symbol.iterator in given ? given : Object.entries(given)) {
    that(HEADER_NAME.test(name), 'headers', name, 'named as HTTP allows');
    // The value may be a secret, so only the name is said.
    if (typeof value !== 'string' || !HEADER_VALUE.test(value)) {
      refuse(`headers[${show(name)}]`, 'a string of Latin-1 without control characters');
    }
    if (CONNECTION_HEADER.test(`${name}: ${value}`)) {
      refuse('headers', `without ${show(name)}, which belongs to the runtime`);
    }
    if (OPTION_HEADER.test(name)) {
      const option = /^x/i.test(name) ? 'apiKey' : 'idempotency or idempotencyKey';
      refuse('headers', `without ${show(name)}: use the option ${option}`);
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
  // A piece of a file, or a link that was not awaited. Those of other realms, as in Jest, are instances of other classes.
  const isPromise = 'then' in value && typeof value.then === 'function';
  const isOther = isPromise || Array.isArray(value) || ArrayBuffer.isView(value);
  return !(isOther || value instanceof URL || value instanceof Date);
}

export function notALink(option: string, value: unknown): InvalidOptionError {
  const isBytes = ArrayBuffer.isView(value);
  const given = Array.isArray(value) ? 'a list' : isBytes ? 'bytes' : show(value);
  return new InvalidOptionError(option, `a link, such as { target_url }, not ${given}`);
}

/** The error of a link or a batch that JSON can't hold, such as one with a BigInt or a getter that throws. */
export function unwritable(option: string, cause: unknown): InvalidOptionError {
  const why = cause instanceof Error ? cause.message : String(cause);
  const error = new InvalidOptionError(option, `data that can be written as JSON: ${why}`);
  return Object.assign(error, { cause });
}

export function show(value: unknown): string {
  return typeof value === 'string' ? JSON.stringify(value) : String(value);
}
