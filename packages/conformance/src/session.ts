import { type Exchange, Fails, fieldsOf, isObject, NotShown } from './statement.ts';

/** How a run meets the service. */
export interface SessionOptions {
  /** Address of the service, with or without `/api/v1`. */
  baseUrl: string;
  /** A key that may create links. */
  apiKey: string;
  /** The account's plan, where the service has no `/api/v1/usage` to ask. */
  plan?: PlanName | undefined;
  /** Requests to send at most. @default 90 on Community, else 300 */
  budgetRequests?: number | undefined;
  /** Links to create at most; they stay in the account. @default 15 on Community, else 220 */
  budgetLinks?: number | undefined;
  /** A key without `shortlinks:write`, to see that it is refused. */
  readKey?: string | undefined;
  /** Custom domains of the account: one to see that it is used, two to see that one overrides the other. */
  domainIds?: readonly string[] | undefined;
  /** Longest wait that a 429 may ask for, in milliseconds. @default 90_000 */
  maxWaitMs?: number | undefined;
  /** Time limit of a request, in milliseconds. @default 30_000 */
  timeoutMs?: number | undefined;
  /** @default the runtime's own */
  fetch?: ((url: string, init: RequestInit) => Promise<Response>) | undefined;
  /** Waits. A test moves the service's clock instead. */
  sleep?: ((ms: number) => Promise<void>) | undefined;
}

/** What each plan allows, as the protocol lists it. */
export const PLANS = {
  community: { minute: 15, day: 100, month: 2_000, links: 15, keys: 1, batch: 100 },
  pro: { minute: 60, day: 10_000, month: 200_000, links: 1_000, keys: 3, batch: 100 },
  avance: { minute: 120, day: 50_000, month: 1_000_000, links: 6_000, keys: 10, batch: 5_000 },
} as const;

export type PlanName = 'community' | 'pro' | 'avance' | 'custom';
export const PLAN_NAMES: readonly PlanName[] = ['community', 'pro', 'avance', 'custom'];

export const isPlanName = (plan: unknown): plan is PlanName =>
  PLAN_NAMES.some((name) => name === plan);

/** What a request is beside its method and path. */
interface RequestOptions {
  /** Sent as JSON. */
  body?: unknown;
  /** Sent as it is, in place of `body`. */
  text?: string;
  /** `null` sends none. @default the key of the session */
  key?: string | null;
  headers?: Record<string, string>;
  /** Links that the request creates if it succeeds. @default 0 */
  links?: number;
  /** Waits and sends again after a 429. @default true */
  isPaced?: boolean;
}

/** A 429, and what the same request got after the wait that it asked for: nothing if that was too long. */
export interface Refusal {
  refused: Exchange;
  /** Requests that passed since the refusal before this one, or since the start of the run. */
  passed: number;
  after?: Exchange;
}

/** How often a request is sent that is refused with 429 each time. */
export const MAX_ATTEMPTS = 3;

/** Longest body of a response that is read: a run keeps all of them. */
const MAX_BODY_MIB = 4;

const OK = (status: number) => status >= 200 && status < 300;
const defaultSleep = (ms: number) => new Promise<void>((resolve) => setTimeout(resolve, ms));

/** One run against one service: sends, waits where the service asks for it, counts, and remembers what it saw. */
export class Session {
  readonly options: SessionOptions;
  readonly sleep: (ms: number) => Promise<void>;
  /** Every exchange so far, in order. */
  readonly exchanges: Exchange[] = [];
  readonly refusals: Refusal[] = [];
  /** Tells the targets of this run from those of others. */
  readonly runId = crypto.randomUUID().slice(0, 8);
  requestsSent = 0;
  linksCreated = 0;
  /** Links of requests without a response, or whose response is a fault of the service: they may exist. */
  #linksInDoubt = 0;
  #passedSinceRefusal = 0;
  /** Requests that additions leave to the statements of the protocol. */
  reservedRequests = 0;
  plan: PlanName | undefined;
  /** What `GET /api/v1/usage` said at the start, if the service has it. */
  usage: Exchange | undefined;
  #known = new Map<string, unknown>();

  constructor(options: SessionOptions) {
    this.options = { ...options, baseUrl: options.baseUrl.replace(/\/+$|\/api\/v1\/*$/g, '') };
    this.sleep = options.sleep ?? defaultSleep;
    this.plan = options.plan;
  }

  get requestsLeft(): number {
    const { budgetRequests = this.plan === 'community' ? 90 : 300 } = this.options;
    return budgetRequests - this.requestsSent;
  }

  get linksLeft(): number {
    const { budgetLinks = this.plan === 'community' ? 15 : 220 } = this.options;
    return budgetLinks - this.linksCreated - this.#linksInDoubt;
  }

  /** Limits of the plan, `undefined` for Custom and for an unknown plan. */
  get limits() {
    return this.plan === undefined || this.plan === 'custom' ? undefined : PLANS[this.plan];
  }

  /** What the service says that it has beyond the protocol. */
  get features(): unknown[] {
    const features = this.usage && fieldsOf(this.usage)['features'];
    return Array.isArray(features) ? features : [];
  }

  /** Looks whether the key is accepted and what the service says about its account. */
  async begin(): Promise<void> {
    const usage = await this.send('GET', '/api/v1/usage');
    // A service without it may show a page there.
    if (usage.response.status === 200 && Object.keys(fieldsOf(usage)).length > 0) {
      this.usage = usage;
      const { plan } = fieldsOf(usage);
      if (isPlanName(plan)) this.plan ??= plan;
    }
  }

  /** A number in the usage, such as `links.used`; `undefined` where the service doesn't say it. */
  usageNumber(...path: string[]): number | undefined {
    let value: unknown = this.usage && fieldsOf(this.usage);
    for (const name of path) value = isObject(value) ? value[name] : undefined;
    return typeof value === 'number' ? value : undefined;
  }

  /** A target that nothing else of the account has. */
  target(name: string | number): string {
    return `https://example.com/conformance/${this.runId}/${name}`;
  }

  /** Sends a request once however many statements need it. Its failure is theirs too. */
  once<T extends Exchange | Exchange[]>(name: string, send: () => Promise<T>): Promise<T> {
    // Each name belongs to one `send`.
    const known = (this.#known.get(name) as Promise<T> | undefined) ?? send();
    this.#known.set(name, known);
    return known;
  }

  /** Sends a request. After a 429 it waits as long as the response says, and sends it again. */
  async send(method: string, path: string, options: RequestOptions = {}): Promise<Exchange> {
    const { links = 0, isPaced = true } = options;
    if (links > 0 && links > this.linksLeft) {
      throw new NotShown(`needs ${links} links more: --budget-links`);
    }
    let refusal: Refusal | undefined;
    for (let attempt = 1; ; attempt++) {
      const exchange = await this.#exchange(method, path, options);
      if (refusal !== undefined) refusal.after = exchange;
      // A request without a valid key counts in no limit of the account.
      const isCounted = exchange.response.status !== 429 && exchange.response.status !== 401;
      if (isCounted) this.#passedSinceRefusal += 1;
      if (OK(exchange.response.status)) this.linksCreated += links;
      else if (exchange.response.status >= 500) this.#linksInDoubt += links;
      if (exchange.response.status !== 429 || !isPaced) return exchange;
      refusal = { refused: exchange, passed: this.#passedSinceRefusal };
      this.#passedSinceRefusal = 0;
      this.refusals.push(refusal);
      if (attempt === MAX_ATTEMPTS) {
        throw new NotShown(`the request is refused with 429, ${attempt} times in a row`, [
          exchange,
        ]);
      }
      await this.#waitFor(exchange, attempt);
    }
  }

  async #waitFor(refused: Exchange, attempt: number): Promise<void> {
    const { maxWaitMs = 90_000 } = this.options;
    const header = refused.response.headers['retry-after'] ?? '';
    const statedMs = /^\d+$/.test(header) ? Number(header) * 1_000 : 60_000;
    // A request that is refused after the wait that it was given is sent again after a whole minute.
    const waitMs = attempt === 1 ? statedMs : Math.max(statedMs, 60_000);
    if (waitMs > maxWaitMs) {
      throw new NotShown(`needs a wait of ${waitMs / 1_000} s: --max-wait`, [refused]);
    }
    await this.sleep(waitMs);
  }

  async #exchange(method: string, path: string, options: RequestOptions): Promise<Exchange> {
    if (this.requestsLeft <= this.reservedRequests)
      throw new NotShown('needs more requests: --budget-requests');
    this.requestsSent += 1;
    const { baseUrl, apiKey, timeoutMs = 30_000, fetch = globalThis.fetch } = this.options;
    const {
      key = apiKey,
      body,
      text = body === undefined ? undefined : JSON.stringify(body),
    } = options;
    const json = text === undefined ? {} : { 'Content-Type': 'application/json' };
    const headers: Record<string, string> = { ...json, ...options.headers };
    const request = { method, path, headers: { ...headers }, body: text ?? '' };
    if (key !== null) {
      headers['X-Api-Key'] = key;
      request.headers['X-Api-Key'] = key === apiKey ? '<API_KEY>' : '<ANOTHER_KEY>';
    }
    const url = path.startsWith('/') ? baseUrl + path : path;
    const signal = AbortSignal.timeout(timeoutMs);
    const init: RequestInit = { method, headers, redirect: 'manual', signal };
    if (text !== undefined) init.body = text;
    try {
      const response = await fetch(url, init);
      const exchange = {
        request,
        response: {
          status: response.status,
          headers: Object.fromEntries(response.headers),
          body: await bodyOf(response),
        },
      };
      this.exchanges.push(exchange);
      return exchange;
    } catch (error) {
      this.#linksInDoubt += options.links ?? 0;
      const reason = withoutKeys(reasonOf(error), this.options);
      throw new Fails(`${method} ${path} got no response: ${reason}`);
    }
  }
}

/** The body of a response as text, which an endless one must not fill the memory with. */
async function bodyOf({ body }: Response): Promise<string> {
  const reader = body?.getReader();
  const decoder = new TextDecoder();
  let text = '';
  for (let bytes = 0; ; ) {
    const { value } = (await reader?.read()) ?? {};
    if (value === undefined) return text + decoder.decode();
    bytes += value.length;
    if (bytes > MAX_BODY_MIB * 1024 * 1024) {
      await reader?.cancel();
      throw new Error(`its body has more than ${MAX_BODY_MIB} MiB`);
    }
    text += decoder.decode(value, { stream: true });
  }
}

/** Shorter keys are placeholders, and a part of ordinary words. */
const MIN_KEY_LENGTH = 8;

/** A text without the keys, which services quote: reports are for others to read. */
export function withoutKeys(text: string, { apiKey, readKey = apiKey }: SessionOptions): string {
  const keys = [apiKey, readKey].filter(({ length }) => length >= MIN_KEY_LENGTH);
  return keys.reduce((rest, key) => rest.replaceAll(key, '<API_KEY>'), text);
}

/** What went wrong, with the cause that `fetch` hides behind "fetch failed". */
function reasonOf(error: unknown): string {
  const { message, cause } = error instanceof Error ? error : new Error(String(error));
  return cause instanceof Error ? cause.message || message : message;
}
