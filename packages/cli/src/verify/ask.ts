import { setTimeout as sleep } from 'node:timers/promises';

/** Response to a request, or why there was none. */
export type Reply =
  | { status: number; location: string | undefined }
  | { failure: 'timeout' | 'tls_error' | 'unreachable' | 'not_asked'; problem: string };

export interface AskSettings {
  /** For short URLs. With `--resolve`, it connects to the server that was named. */
  fetch: typeof globalThis.fetch;
  /** For targets. */
  fetchTarget: typeof globalThis.fetch;
  /** Longest time of one request, in milliseconds. */
  timeoutMs: number;
  /** How often a request that failed is sent again. */
  maxRetries: number;
  /** Requests that begin in a minute at most; undefined is no limit. */
  requestsPerMinute: number | undefined;
  userAgent: string;
  /** Ends everything: requests in flight too. */
  signal: AbortSignal;
}

/** Redirects of a target that are followed. */
const MAX_REDIRECTS = 10;
/** The wait before the first retry, which doubles with each further one. */
const FIRST_WAIT_MS = 500;
/** A `Retry-After` that is longer is not waited for, nor one more often than this: a server may ask for it again and again. */
const MAX_WAIT_MS = 120_000;
const MAX_WAITS = 10;

/** Statuses that may be another one in a moment. */
const PASSING: readonly number[] = [408, 429, 500, 502, 503, 504];
const STOPPED: Reply = { failure: 'not_asked', problem: 'the run was stopped before this row' };

/** Sends the requests of one run: in its pace, with its retries, and never with a header that names the account. */
export class Asker {
  readonly #settings: AskSettings;
  readonly #running = new Set<AbortController>();
  /** When the next request may begin, on the clock of `performance.now()`. */
  #nextAt = 0;
  /** When it may begin at a server that asked for a wait, by origin, on the same clock. */
  readonly #heldUntil = new Map<string, number>();
  /** Requests that were sent. */
  requests = 0;

  constructor(settings: AskSettings) {
    this.#settings = settings;
    settings.signal.addEventListener('abort', () => {
      for (const controller of this.#running) controller.abort();
    });
  }

  /** Asks a short URL. Its redirect is not followed. */
  short(url: URL): Promise<Reply> {
    return this.#ask(url, this.#settings.fetch, (status) => status === 405 || status === 501);
  }

  /** Asks a target, and what it redirects to. Many servers respond to HEAD with a wrong error, so an error is asked for again with GET. */
  async target(url: URL): Promise<Reply> {
    let at = url;
    for (let redirects = 0; redirects <= MAX_REDIRECTS; redirects += 1) {
      // Who is asked too often is there: that is all there is to know about a target.
      const reply = await this.#ask(at, this.#settings.fetchTarget, (status) => status >= 400, 429);
      if ('failure' in reply || reply.status < 300 || reply.status >= 400) return reply;
      if (reply.location === undefined) return reply;
      const next = webAddress(reply.location, at.href);
      if (next === undefined) {
        return { failure: 'unreachable', problem: `it redirects to ${reply.location}` };
      }
      at = next;
    }
    return { failure: 'unreachable', problem: `it redirects more than ${MAX_REDIRECTS} times` };
  }

  async #ask(
    url: URL,
    fetch: typeof globalThis.fetch,
    wantsGet: (status: number) => boolean,
    finalStatus?: number,
  ): Promise<Reply> {
    let method = 'HEAD';
    for (let tries = 0; ; ) {
      if (!(await this.#turn(url.origin))) return STOPPED;
      const { reply, retryAfterMs, isPassing } = await this.#send(url, method, fetch);
      if (this.#settings.signal.aborted) return STOPPED;
      const status = 'status' in reply ? reply.status : 0;
      if (method === 'HEAD' && status !== 429 && wantsGet(status)) {
        method = 'GET';
        continue;
      }
      const waitMs = retryAfterMs ?? FIRST_WAIT_MS * 2 ** tries;
      const { maxRetries } = this.#settings;
      const most = retryAfterMs === undefined || maxRetries === 0 ? maxRetries : MAX_WAITS;
      if (!isPassing || status === finalStatus || tries >= most || waitMs > MAX_WAIT_MS)
        return reply;
      tries += 1;
      // A wait that a server asks for holds back all requests to it, and none to others.
      if (retryAfterMs !== undefined) {
        const until = Math.max(this.#heldUntil.get(url.origin) ?? 0, now() + waitMs);
        this.#heldUntil.set(url.origin, until);
      } else await this.#sleepUntil(now() + waitMs);
    }
  }

  async #send(url: URL, method: string, fetch: typeof globalThis.fetch) {
    const controller = new AbortController();
    const timer = setTimeout(() => controller.abort(), this.#settings.timeoutMs);
    this.#running.add(controller);
    this.requests += 1;
    try {
      const response = await fetch(withoutUser(url), {
        method,
        redirect: 'manual',
        signal: controller.signal,
        headers: { 'User-Agent': this.#settings.userAgent, Accept: '*/*' },
      });
      const { status, headers } = response;
      // Only the status and a header are wanted: a body may have no end.
      await response.body?.cancel();
      const reply: Reply = { status, location: textOf(headers.get('location')) };
      const retryAfterMs = retryAfter(headers.get('retry-after'));
      return { reply, retryAfterMs, isPassing: PASSING.includes(status) };
    } catch (error) {
      const seconds = this.#settings.timeoutMs / 1000;
      const timeout = { failure: 'timeout', problem: `no response within ${seconds} s` } as const;
      const reply = controller.signal.aborted ? timeout : describeFailure(error);
      const isPassing = reply.failure !== 'tls_error' && !/ENOTFOUND/.test(reply.problem);
      return { reply, retryAfterMs: undefined, isPassing };
    } finally {
      clearTimeout(timer);
      this.#running.delete(controller);
    }
  }

  /** Waits until a request may begin. `false` once the run was stopped. */
  async #turn(origin: string): Promise<boolean> {
    const { requestsPerMinute, signal } = this.#settings;
    const at = () => Math.max(this.#nextAt, this.#heldUntil.get(origin) ?? 0);
    while (at() > now() && !signal.aborted) await this.#sleepUntil(at());
    const gapMs = requestsPerMinute === undefined ? 0 : 60_000 / requestsPerMinute;
    this.#nextAt = Math.max(this.#nextAt, now()) + gapMs;
    return !signal.aborted;
  }

  /** Ends early, without an error, once the run was stopped. */
  async #sleepUntil(at: number): Promise<void> {
    const { signal } = this.#settings;
    await sleep(Math.ceil(at - now()), undefined, { signal }).catch(() => {});
  }
}

const now = () => performance.now();

/** An address that can be asked; undefined for any other text. */
export function webAddress(text: string, base?: string): URL | undefined {
  const url = URL.parse(text, base);
  return url?.protocol === 'https:' || url?.protocol === 'http:' ? url : undefined;
}

/** `fetch` refuses a URL with a user name. A browser sends it only to a server that asks for it. */
function withoutUser(url: URL): URL {
  if (url.username === '' && url.password === '') return url;
  const plain = new URL(url);
  plain.username = '';
  plain.password = '';
  return plain;
}

/** Headers are bytes, and `fetch` shows each as a character. Some servers send UTF-8 that is not percent-encoded. */
function textOf(header: string | null): string | undefined {
  return header === null ? undefined : Buffer.from(header, 'latin1').toString();
}

/** Seconds, or a date. */
function retryAfter(header: string | null): number | undefined {
  if (header === null) return undefined;
  const ms = /^\d+$/.test(header) ? Number(header) * 1000 : Date.parse(header) - Date.now();
  return Number.isNaN(ms) ? undefined : Math.max(0, ms);
}

const TLS_ERROR = /^(?:CERT_|ERR_TLS_|ERR_SSL_|EPROTO|DEPTH_ZERO|SELF_SIGNED|UNABLE_TO_)/;

const WORDS: Readonly<Record<string, string>> = {
  ENOTFOUND: 'the host is not known',
  EAI_AGAIN: 'the name server does not respond',
  ECONNREFUSED: 'the connection was refused',
  ECONNRESET: 'the connection was closed',
  UND_ERR_SOCKET: 'the connection was closed',
  UND_ERR_CONNECT_TIMEOUT: 'no connection in time',
};

/** What `fetch` throws is a TypeError whose cause has the code of the operating system, of TLS or of undici. */
function describeFailure(error: unknown) {
  const cause = error instanceof Error && error.cause instanceof Error ? error.cause : error;
  const code = cause instanceof Error && 'code' in cause ? String(cause.code) : '';
  const message = cause instanceof Error ? cause.message : String(cause);
  const words = WORDS[code] ?? message;
  const problem = code === '' ? words : `${words} (${code})`;
  return { failure: TLS_ERROR.test(code) ? 'tls_error' : 'unreachable', problem } as const;
}
