import { newCode } from './make-links.ts';

interface FloorLink {
  code: string;
  short_url: string;
  target_url: string;
}

/** The service on a `Map`, without keys, limits, checks or storage. It shows what HTTP and JSON alone cost. */
export class FloorService {
  readonly #links = new Map<string, FloorLink>();
  readonly #jobs = new Map<string, FloorLink[]>();

  createLink(body: string) {
    const link = this.#create(JSON.parse(body).target_url);
    return {
      ...link,
      id: crypto.randomUUID(),
      title: '',
      redirect_type: 302,
      is_active: true,
      click_count: 0,
      tags: [],
      created_at: new Date().toISOString(),
    };
  }

  createBatch(body: string) {
    const entries: { target_url: string }[] = JSON.parse(body).links;
    const results = entries.map(({ target_url }) => this.#create(target_url));
    if (results.length <= 100) return { status: 'completed', total: results.length, results };
    const job_id = crypto.randomUUID();
    this.#jobs.set(job_id, results);
    return { status: 'processing', job_id, total: results.length };
  }

  job(id: string) {
    const results = this.#jobs.get(id) ?? [];
    this.#jobs.delete(id);
    const total = results.length;
    return { id, status: 'completed', total, processed: total, results };
  }

  target(code: string): string | undefined {
    return this.#links.get(code)?.target_url;
  }

  #create(target_url: string): FloorLink {
    const code = newCode();
    const link = { code, short_url: `https://sho.rt/${code}`, target_url };
    this.#links.set(code, link);
    return link;
  }
}
