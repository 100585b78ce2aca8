import ky from 'ky';
import { TimeoutError } from '../errors/call-errors.ts';
import type { ClientSettings, Fetch, FetchInit, FetchResponse } from '../options.ts';
import { HEADERS } from '../wire/routes.ts';
import { connectionError, type Redact } from './failure.ts';
import type { ApiResponse, TransportRequest } from './request.ts';
import { within } from './time.ts';

/** Largest body that is read of a response that is not 2xx: the reason of an error needs no more. */
const MAX_ERROR_BYTES = 1_048_576;

/** One attempt, ready to be written. */
export interface Attempt
  extends Pick<TransportRequest<unknown>, 'method' | 'body'>,
    Pick<ClientSettings, 'fetch' | 'fetchOptions' | 'headers' | 'maxResponseBytes' | 'timeoutMs'> {
  url: string;
  redact: Redact;
}

/** A response of whatever status, 0 where a browser hides that of a redirect. Its body is read to the end or to its bound. */
export interface RawResponse extends Omit<ApiResponse<unknown>, 'data'> {
  /** Cut where `isTooLarge`. */
  text: string;
  isTooLarge: boolean;
}

/** Sends one request once and reads the response, within its time. @throws TimeoutError, ConnectionError */
export async function send(attempt: Attempt, signal: AbortSignal): Promise<RawResponse> {
  // A large body is given the time to be sent. 0 is no limit.
  const timeoutMs = attempt.timeoutMs && attempt.timeoutMs + 1_000 * secondsToSend(attempt.body);
  const message = `No complete response within ${timeoutMs} ms`;
  const timeoutError = () => new TimeoutError(message, { outcome: 'unknown', timeoutMs });
  const limit = { signal, timeoutMs, timeoutError };
  const seen: { head?: RawResponse } = {};
  try {
    return await within(limit, (signal) => exchange(attempt, signal, seen));
  } catch (error) {
    // The status of an error counts also when its body is late or lost.
    const { head } = seen;
    if (!head || signal.aborted || (head.status > 199 && head.status < 300)) throw error;
    return head;
  }
}

/**
 * ky makes this one attempt; what that never needs is left out of the build, see tsup.config.ts. Its retry would send a POST
 * again after a lost connection. Its errors carry the `Request`, API key included, so none of them leaves this function. It
 * gets no headers and no body: of them it makes a `Request`, which not every `fetch` takes.
 *
 * @throws ConnectionError when there is no whole response
 */
async function exchange(
  attempt: Attempt,
  signal: AbortSignal,
  seen: { head?: RawResponse },
): Promise<RawResponse> {
  const { method, url, redact } = attempt;
  const init = initOf(attempt, signal);
  let hasStarted = false;
  const callFetch = async () => {
    const fetch: Fetch = attempt.fetch ?? globalThis.fetch;
    const response = fetch(url, init);
    hasStarted = true;
    return Object(await response);
  };
  try {
    const response: FetchResponse = await ky(url, {
      method,
      retry: 0,
      timeout: false,
      throwHttpErrors: false,
      // ky returns any object unchanged, so the caller's own `fetch` need not return a complete `Response`.
      fetch: callFetch,
    });
    const { status } = response;
    const headers = new Headers();
    for (const [name, value] of response.headers) headers.append(name, redact(value));
    const requestId = headers.get(HEADERS.requestId) || undefined;
    const head = { status, headers, requestId, text: '', isTooLarge: false };
    seen.head = head;
    return { ...head, ...(await readBody(response, attempt, signal)) };
  } catch (error) {
    signal.throwIfAborted();
    const isRefused = !hasStarted || isRefusedByRequest(error, url, init);
    throw connectionError(error, { url, isRefused, redact });
  }
}

/** Whether `fetch` failed with the words in which `Request` refuses these options: then it has sent nothing. */
function isRefusedByRequest(thrown: unknown, url: string, init: FetchInit): boolean {
  try {
    new Request(url, init);
    return false;
  } catch (error) {
    // By its words: in Jest, the errors of `fetch` are of another realm.
    const [failure, refusal] = [Object(thrown), Object(error)];
    return failure.name === refusal.name && failure.message === refusal.message;
  }
}

function initOf({ method, headers, body, fetchOptions }: Attempt, signal: AbortSignal): FetchInit {
  const init: FetchInit = {
    ...fetchOptions,
    method,
    headers: { ...headers },
    ...(body !== undefined && { body }),
    signal,
    // A redirect would send the API key to another host: only standard headers are removed on the way.
    redirect: 'manual',
  };
  // Deno sends a request, POSTs too, a second time where a reused connection was lost (denoland/deno#36415), except what it
  // can't read twice, such as a Blob. Chromium does the same with any body: there only an idempotency key helps.
  const isRepeated = 'Deno' in globalThis && body !== undefined;
  return isRepeated ? Object.assign(init, { body: new Blob([body]) }) : init;
}

/** What a slow uplink sends. */
const BYTES_PER_SECOND = 65_536;

/** UTF-8 takes at most so many for a UTF-16 code unit. */
const MAX_BYTES_PER_UNIT = 3;

/** Whole seconds that a text takes on a slow uplink. Counted in pieces, since a megabyte of memory takes longer than the counting. */
function secondsToSend(text = ''): number {
  const encoder = new TextEncoder();
  const piece = new Uint8Array(Math.min(text.length * MAX_BYTES_PER_UNIT, BYTES_PER_SECOND));
  let bytes = 0;
  for (let at = 0; at < text.length; ) {
    const { read, written } = encoder.encodeInto(text.slice(at, at + BYTES_PER_SECOND), piece);
    at += read;
    bytes += written;
  }
  return Math.floor(bytes / BYTES_PER_SECOND);
}

/**
 * Reads a body up to its bound, counted after decompression: a few bytes of gzip may unpack to gigabytes. The status of an
 * error counts also when its body is lost. In workerd the body is not read in pieces: workerd bounds memory itself, and would
 * report a lost body as an unhandled rejection, although every promise here is handled.
 */
async function readBody(
  response: FetchResponse,
  { maxResponseBytes }: Attempt,
  signal: AbortSignal,
): Promise<{ text: string; isTooLarge: boolean }> {
  // What another library's `fetch` returns may not be readable in pieces.
  const body: Partial<ReadableStream<Uint8Array>> | null = response.body;
  const isWorkerd = globalThis.navigator?.userAgent === WORKERD;
  const reader = isWorkerd ? undefined : body?.getReader?.();
  if (reader === undefined) return { text: String(await response.text()), isTooLarge: false };
  // This releases the connection. It may reject when the body is lost already.
  const cancel = () => void reader.cancel().catch(() => undefined);
  const maxBytes = response.ok ? maxResponseBytes : Math.min(maxResponseBytes, MAX_ERROR_BYTES);
  const decoder = new TextDecoder();
  let text = '';
  let bytes = 0;
  try {
    for (;;) {
      const { done, value } = await reader.read();
      if (done || value === undefined) break;
      signal.throwIfAborted();
      bytes += value.byteLength;
      if (bytes > maxBytes) {
        cancel();
        return { text, isTooLarge: true };
      }
      text += decoder.decode(value, { stream: true });
    }
  } catch (error) {
    cancel();
    if (response.ok) throw error;
  }
  return { text: text + decoder.decode(), isTooLarge: false };
}

/** 32 random digits. `randomUUID` would do, but browsers offer it on https and localhost pages only. */
export function randomHex(): string {
  const bytes = crypto.getRandomValues(new Uint8Array(16));
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, '0')).join('');
}

/** Version of this package; a test compares it with package.json. */
export const VERSION = '0.1.0';

/** The user agent of workerd, the runtime of Cloudflare's workers. */
const WORKERD = 'Cloudflare-Workers';

/** What a global scope may have that tells which runtime it is. */
interface Scope {
  document?: unknown;
  navigator?: { userAgent?: string };
  Deno?: { version?: { deno?: string } };
  process?: { versions?: { bun?: string; node?: string } };
}

/** Value of `User-Agent`. Undefined in browsers, where setting it makes a request to another origin fail. */
export function userAgent(scope: Scope = globalThis): string | undefined {
  const { bun, node } = scope.process?.versions ?? {};
  const client = `shortlink-sdk/${VERSION}`;
  if (scope.document) return undefined;
  if (scope.Deno) return `${client} deno/${scope.Deno.version?.deno}`;
  if (bun) return `${client} bun/${bun}`;
  if (scope.navigator?.userAgent === WORKERD) return `${client} workerd`;
  return node && `${client} node/${node}`;
}
