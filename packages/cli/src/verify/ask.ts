import { setTimeout as sleep } from 'node:timers/promises';
import { isPrivateHost, leadsInside, PRIVATE_ADDRESS } from '../agents.ts';

/** Response to a request, or why there was none that counts. */
export type Reply =
  | { status: number; location: string | undefined }
  | {
      failure: 'timeout' | 'tls_error' | 'unreachable' | 'http_error' | 'not_asked';
      problem: string;
      status?: number;
    };

type Fetch = typeof globalThis.fetch;

export interface AskSettings {
  /** For short URLs. With `--resolve`, it connects to the server that was named. */
  fetch: Fetch;
  /** For targets that a row names. */
  fetchTarget: Fetch;
  /** For addresses that a target redirects to: it refuses names that lead to private addresses. */
  fetchRedirected: Fetch;
  /** Whether a short URL may be asked with GET, which may count a click, where its server refuses HEAD. */
  allowGet: boolean;
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
  /** Servers of short URLs that have responded to HEAD. */
  readonly #heads = new Set<string>();
  /** When the next request may begin, on the clock of `performance.now()`; and at a server that asked for a wait, by its origin. */
  #nextAt = 0;
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
  async short(url: URL): Promise<Reply> {
    const { fetch, allowGet } = this.#settings;
    const reply = await this.#ask(url, 'HEAD', fetch);
    if ('failure' in reply) return reply;
    const { status } = reply;
    if (status !== 405 && status !== 501) {
      this.#heads.add(url.origin);
      return reply;
    }
    if (allowGet && !this.#heads.has(url.origin)) return await this.#ask(url, 'GET', fetch);
    const hint = allowGet ? '' : '; --allow-get asks with GET, which may count a click';
    return {
      failure: 'http_error',
      status,
      problem: `the server refuses the method HEAD (${status})${hint}`,
    };
  }

  /**
   * Asks a target, and what it redirects to. Many servers respond to HEAD with a wrong error, so an error is asked for again with GET.
   * Whoever answers at the target chooses where it redirects to: a private address is asked only where the target has one too.
   */
  async target(url: URL): Promise<Reply> {
    const { fetchTarget, fetchRedirected } = this.#settings;
    let at = url;
    let isInside: boolean | undefined;
    for (let redirects = 0; redirects <= MAX_REDIRECTS; redirects += 1) {
      // Who is asked too often is there: that is all there is to know about a target.
      const fetch = isInside === false ? fetchRedirected : fetchTarget;
      let reply = await this.#ask(at, 'HEAD', fetch, (status) => status >= 400);
      if ('status' in reply && reply.status >= 400 && reply.status !== 429) {
        reply = await this.#ask(at, 'GET', fetch, (status) => status === 429);
      }
      if ('failure' in reply || reply.status < 300 || reply.status >= 400) return reply;
      if (reply.location === undefined) return reply;
      const next = webAddress(reply.location, at.href);
      if (next === undefined) {
        return { failure: 'unreachable', problem: `it redirects to ${reply.location}` };
      }
      isInside ??= await leadsInside(url.hostname);
      if (!isInside && isPrivateHost(next.hostname)) return refused(next);
      at = next;
    }
    return { failure: 'unreachable', problem: `it redirects more than ${MAX_REDIRECTS} times` };
  }

  /** @param isFinal - tells a status after which it isn't asked again */
  async #ask(
    url: URL,
    method: string,
    fetch: Fetch,
    isFinal = (_status: number) => false,
  ): Promise<Reply> {
    const { maxRetries, signal } = this.#settings;
    for (let tries = 0; ; tries += 1) {
      if (!(await this.#turn(url.origin))) return STOPPED;
      const { reply, retryAfterMs, isPassing } = await this.#send(url, method, fetch);
      if (signal.aborted) return STOPPED;
      const waitMs = retryAfterMs ?? FIRST_WAIT_MS * 2 ** tries;
      const most = retryAfterMs === undefined || maxRetries === 0 ? maxRetries : MAX_WAITS;
      const isEnd = reply.status !== undefined && isFinal(reply.status);
      if (!isPassing || isEnd || tries >= most || waitMs > MAX_WAIT_MS) return reply;
      // A wait that a server asks for holds back all requests to it, and none to others.
      if (retryAfterMs !== undefined) {
        const until = Math.max(this.#heldUntil.get(url.origin) ?? 0, now() + waitMs);
        this.#heldUntil.set(url.origin, until);
      } else await this.#sleepUntil(now() + waitMs);
    }
  }

  async #send(url: URL, method: string, fetch: Fetch) {
    const { timeoutMs, userAgent } = this.#settings;
    const controller = new AbortController();
    const timer = setTimeout(() => controller.abort(), timeoutMs);
    this.#running.add(controller);
    this.requests += 1;
    try {
      const response = await fetch(withoutUser(url), {
        method,
        redirect: 'manual',
        signal: controller.signal,
        headers: { 'User-Agent': userAgent, Accept: '*/*' },
      });
      const { status, headers } = response;
      // Only the status and a header are wanted: a body may have no end.
      await response.body?.cancel();
      const reply: Reply = { status, location: textOf(headers.get('location')) };
      const retryAfterMs = retryAfter(headers.get('retry-after'));
      return { reply, retryAfterMs, isPassing: PASSING.includes(status) };
    } catch (error) {
      const problem = `no response within ${timeoutMs / 1000} s`;
      const reply: Reply = controller.signal.aborted
        ? { failure: 'timeout', problem }
        : failureOf(error, url);
      const isPassing = reply.failure !== 'tls_error' && !LASTING.test(reply.problem);
      return { reply, retryAfterMs: undefined, isPassing };
    } finally {
      clearTimeout(timer);
      this.#running.delete(controller);
    }
  }

  /** Waits until a request may begin. `false` once the run was stopped. */
  async #turn(origin: string): Promise<boolean> {
    const { requestsPerMinute = Number.POSITIVE_INFINITY, signal } = this.#settings;
    const at = () => Math.max(this.#nextAt, this.#heldUntil.get(origin) ?? 0);
    while (at() > now() && !signal.aborted) await this.#sleepUntil(at());
    this.#nextAt = Math.max(this.#nextAt, now()) + 60_000 / requestsPerMinute;
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
  return Object.assign(new URL(url), { username: '', password: '' });
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
/** Found in the problem of a failure that is the same in a moment. */
const LASTING = /ENOTFOUND|private address/;

const WORDS: Readonly<Record<string, string>> = {
  ENOTFOUND: 'the host is not known',
  EAI_AGAIN: 'the name server does not respond',
  ECONNREFUSED: 'the connection was refused',
  ECONNRESET: 'the connection was closed',
  UND_ERR_SOCKET: 'the connection was closed',
  UND_ERR_CONNECT_TIMEOUT: 'no connection in time',
};

/** What `fetch` throws is a TypeError whose cause has the code of the operating system, of TLS or of undici. */
function failureOf(error: unknown, url: URL) {
  const cause = error instanceof Error && error.cause instanceof Error ? error.cause : error;
  const code = cause instanceof Error && 'code' in cause ? String(cause.code) : '';
  if (code === PRIVATE_ADDRESS) return refused(url);
  const words = WORDS[code] ?? (cause instanceof Error ? cause.message : String(cause));
  const problem = code === '' ? words : `${words} (${code})`;
  return { failure: TLS_ERROR.test(code) ? 'tls_error' : 'unreachable', problem } as const;
}

function refused({ href }: URL) {
  const problem = `it redirects to ${href}, a private address, which is not asked`;
  return { failure: 'unreachable', problem } as const;
}
