/** A service with nothing but what the protocol says: no usage, no look-up, no redirects, no header beyond `Retry-After`. */
export class TinyService {
  readonly apiKey = 'tiny-key';
  now = 0;
  #links = 0;
  #sent: number[] = [];
  #jobs = new Map<string, { polls: number; results: object[] }>();
  readonly #plan: { minute: number; links: number; batch: number };

  /** Its windows follow the requests, not the clock. */
  constructor(plan: { minute: number; links: number; batch: number }) {
    this.#plan = plan;
  }

  readonly sleep = async (ms: number) => {
    this.now += ms;
  };

  readonly fetch = async (url: string, init: RequestInit): Promise<Response> => {
    const { pathname } = new URL(url);
    const path = pathname.replace('/api/v1', '');
    if (path === pathname) return error(404, 'Nothing here.');
    const headers = new Headers(init.headers);
    if (headers.get('x-api-key') !== this.apiKey) return error(401, 'Who are you?');
    const wait = this.#wait();
    if (wait > 0) {
      const message = `At most ${this.#plan.minute} requests per minute.`;
      return error(429, message, {}, { 'Retry-After': String(wait) });
    }
    const body = init.body ? JSON.parse(String(init.body)) : undefined;
    if (init.method === 'POST' && path === '/links') return this.#create(body);
    if (init.method === 'POST' && path === '/links/batch') return this.#createBatch(body);
    if (init.method === 'GET' && path.startsWith('/jobs/')) return this.#poll(path.slice(6));
    return error(404, 'Nothing here.');
  };

  /** Seconds until a request passes. */
  #wait(): number {
    this.#sent = this.#sent.filter((at) => at > this.now - 60_000);
    const oldest = this.#sent.at(-this.#plan.minute);
    if (oldest !== undefined) return Math.ceil((oldest + 60_000 - this.now) / 1_000);
    this.#sent.push(this.now);
    return 0;
  }

  #refuse(wanted: number): Response | undefined {
    const { links } = this.#plan;
    if (this.#links + wanted <= links) return undefined;
    const message = `You have used ${this.#links} of ${links} links. Please upgrade.`;
    return error(403, message, { upgrade: true });
  }

  #create(body: Record<string, unknown>): Response {
    if (!isTarget(body['target_url'])) return error(400, 'target_url is missing or invalid');
    const type = body['redirect_type'] ?? 302;
    if (type !== 301 && type !== 302 && type !== 307) return error(400, 'redirect_type');
    const refused = this.#refuse(1);
    if (refused !== undefined) return refused;
    const { target_url, title = 'Untitled', tags = [] } = body;
    const link = {
      ...this.#item(target_url),
      id: `link-${this.#links}`,
      title,
      redirect_type: type,
      is_active: true,
      click_count: 0,
      tags,
      created_at: new Date().toISOString().replace(/\.\d+/, ''),
    };
    return Response.json(link);
  }

  #createBatch(body: { links?: { target_url?: unknown }[] }): Response {
    const links = body.links ?? [];
    if (links.length === 0 || links.length > 10_000) return error(422, 'links: 1 to 10,000');
    if (!links.every(({ target_url }) => isTarget(target_url))) return error(422, 'bad entry');
    const { batch } = this.#plan;
    if (links.length > batch) {
      const message = `Your plan allows ${batch} links in a batch, not ${links.length}. Upgrade it.`;
      return error(403, message, { upgrade: true });
    }
    const refused = this.#refuse(links.length);
    if (refused !== undefined) return refused;
    // In an order of its own, which the protocol leaves open.
    const results = links.map(({ target_url }) => this.#item(target_url)).reverse();
    const total = links.length;
    if (total <= 100) return Response.json({ status: 'completed', total, results });
    const job_id = crypto.randomUUID();
    this.#jobs.set(job_id, { polls: 0, results });
    return Response.json({ job_id, status: 'processing', total }, { status: 202 });
  }

  #poll(id: string): Response {
    const job = this.#jobs.get(id);
    if (job === undefined) return error(410, 'No such job.');
    job.polls += 1;
    const total = job.results.length;
    const isDone = job.polls > 2;
    return Response.json({
      id,
      status: isDone ? 'completed' : 'processing',
      total,
      processed: isDone ? total : 0,
      results: isDone ? job.results : [],
    });
  }

  #item(target_url: unknown) {
    this.#links += 1;
    const code = this.#links.toString(36);
    return { target_url, code, short_url: `https://tiny.example/r/${code}` };
  }
}

const isTarget = (target: unknown) => typeof target === 'string' && URL.canParse(target);

const error = (status: number, message: string, fields = {}, headers = {}) =>
  Response.json({ error: message, ...fields }, { status, headers });
