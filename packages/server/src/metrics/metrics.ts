import type { ErrorCode } from '@shortlink/sdk/wire';
import { Counter, collectDefaultMetrics, Gauge, Histogram, Registry } from 'prom-client';
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
  readonly #durations = new Histogram({
    name: 'shortlink_http_request_duration_seconds',
    help: 'Time from the request to its response, by route',
    labelNames: ['route'],
    buckets: DURATION_BUCKETS,
    registers: [this.#registry],
  });
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

  /** The content type of {@link text}. */
  readonly contentType = this.#registry.contentType;

  countRequest(request: { route: string; method: string; status: number; seconds: number }): void {
    const { route, method, status, seconds } = request;
    this.#requests.inc({ route, method, status });
    this.#durations.observe({ route }, seconds);
  }

  countRedirect(type: number): void {
    this.#redirects.inc({ type });
  }

  /**
   * Counters of a route whose requests are many: labels are looked up once. Counts a GET that was redirected, as {@link countRequest}
   * and {@link countRedirect} do.
   */
  redirectCounter(route: string): (type: number, seconds: number) => void {
    const byType = new Map<number, readonly { inc: () => void }[]>();
    const durations = this.#durations.labels({ route });
    return (type, seconds) => {
      let counters = byType.get(type);
      if (counters === undefined) {
        counters = [
          this.#requests.labels({ route, method: 'GET', status: type }),
          this.#redirects.labels({ type }),
        ];
        byType.set(type, counters);
      }
      for (const counter of counters) counter.inc();
      durations.observe(seconds);
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
  watchStore(store: Pick<Store, 'isHealthy'>, pendingJobs: () => number): void {
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
  text(): Promise<string> {
    return this.#registry.metrics();
  }
}
