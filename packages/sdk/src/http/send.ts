import ky from 'ky';
import { ConnectionError } from '../errors/connection-error.ts';
import { HEADERS } from '../wire/headers.ts';
import { innermostMessage, scrubCause } from './causes.ts';
import { isNeverSent } from './not-sent.ts';
import { onceOnlyBody } from './once-only-body.ts';
import type { Redact } from './redact.ts';

/** One attempt, ready to be written. */
export interface Attempt {
  method: 'GET' | 'POST';
  url: string;
  headers: Readonly<Record<string, string>>;
  /** JSON text; undefined for GET. */
  body: string | undefined;
  /** undefined is the runtime's own. */
  fetch: typeof globalThis.fetch | undefined;
  redact: Redact;
}

/** An answer of whatever status, its body read to the end. */
export interface Answer {
  /** 0 where a browser hides the status of a redirect. */
  status: number;
  headers: Headers;
  /** `X-Request-Id`, without the API key if a service should put it there. */
  requestId: string | undefined;
  text: string;
}

/**
 * Sends one request once and reads the answer.
 *
 * Of ky's own features everything that repeats, throws or waits is off. Its retry would send a POST again after a lost
 * connection, and its errors carry the `Request`, API key included, so none of them leaves this function.
 *
 * @throws ConnectionError when there is no whole answer
 */
export async function send(attempt: Attempt, signal: AbortSignal): Promise<Answer> {
  const { method, url, headers, body, redact } = attempt;
  let started = false;
  try {
    const response = await ky(url, {
      method,
      headers,
      ...(body !== undefined && { body }),
      retry: 0,
      timeout: false,
      throwHttpErrors: false,
      // Following would hand the API key to wherever the answer points: only standard headers are dropped on the way.
      redirect: 'manual',
      // The signal goes past ky, which would combine it with one of its own: AbortSignal.any, for nothing.
      fetch: (input, init) => {
        started = true;
        const fetch = attempt.fetch ?? globalThis.fetch;
        const onceOnly = body === undefined ? undefined : onceOnlyBody(body);
        return fetch(input, { ...init, signal, ...(onceOnly && { body: onceOnly }) });
      },
    });
    const { status, headers: answered } = response;
    const requestId = redact(answered.get(HEADERS.requestId) ?? '') || undefined;
    return { status, headers: answered, requestId, text: await readText(response) };
  } catch (error) {
    signal.throwIfAborted();
    const outcome = !started || isNeverSent(error) ? 'not-sent' : 'unknown';
    const origin = new URL(url).origin;
    const reason = redact(innermostMessage(error)) || 'no reason given';
    const message =
      outcome === 'not-sent'
        ? `No connection to ${origin}: ${reason}`
        : `Connection to ${origin} lost: ${reason}; the request may have been carried out`;
    throw new ConnectionError(message, { outcome, cause: scrubCause(error, redact) });
  }
}

/** The status of a refusal says enough: when only its body is lost, the answer still counts. */
async function readText(response: Response): Promise<string> {
  if (response.ok) return response.text();
  return response.text().catch(() => '');
}
