import { setTimeout as sleep } from 'node:timers/promises';
import { CookieJar } from 'tough-cookie';
import { PRIVATE_ADDRESS } from '../agents.ts';

type Failure = 'timeout' | 'tls_error' | 'unreachable' | 'http_error' | 'not_asked';

export type Reply =
  | { status: number; location: string | undefined }
  | { failure: Failure; problem: string; status?: number };

export interface AskSettings {
  /** For short URLs. With `--resolve`, it connects to the server that was named. */
  fetchShort: typeof fetch;
  fetchTarget: typeof fetch;
  /** Whether a short URL may be asked with GET, which may count a click. */
  allowGet?: boolean | undefined;
  timeoutMs: number;
  maxRetries: number;
  /** Undefined is no limit. */
  requestsPerMinute: number | undefined;
  userAgent: string;
  signal: AbortSignal;
}

/** The wait before the first retry. It doubles with each further one. */
const FIRST_WAIT_MS = 500;
/** A longer `Retry-After` is not waited for, nor one more often than this: a server may ask for it again and again. */
const MAX_WAIT_MS = 120_000;
const MAX_WAITS = 10;

const PASSING: readonly number[] = [408, 429, 500, 502, 503, 504];
const REDIRECTS: readonly number[] = [301, 302, 303, 307, 308];
const MAX_REDIRECTS = 20;

interface Chain {
  /** Whether a page isn't asked again after a status. */
  isFinal: (status: number) => boolean;
  /** Some pages redirect until their cookie comes back. */
  cookies: CookieJar;
}

const unreachable = (where: string): Reply => {
  return { failure: 'unreachable', problem: `it redirects ${where}` };
};

const STOPPED: Reply = { failure: 'not_asked', problem: 'the run was stopped before this row' };

/** Sends the requests of one run, never with a header that names the account. */
export class Asker {
  readonly #settings: AskSettings;
  /** When the next request may begin, by `performance.now()`. */
  #nextAt = 0;
  requests = 0;

  constructor(settings: AskSettings) {
    this.#settings = settings;
  }

  /** Its redirect is not followed. */
  async short(url: URL): Promise<Reply> {
    const reply = await this.#ask(url, 'HEAD');
    const { status } = reply;
    if (status !== 405 && status !== 501) return reply;
    if (this.#settings.allowGet) return await this.#ask(url, 'GET');
    const problem = `the server refuses the method HEAD (${status}); --allow-get asks with GET, which may count a click`;
    return { failure: 'http_error', status, problem };
  }

  /** Asks a target, and what it redirects to. Many servers respond to HEAD with a wrong error, so that GET follows. */
  async target(url: URL): Promise<Reply> {
    // A target that is asked too often is there.
    const reply = await this.#follow(url, 'HEAD', (status) => status >= 400);
    const isError = 'location' in reply && reply.status >= 400 && reply.status !== 429;
    return isError ? await this.#follow(url, 'GET', (status) => status === 429) : reply;
  }

  async #follow(target: URL, method: string, isFinal: Chain['isFinal']): Promise<Reply> {
    const chain = { isFinal, cookies: new CookieJar() };
    let url = target;
    for (let redirects = 0; redirects <= MAX_REDIRECTS; redirects += 1) {
      const reply = await this.#ask(url, method, chain);
      if (!('location' in reply) || reply.location === undefined) return reply;
      if (!REDIRECTS.includes(reply.status)) return reply;
      const next = webAddress(reply.location, url);
      if (next === undefined) return unreachable('to an address that is no http or https URL');
      url = next;
    }
    return unreachable(`more than ${MAX_REDIRECTS} times`);
  }

  async #ask(url: URL, method: string, chain?: Chain): Promise<Reply> {
    const { maxRetries, signal, requestsPerMinute = Number.POSITIVE_INFINITY } = this.#settings;
    for (let tries = 0; ; tries += 1) {
      const at = Math.max(this.#nextAt, performance.now());
      this.#nextAt = at + 60_000 / requestsPerMinute;
      await this.#sleep(at - performance.now());
      if (signal.aborted) return STOPPED;
      const { reply, retryAfterMs, isPassing } = await this.#send(url, method, chain?.cookies);
      if (signal.aborted) return STOPPED;
      const waitMs = retryAfterMs ?? FIRST_WAIT_MS * 2 ** tries;
      const most = retryAfterMs === undefined || maxRetries === 0 ? maxRetries : MAX_WAITS;
      const isFinal = reply.status !== undefined && chain?.isFinal(reply.status) === true;
      if (!isPassing || isFinal || tries >= most || waitMs > MAX_WAIT_MS) return reply;
      await this.#sleep(waitMs);
    }
  }

  /** Only requests to targets have `cookies`. */
  async #send(url: URL, method: string, cookies: CookieJar | undefined) {
    const { timeoutMs, userAgent, signal, fetchShort, fetchTarget } = this.#settings;
    const controller = new AbortController();
    const abort = () => controller.abort();
    const timer = setTimeout(abort, timeoutMs);
    signal.addEventListener('abort', abort);
    this.requests += 1;
    try {
      const cookie = await cookies?.getCookieString(url.href);
      const response = await (cookies ? fetchTarget : fetchShort)(withoutUser(url), {
        method,
        redirect: 'manual',
        signal: controller.signal,
        headers: { 'User-Agent': userAgent, Accept: '*/*', ...(cookie && { Cookie: cookie }) },
      });
      const { status, headers } = response;
      for (const text of cookies ? headers.getSetCookie() : []) {
        await cookies?.setCookie(text, url.href, { ignoreError: true });
      }
      // A body may have no end.
      await response.body?.cancel();
      const reply: Reply = { status, location: textOf(headers.get('location')) };
      const retryAfterMs = retryAfter(headers.get('retry-after'));
      return { reply, retryAfterMs, isPassing: PASSING.includes(status) };
    } catch (error) {
      if (!controller.signal.aborted) return failureOf(error);
      const problem = `no response within ${timeoutMs / 1000} s`;
      const reply: Reply = { failure: 'timeout', problem };
      return { reply, retryAfterMs: undefined, isPassing: true };
    } finally {
      clearTimeout(timer);
      signal.removeEventListener('abort', abort);
    }
  }

  /** Ends early once the run was stopped. */
  async #sleep(ms: number): Promise<void> {
    if (ms <= 0) return;
    await sleep(Math.ceil(ms), undefined, { signal: this.#settings.signal }).catch(() => {});
  }
}

/** Undefined for a text that is no address to ask. */
export function webAddress(text: string, base?: URL): URL | undefined {
  const url = URL.parse(text, base?.href);
  return url?.protocol === 'https:' || url?.protocol === 'http:' ? url : undefined;
}

/** `fetch` refuses a URL with a user name, which a browser sends only to a server that asks for it. */
function withoutUser(url: URL): URL {
  return Object.assign(new URL(url), { username: '', password: '' });
}

/** `fetch` shows each byte of a header as a character. Some servers send UTF-8. */
function textOf(header: string | null): string | undefined {
  return header === null ? undefined : Buffer.from(header, 'latin1').toString();
}

/** Undefined also for no wait at all: then the usual ones are made. `Date.parse` takes nearly anything for a date, such as `-1`. */
function retryAfter(header: string | null): number | undefined {
  const dateMs = header?.endsWith(' GMT') ? Date.parse(header) - Date.now() : Number.NaN;
  const ms = /^[\d.]+$/.test(header ?? '') ? Number(header) * 1000 : dateMs;
  return ms > 0 ? ms : undefined;
}

const TLS_ERROR = /^(?:CERT_|ERR_TLS_|ERR_SSL_|EPROTO|DEPTH_ZERO|SELF_SIGNED|UNABLE_TO_)/;

const LASTING = ['ENOTFOUND', PRIVATE_ADDRESS];

const WORDS: Readonly<Record<string, string>> = {
  ENOTFOUND: 'the host is not known',
  EAI_AGAIN: 'the name server does not respond',
  ECONNREFUSED: 'the connection was refused',
  ECONNRESET: 'the connection was closed',
  UND_ERR_SOCKET: 'the connection was closed',
  UND_ERR_CONNECT_TIMEOUT: 'no connection in time',
  [PRIVATE_ADDRESS]: 'it leads to a private address, which is not asked without --allow-private',
};

/** The cause has the code of the operating system, of TLS or of undici. */
function failureOf(error: unknown) {
  const cause = error instanceof Error && error.cause instanceof Error ? error.cause : error;
  // OpenSSL tells the place in its source, between colons.
  const message = String(cause instanceof Error ? cause.message : cause)
    .replace(/^.*:SSL routines:[^:]*:([^:]*):.*$/s, '$1')
    .trim();
  const code = cause instanceof Error && 'code' in cause ? String(cause.code) : '';
  const problem = (WORDS[code || message] ?? message) + (code && ` (${code})`);
  const isTls = TLS_ERROR.test(code);
  const reply: Reply = { failure: isTls ? 'tls_error' : 'unreachable', problem };
  return { reply, retryAfterMs: undefined, isPassing: !isTls && !LASTING.includes(code) };
}
