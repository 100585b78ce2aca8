import { Shortlink, type ShortlinkOptions, type Usage } from '@shortlink/sdk';

/** What happens to the n-th batch request (from 0) instead of, or after, being carried out. */
export type Fault =
  | { type: 'answer'; status: number; body: object; headers?: Record<string, string> }
  /** The connection is lost before the service sees the request, or after it carried it out. */
  | { type: 'lost'; created: boolean }
  /** The process is killed at this moment: nothing comes back, ever. */
  | { type: 'killed'; created: boolean };

/**
 * The service in memory, behind the real client. It counts how often each target URL was created, which
 * is what an import is judged by.
 */
export class FakeService {
  /** Largest batch the plan takes. */
  maxBatch = 10_000;
  /** The most links in total. */
  maxLinks = Number.POSITIVE_INFINITY;
  /** Batches of more links become jobs. */
  syncLinks = 100;
  fault: (n: number, links: readonly Link[]) => Fault | undefined = () => undefined;
  /** Links and key of the batch request that came last. */
  flying: [Link[], string | undefined] = [[], undefined];
  /** Awaited before each batch request is answered. */
  hold: () => Promise<void> = async () => undefined;
  /** Links with this title get an error of their own instead of a code. */
  refusesTitle: string | undefined;
  /** Polls of each job that still say `processing`. */
  pollsBeforeDone = 0;
  onPoll: (jobId: string) => Fault | undefined = () => undefined;

  /** Links of each batch request, refused ones too. */
  readonly asked: Link[][] = [];
  readonly keys: Array<string | null> = [];
  readonly created = new Map<string, number>();
  /** The target URL of each code. */
  readonly targets = new Map<string, string>();
  /** Requests but those for usage, which count against no quota. */
  requests = 0;
  /** The response to `GET /api/v1/usage`, or its error; undefined for a service without it. */
  usage: (() => Usage | Extract<Fault, { type: 'answer' }>) | undefined;
  /** Whether it lists features: `lookup` and `idempotency`. */
  features: string[] | undefined;
  /** Every link that exists, oldest first. */
  readonly links: (Link & { id: string; code: string; short_url: string })[] = [];
  /** Targets of each look-up. */
  readonly lookups: string[][] = [];
  /** Links of one target in an answer. */
  maxFound = 20;
  /** Called with the number of each look-up, from 1. */
  onLookup: (n: number) => Extract<Fault, { type: 'answer' }> | undefined = () => undefined;
  readonly #jobs = new Map<string, { results: object[]; polls: number }>();
  readonly #replays = new Map<string, object>();
  #codes = 0;

  client(options: Partial<ShortlinkOptions> = {}): Shortlink {
    return new Shortlink({
      apiKey: 'test-key',
      baseUrl: 'https://api.example',
      fetch: (input, init) => this.#fetch(new Request(input, init)),
      maxRetries: 0,
      ...options,
    });
  }

  /** How often any link was created more than once. */
  get duplicates(): number {
    return [...this.created.values()].filter((times) => times > 1).length;
  }

  async #fetch(request: Request): Promise<Response> {
    const { pathname } = new URL(request.url);
    if (pathname === '/api/v1/usage') {
      const none = { type: 'answer', status: 404, body: { error: 'not found' } } as const;
      const usage =
        this.usage?.() ?? (this.features === undefined ? none : this.#usageWithFeatures());
      return 'type' in usage ? answer(usage.status, usage.body) : answer(200, usage);
    }
    this.requests += 1;
    if (pathname === '/api/v1/links/lookup') return this.#lookup(await request.text());
    return pathname.startsWith('/api/v1/jobs/')
      ? this.#poll(pathname.slice('/api/v1/jobs/'.length), request.signal)
      : this.#batch(request);
  }

  async #batch(request: Request): Promise<Response> {
    const { links }: { links: Link[] } = JSON.parse(await request.text());
    const key = request.headers.get('idempotency-key');
    this.flying = [links, key ?? undefined];
    await this.hold();
    const n = this.asked.push(links) - 1;
    this.keys.push(key);
    const fault = this.fault(n, links);
    if (fault?.type === 'answer') return answer(fault.status, fault.body, fault.headers);
    if (fault === undefined || fault.created) {
      const refusal = this.#refusal(links);
      if (refusal !== undefined) return refusal;
    }
    const body = fault?.created === false ? undefined : this.#carryOut(links, key);
    if (fault !== undefined) return await broken(fault, request.signal);
    return answer('job_id' in (body ?? {}) ? 202 : 200, body ?? {});
  }

  #refusal(links: readonly Link[]): Response | undefined {
    if (links.length > this.maxBatch) {
      return answer(403, { error: 'Batch too large', upgrade: true, limit: 'batch_size' });
    }
    if (this.created.size + links.length > this.maxLinks) {
      return answer(403, { error: 'Link limit reached', upgrade: true, limit: 'links' });
    }
    return undefined;
  }

  #carryOut(links: readonly Link[], key: string | null): object {
    const replay = key === null ? undefined : this.#replays.get(key);
    if (replay !== undefined) return replay;
    const results = links.map((sent) => {
      const { target_url, title } = sent;
      if (title !== undefined && title === this.refusesTitle) {
        return { target_url, error: 'title is refused' };
      }
      this.created.set(target_url, (this.created.get(target_url) ?? 0) + 1);
      this.#codes += 1;
      const code = this.#codes.toString(36).padStart(7, '0');
      this.targets.set(code, target_url);
      const link = { target_url, code, short_url: `https://s.example/${code}` };
      this.links.push({ ...sent, ...link, id: `id-${this.links.length}` });
      return link;
    });
    const total = results.length;
    const body =
      total > this.syncLinks ? this.#accept(results) : { status: 'completed', total, results };
    if (key !== null) this.#replays.set(key, body);
    return body;
  }

  #usageWithFeatures(): Usage {
    const free = { used: 0, limit: null, resets_at: '' };
    return {
      plan: 'custom',
      requests: { minute: free, day: free, month: free },
      links: { used: this.links.length, limit: null },
      api_keys: { used: 1, limit: null },
      batch_size: this.maxBatch,
      keys: [],
      top_links: [],
      features: this.features,
    } as unknown as Usage;
  }

  #lookup(text: string): Response {
    const body: {
      links: { target_url: string; domain_id?: string; after?: string }[];
      codes?: string[];
    } = JSON.parse(text);
    if (body.codes !== undefined) {
      const fault = this.onLookup(0);
      if (fault !== undefined) return answer(fault.status, fault.body);
      const results = body.codes.map((code) => ({
        links: this.links.filter((link) => link.code === code),
      }));
      return answer(200, { results });
    }
    const n = this.lookups.push(body.links.map(({ target_url }) => target_url));
    const fault = this.onLookup(n);
    if (fault !== undefined) return answer(fault.status, fault.body);
    const results = body.links.map(({ target_url, domain_id, after }) => {
      const all = this.links.filter(
        (link) => link.target_url === target_url && link.domain_id === domain_id,
      );
      const first = all.findIndex(({ id }) => id === after) + 1;
      const links = all.slice(first, first + this.maxFound);
      return { links, more: first + links.length < all.length };
    });
    return answer(200, { results });
  }

  #accept(results: object[]): object {
    const job_id = `job-${this.#jobs.size}`;
    this.#jobs.set(job_id, { results, polls: 0 });
    return { status: 'processing', job_id, total: results.length };
  }

  async #poll(jobId: string, signal: AbortSignal): Promise<Response> {
    const fault = this.onPoll(jobId);
    if (fault?.type === 'answer') return answer(fault.status, fault.body, fault.headers);
    if (fault !== undefined) return await broken(fault, signal);
    const job = this.#jobs.get(jobId);
    if (job === undefined) return answer(404, { error: 'no such job' });
    job.polls += 1;
    const total = job.results.length;
    const isDone = job.polls > this.pollsBeforeDone;
    return answer(200, {
      id: jobId,
      status: isDone ? 'completed' : 'processing',
      total,
      processed: isDone ? total : 0,
      results: isDone ? job.results : [],
    });
  }
}

export interface Link {
  target_url: string;
  title?: string;
  tags?: string[];
  domain_id?: string;
}

function answer(status: number, body: object, headers: Record<string, string> = {}): Response {
  return new Response(JSON.stringify(body), {
    status,
    headers: { 'Content-Type': 'application/json', ...headers },
  });
}

async function broken(
  fault: Exclude<Fault, { type: 'answer' }>,
  signal: AbortSignal,
): Promise<never> {
  if (fault.type === 'lost') {
    throw Object.assign(new TypeError('fetch failed'), { cause: { code: 'ECONNRESET' } });
  }
  return await new Promise<never>((_, reject) => {
    signal.addEventListener('abort', () => reject(signal.reason), { once: true });
  });
}
