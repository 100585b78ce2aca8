import type { ErrorCode } from '@shortlink/sdk/wire';
import { Counter, collectDefaultMetrics, Gauge, Registry } from 'prom-client';
import type { Store } from '../store/store.ts';
import type { StoreErrorReason } from '../store/store-error.ts';

/** How links came to be, as the label of `shortlink_links_created_total`. */
export type CreatedBy = 'single' | 'batch' | 'job';

/** Upper bounds of request durations, in seconds: redirects take under a millisecond, batches up to a second. */
const DURATION_BUCKETS = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 10];

/**
 * What the service counts of itself, in the Prometheus text format. Every label has a handful of values known beforehand: a route's
 * pattern, a status, a machine word; never a path, a code, a key or an account, so that no visitor can make the numbers of series grow.
 */
export class Metrics {
  readonly #registry = new Registry();
  readonly #requests = new Counter({
    name: 'shortlink_http_requests_total',
    help: 'Responses, by route, method and status',
    labelNames: ['route', 'method', 'status'],
    registers: [this.#registry],
  });
  readonly #durations = new Durations();
  readonly #redirects = new Counter({
    name: 'shortlink_redirects_total',
    help: 'Short links followed (GET), by redirect type',
    labelNames: ['type'],
    registers: [this.#registry],
  });
  readonly #linksCreated = new Counter({
    name: 'shortlink_links_created_total',
    help: 'Links created, by the kind of request they came with',
    labelNames: ['by'],
    registers: [this.#registry],
  });
  readonly #refusals = new Counter({
    name: 'shortlink_refusals_total',
    help: 'Requests rejected, by the code of the error body',
    labelNames: ['code'],
    registers: [this.#registry],
  });
  readonly #storeErrors = new Counter({
    name: 'shortlink_store_errors_total',
    help: 'Requests that failed because of the database, by reason',
    labelNames: ['reason'],
    registers: [this.#registry],
  });
  readonly #clicksDropped = new Counter({
    name: 'shortlink_clicks_dropped_total',
    help: 'Clicks that were never counted because the database could not take them in time',
    registers: [this.#registry],
  });

  /** Adds to counters what was counted apart from them. */
  readonly #collect: (() => void)[] = [];

  /** The content type of {@link text}. */
  readonly contentType = this.#registry.contentType;

  countRequest(request: { route: string; method: string; status: number; seconds: number }): void {
    const { route, method, status, seconds } = request;
    this.#requests.inc({ route, method, status });
    this.#durations.observe(route, seconds);
  }

  /** Counts a request that was refused before its route or its time were known. */
  countRefused(status: number): void {
    this.#requests.inc({ route: 'none', method: 'other', status });
  }

  countRedirect(type: number): void {
    this.#redirects.inc({ type });
  }

  /**
   * Counts a GET of this route that was redirected, as {@link countRequest} and {@link countRedirect} do. The counters of prom-client look
   * their labels up each time, which takes as long as half a redirect, so they are added to in {@link text} only.
   */
  redirectCounter(route: string): (type: number, seconds: number) => void {
    const counts = new Map<number, number>();
    this.#collect.push(() => {
      for (const [type, count] of counts) {
        this.#requests.inc({ route, method: 'GET', status: type }, count);
        this.#redirects.inc({ type }, count);
      }
      counts.clear();
    });
    return (type, seconds) => {
      counts.set(type, (counts.get(type) ?? 0) + 1);
      this.#durations.observe(route, seconds);
    };
  }

  countLinks(by: CreatedBy, links: number): void {
    this.#linksCreated.inc({ by }, links);
  }

  countRefusal(code: ErrorCode): void {
    this.#refusals.inc({ code });
  }

  countStoreError(reason: StoreErrorReason): void {
    this.#storeErrors.inc({ reason });
  }

  countDroppedClicks(clicks: number): void {
    this.#clicksDropped.inc(clicks);
  }

  /**
   * Shows whether the database works, and the number of unfinished jobs. Both must be known at once: a scrape never waits
   * for the database.
   */
  watchStore(store: Pick<Store, 'isHealthy' | 'connections'>, pendingJobs: () => number): void {
    if (store.connections !== undefined) {
      const { connections } = store;
      new Gauge({
        name: 'shortlink_database_connections',
        help: 'Connections to PostgreSQL of this process: those that work, those that are idle, and those that it may open still',
        labelNames: ['state'],
        registers: [this.#registry],
        collect() {
          for (const [state, count] of Object.entries(connections())) this.set({ state }, count);
        },
      });
    }
    new Gauge({
      name: 'shortlink_database_up',
      help: '1 when the last use of the database succeeded, else 0',
      registers: [this.#registry],
      collect() {
        this.set(store.isHealthy() ? 1 : 0);
      },
    });
    new Gauge({
      name: 'shortlink_jobs_pending',
      help: 'Accepted jobs that are not completed yet, as last read from the database, 1,000 at most',
      registers: [this.#registry],
      collect() {
        this.set(pendingJobs());
      },
    });
  }

  /** Adds what prom-client knows of the process: memory, CPU, event loop lag, garbage collection. Once per process. */
  watchProcess(): void {
    collectDefaultMetrics({ register: this.#registry });
  }

  /** All of it, as Prometheus reads it. */
  async text(): Promise<string> {
    for (const collect of this.#collect) collect();
    return `${this.#durations.text()}\n${await this.#registry.metrics()}`;
  }
}

/** A histogram of requests by route. The one of prom-client takes 2 µs for each value, a tenth of a whole redirect. */
class Durations {
  readonly #routes = new Map<string, { buckets: number[]; sum: number }>();

  observe(route: string, seconds: number): void {
    let durations = this.#routes.get(route);
    if (durations === undefined) {
      durations = { buckets: [...DURATION_BUCKETS, 0].fill(0), sum: 0 };
      this.#routes.set(route, durations);
    }
    let bucket = 0;
    while (seconds > (DURATION_BUCKETS[bucket] ?? Number.POSITIVE_INFINITY)) bucket += 1;
    durations.buckets[bucket] = (durations.buckets[bucket] ?? 0) + 1;
    durations.sum += seconds;
  }

  text(): string {
    const name = 'shortlink_http_request_duration_seconds';
    const lines = [
      `# HELP ${name} Time from the request to its response, by route`,
      `# TYPE ${name} histogram`,
    ];
    for (const [route, { buckets, sum }] of this.#routes) {
      let count = 0;
      buckets.forEach((requests, bucket) => {
        count += requests;
        const bound = DURATION_BUCKETS[bucket] ?? '+Inf';
        lines.push(`${name}_bucket{le="${bound}",route="${route}"} ${count}`);
      });
      lines.push(
        `${name}_sum{route="${route}"} ${sum}`,
        `${name}_count{route="${route}"} ${count}`,
      );
    }
    return `${lines.join('\n')}\n`;
  }
}
