import { LOOKUP_PATH, lookUp } from './look-up.ts';
import { finite, Quota } from './quota.ts';
import {
  type Entry,
  json,
  type MadeLink,
  madeLink,
  type Service,
  type ServiceRequest,
  type ServiceResponse,
} from './service.ts';
import { type ServiceTraits, USUAL_TRAITS } from './traits.ts';

interface Job {
  id: string;
  request: number;
  entries: Entry[];
  domain: string | undefined;
  /** When its first link was begun. */
  startAt: number;
  results: object[];
  /** Links after which it fails; undefined where it does not. */
  failsAfter: number | undefined;
  hasFailed: boolean;
}

const MAX_LOOKUP_WAIT_MS = 10_000;

/** How long a result is shown where a service forgets them. */
const SHOWN_MS = 2 * 60 * 60 * 1000;

const KEY_LIFETIME_MS = 24 * 60 * 60 * 1000;

/** Titles that the service refuses. */
export const REFUSED_TITLE = 'refused';

/** What short URLs begin with. */
export const SHORT = 'https://sho.rt/';

/** The time that the service lives in. */
export interface ServiceClock {
  /** Milliseconds since the epoch. */
  now: () => number;
  wait: (ms: number) => Promise<void>;
}

const REAL_CLOCK: ServiceClock = {
  now: Date.now,
  wait: (ms) => new Promise((resolve) => setTimeout(resolve, ms)),
};

/**
 * A service in memory that keeps to the protocol and nothing else: what that leaves open is as its traits say. The simulator of imports plays
 * with it, and so do tests of the command line (`packages/cli/test/import/fake-service.ts`).
 */
export class ScriptedService implements Service {
  readonly made: MadeLink[] = [];
  /** They may change at any time. */
  readonly traits: ServiceTraits;
  /** The title that it refuses, if any. */
  refusedTitle: string | undefined = REFUSED_TITLE;
  /** Links of one target in the answer to a look-up. Our own server names 20. */
  mostFound = 3;
  /** What short URLs begin with. */
  readonly short: string = SHORT;
  readonly #clock: ServiceClock;
  readonly #quota: Quota;
  readonly #keys = new Map<string, boolean>();
  readonly #jobs = new Map<string, Job>();
  readonly #replies = new Map<string, { body: string; at: number; response: ServiceResponse }>();
  /** Links of the plan in use: those made, those of jobs to come, and those of others. */
  #used = 0;
  #lastJob = 0;

  constructor(traits: Partial<ServiceTraits> = {}, clock = REAL_CLOCK) {
    this.traits = { ...USUAL_TRAITS, ...traits };
    this.#clock = clock;
    this.#quota = new Quota(this.traits.perMinute, this.traits.perDay, clock.now);
  }

  /** The code of a link, by its number from 0. */
  codeOf(number: number): string {
    return `c${number}`;
  }

  setKey(key: string, mayWrite: boolean): void {
    this.#keys.clear();
    this.#keys.set(key, mayWrite);
  }

  setLinkLimit(links: number): void {
    this.traits.links = links;
  }

  setLenient(isLenient: boolean): void {
    this.refusedTitle = isLenient ? undefined : REFUSED_TITLE;
  }

  useUp(links: number): void {
    this.#used += Math.max(0, Math.min(links, this.traits.links - this.#used));
  }

  unlimit(): void {
    this.traits.links = Number.POSITIVE_INFINITY;
    this.#quota.unlimit();
    this.traits.msPerLink = Math.min(this.traits.msPerLink, 4_000);
  }

  restart(): void {
    this.settle();
    if (!this.traits.losesJobs) return;
    for (const job of this.#jobs.values()) {
      if (!job.hasFailed) this.#used -= job.entries.length - job.results.length;
      this.#jobs.delete(job.id);
    }
  }

  close(): void {
    // Nothing is open.
  }

  settle(): void {
    for (const job of this.#jobs.values()) this.#advance(job);
  }

  handle(request: ServiceRequest, number: number): ServiceResponse | Promise<ServiceResponse> {
    const response = this.#respond(request, number);
    if (response.status !== 200 || request.path !== LOOKUP_PATH) return response;
    return this.#afterJobs(response, () =>
      lookUp(this.made, request.body ?? '{}', { most: this.mostFound, short: this.short }),
    );
  }

  #respond(request: ServiceRequest, number: number): ServiceResponse {
    const mayWrite = this.#keys.get(request.headers['x-api-key'] ?? '');
    if (mayWrite === undefined) return json(401, { error: 'The API key is not valid' });
    if (request.path === '/api/v1/usage') return this.#usage();
    const waitSeconds = this.#quota.take();
    const quota = this.traits.statesQuota ? this.#quota.headers() : {};
    const response =
      waitSeconds === undefined
        ? this.#work(request, number, mayWrite)
        : json(429, { error: 'Too many requests a minute' }, { 'retry-after': `${waitSeconds}` });
    return { ...response, headers: { ...response.headers, ...quota } };
  }

  #work(request: ServiceRequest, number: number, mayWrite: boolean): ServiceResponse {
    if (request.method === 'GET') return this.#poll(request.path);
    if (!mayWrite) return json(403, { error: 'The key may not write' });
    if (request.path === LOOKUP_PATH) {
      return this.traits.hasLookup ? json(200, {}) : json(404, { error: 'Not found' });
    }
    const key = this.traits.hasIdempotency ? request.headers['idempotency-key'] : undefined;
    if (key === undefined) return this.#create(request, number);
    const known = this.#replies.get(key);
    if (known !== undefined && this.#clock.now() - known.at < KEY_LIFETIME_MS) {
      if (known.body === request.body) return known.response;
      return json(422, { error: 'The key was used', code: 'idempotency_conflict' });
    }
    const response = this.#create(request, number);
    // A refused request leaves its key free.
    if (response.status < 300) {
      this.#replies.set(key, { body: request.body ?? '', at: this.#clock.now(), response });
    }
    return response;
  }

  #create(request: ServiceRequest, number: number): ServiceResponse {
    const { links: entries, domain_id: domain } = JSON.parse(request.body ?? '{}') as {
      links: Entry[];
      domain_id?: string;
    };
    const count = entries.length;
    if (count > this.traits.batchSize) return this.#tooLarge(count);
    const bad = [...entries.keys()].filter((index) => this.#refuses(entries[index]?.title));
    if (bad.length > 0 && !this.traits.refusesSingly) {
      const details = bad.map((index) => ({ index, field: 'title', message: 'not allowed' }));
      const error = `links[${bad[0]}] is not valid`;
      return json(400, { error, ...(this.traits.namesBadEntries && { details }) });
    }
    if (this.#used + count > this.traits.links) return this.#full();
    if (count <= this.traits.syncLinks) {
      this.#used += count;
      const results = entries.map((entry) => this.#make(entry, domain, number));
      return json(200, this.#shaped({ status: 'completed', total: count, results }));
    }
    this.#used += count;
    const id = `job-${this.#lastJob}`;
    this.#lastJob += 1;
    const startAt = this.#clock.now();
    const failsAfter = this.#failsAfter(count);
    const job = { id, request: number, entries, domain, startAt, results: [], failsAfter };
    this.#jobs.set(id, { ...job, hasFailed: false });
    const status = this.traits.shape === 0 ? 'processing' : this.traits.jobWords[0];
    return json(202, { job_id: id, status, total: count }, this.#pollHeaders(count));
  }

  #refuses(title: string | undefined): boolean {
    return title !== undefined && title === this.refusedTitle;
  }

  #make(entry: Entry, domain: string | undefined, request: number): object {
    const { target_url, title } = entry;
    if (this.#refuses(title)) {
      this.#used -= 1;
      return { target_url, error: 'title: not allowed' };
    }
    const code = this.codeOf(this.made.length);
    this.made.push(madeLink(code, { domain_id: domain, ...entry }, request));
    const remark = this.traits.remarks && { error: 'title: was shortened' };
    return { target_url, code, short_url: this.short + code, ...remark };
  }

  #failsAfter(count: number): number | undefined {
    const { failsJobs } = this.traits;
    const isOneThatFails = this.#lastJob > 1 && Number.isInteger(Math.sqrt(8 * this.#lastJob + 1));
    if (failsJobs === undefined || !isOneThatFails) return undefined;
    return failsJobs === 'half-way' ? Math.ceil(count / 2) : 0;
  }

  /** Jobs make their links one after the other, whether or not somebody looks. */
  #advance(job: Job): void {
    const { entries, results, startAt, failsAfter } = job;
    if (job.hasFailed) return;
    const { msPerLink } = this.traits;
    const done =
      msPerLink === 0 ? entries.length : Math.floor((this.#clock.now() - startAt) / msPerLink);
    const most = failsAfter ?? entries.length;
    for (const entry of entries.slice(results.length, Math.min(done, most))) {
      results.push(this.#make(entry, job.domain, job.request));
    }
    if (failsAfter === undefined || done < most) return;
    job.hasFailed = true;
    this.#used -= entries.length - results.length;
  }

  #poll(path: string): ServiceResponse {
    const job = this.#jobs.get(path.split('/').at(-1) ?? '');
    if (job === undefined) return json(404, { error: 'No such job' });
    this.#advance(job);
    const { id, entries, results } = job;
    const left = entries.length - results.length;
    const [running, done] = this.traits.jobWords;
    return json(
      200,
      this.#shaped({
        id,
        status: job.hasFailed ? 'failed' : left > 0 ? running : done,
        total: entries.length,
        processed: results.length,
        results: results.slice(this.#forgotten(job)),
      }),
      left > 0 ? this.#pollHeaders(left) : {},
    );
  }

  /** How many of its first results are shown no more. Of equal targets, nobody could tell which of them these were. */
  #forgotten({ startAt, entries }: Job): number {
    const { forgetsResults, msPerLink } = this.traits;
    const targets = new Set(entries.map(({ target_url }) => target_url));
    if (!forgetsResults || msPerLink === 0 || targets.size < entries.length) return 0;
    return Math.max(0, Math.floor((this.#clock.now() - startAt - SHOWN_MS) / msPerLink));
  }

  /** A look-up sees every link of each job that was accepted before it. It waits for them, but not for long. */
  #afterJobs(
    { headers }: ServiceResponse,
    look: () => { results: object[] },
  ): ServiceResponse | Promise<ServiceResponse> {
    this.settle();
    const jobs = [...this.#jobs.values()].filter((job) => !job.hasFailed);
    const ends = jobs.map((job) => {
      const links = job.failsAfter ?? job.entries.length;
      return job.startAt + links * this.traits.msPerLink - this.#clock.now();
    });
    const waitMs = Math.max(0, ...ends);
    const answer = (): ServiceResponse => {
      this.settle();
      if (waitMs <= MAX_LOOKUP_WAIT_MS) return { ...json(200, look()), headers };
      return json(503, { error: 'Jobs are running' }, { ...headers, 'retry-after': '1' });
    };
    if (waitMs === 0) return answer();
    return this.#clock.wait(Math.min(waitMs, MAX_LOOKUP_WAIT_MS)).then(answer);
  }

  #pollHeaders(left: number): Record<string, string> {
    const seconds = Math.ceil((left * this.traits.msPerLink) / 1000);
    return this.traits.saysWhenToPoll ? { 'retry-after': `${seconds}` } : {};
  }

  /** What a service may add, leave out or send in another order. */
  #shaped(answer: { results: object[]; [field: string]: unknown }): object {
    const { results } = answer;
    switch (this.traits.shape) {
      case 1:
        return { ...answer, results: results.map((item) => ({ id: 7, error: null, ...item })) };
      case 2:
        return {
          results: results.map((item) => ({ ...item, target_url: undefined })),
          ...without(answer),
        };
      case 3:
        return { ...answer, results: results.toReversed() };
      default:
        return answer;
    }
  }

  #tooLarge(count: number): ServiceResponse {
    const allowed = this.traits.batchSize;
    if (this.traits.oversize === 413) return json(413, { error: 'Too large' });
    return json(403, {
      error: `The plan takes ${allowed} links a batch`,
      upgrade: true,
      ...(this.traits.namesLimit && { limit: 'batch_size', used: count, allowed }),
    });
  }

  #full(): ServiceResponse {
    const [used, allowed] = [this.#used, this.traits.links];
    return json(403, {
      error: `${used} of ${allowed} links are in use: upgrade the plan`,
      upgrade: true,
      ...(this.traits.namesLimit && { limit: 'links', used, allowed }),
    });
  }

  #usage(): ServiceResponse {
    if (!this.traits.hasUsage) return json(404, { error: 'Not found' });
    const none = { used: 0, limit: null, resets_at: '' };
    const { hasIdempotency, hasLookup } = this.traits;
    const features = [hasIdempotency && 'idempotency', hasLookup && 'lookup'].filter(Boolean);
    return json(200, {
      ...(hasLookup && { features }),
      plan: 'pro',
      requests: { month: none, ...this.#quota.usage() },
      links: { used: this.#used, limit: finite(this.traits.links) },
      api_keys: { used: 1, limit: 3 },
      batch_size: finite(this.traits.batchSize),
      keys: [],
    });
  }
}

/** Without the fields that the protocol names and a service may leave out, where it sends `results`. */
function without({ id, total, status }: { [field: string]: unknown }): object {
  if (id === undefined) return {};
  return status === 'failed' ? { id, total, status } : { id, total };
}
