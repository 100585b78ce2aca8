import type { ErrorCode } from '@shortlink/sdk/wire';
import { collectDefaultMetrics, Registry } from 'prom-client';
import type { Store } from '../store/store.ts';
import type { StoreErrorReason } from '../store/store-error.ts';

/** How links came to be, as the label of `shortlink_links_created_total`. */
export type CreatedBy = 'single' | 'batch' | 'job';

/** Upper bounds of request durations, in seconds: redirects take under a millisecond, batches up to a second. */
const DURATION_BUCKETS = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 10];

/** Numbers, by the labels that they are printed with. */
type Series = Map<string, number>;

/**
 * What the service counts of itself, in the Prometheus text format. Labels are patterns of routes, statuses and machine words; never a path, a code, a
 * key or an account, so that no visitor can make the number of series grow. The counters of prom-client would take a tenth of the time of a redirect.
 */
export class Metrics {
  readonly #process = new Registry();
  readonly #requests: Series = new Map();
  /** Of each route: requests by duration, one number for each of the bounds and one for those above; and seconds in all. */
  readonly #durations = new Map<string, { buckets: number[]; sum: number }>();
  readonly #redirects: Series = new Map();
  readonly #previews: Series = new Map([['', 0]]);
  readonly #linksCreated: Series = new Map();
  readonly #refusals: Series = new Map();
  readonly #storeErrors: Series = new Map();
  readonly #clicksDropped: Series = new Map([['', 0]]);
  readonly #gauges: (() => string)[] = [];

  /** The content type of {@link text}. */
  readonly contentType = this.#process.contentType;

  countRequest(request: { route: string; method: string; status: number; seconds: number }): void {
    const { route, method, status, seconds } = request;
    add(this.#requests, `route="${route}",method="${method}",status="${status}"`);
    let durations = this.#durations.get(route);
    if (durations === undefined) {
      durations = { buckets: [...DURATION_BUCKETS, 0].fill(0), sum: 0 };
      this.#durations.set(route, durations);
    }
    let bucket = 0;
    while (seconds > (DURATION_BUCKETS[bucket] ?? Number.POSITIVE_INFINITY)) bucket += 1;
    durations.buckets[bucket] = (durations.buckets[bucket] ?? 0) + 1;
    durations.sum += seconds;
  }

  /** Counts a request that was refused before its route or its time were known. */
  countRefused(status: number): void {
    add(this.#requests, `route="none",method="other",status="${status}"`);
  }

  countRedirect(type: number, isPreview: boolean): void {
    if (isPreview) add(this.#previews, '');
    else add(this.#redirects, `type="${type}"`);
  }

  countLinks(by: CreatedBy, links: number): void {
    add(this.#linksCreated, `by="${by}"`, links);
  }

  countRefusal(code: ErrorCode): void {
    add(this.#refusals, `code="${code}"`);
  }

  countStoreError(reason: StoreErrorReason): void {
    add(this.#storeErrors, `reason="${reason}"`);
  }

  countDroppedClicks(clicks: number): void {
    add(this.#clicksDropped, '', clicks);
  }

  /** Shows what is known of the database and of unfinished jobs: a scrape never waits for the database. */
  watchStore(store: Pick<Store, 'isHealthy' | 'connections'>, pendingJobs: () => number): void {
    const gauge = (name: string, help: string, read: () => [string, number][]) =>
      this.#gauges.push(() => printed('gauge', name, help, read()));
    gauge('database_up', '1 when the last use of the database succeeded, else 0', () => [
      ['', store.isHealthy() ? 1 : 0],
    ]);
    gauge(
      'jobs_pending',
      'Accepted jobs that are not completed yet, as last read from the database, 1,000 at most',
      () => [['', pendingJobs()]],
    );
    const { connections } = store;
    if (connections === undefined) return;
    gauge(
      'database_connections',
      'Connections to PostgreSQL of this process: those that work, those that are idle, and those that it may open still',
      () => Object.entries(connections()).map(([state, count]) => [`state="${state}"`, count]),
    );
  }

  /** Adds what prom-client knows of the process: memory, CPU, event loop lag, garbage collection. Once per process. */
  watchProcess(): void {
    collectDefaultMetrics({ register: this.#process });
  }

  /** All of it, as Prometheus reads it. */
  async text(): Promise<string> {
    const counters = [
      ['http_requests', 'Responses, by route, method and status', this.#requests],
      ['redirects', 'Short links followed (GET), by redirect type', this.#redirects],
      ['previews', 'Redirects of prefetches and previews, which are no clicks', this.#previews],
      ['links_created', 'Links created, by the kind of request they came with', this.#linksCreated],
      ['refusals', 'Requests rejected, by the code of the error body', this.#refusals],
      [
        'store_errors',
        'Requests that failed because of the database, by reason',
        this.#storeErrors,
      ],
      [
        'clicks_dropped',
        'Clicks that were never counted because the database could not take them in time',
        this.#clicksDropped,
      ],
    ] as const;
    return [
      this.#durationsText(),
      ...counters.map(([name, help, series]) => printed('counter', `${name}_total`, help, series)),
      ...this.#gauges.map((gauge) => gauge()),
      await this.#process.metrics(),
    ].join('');
  }

  #durationsText(): string {
    const name = 'http_request_duration_seconds';
    const lines = [...this.#durations].flatMap(([route, { buckets, sum }]) => {
      let count = 0;
      const bounded = buckets.map((requests, bucket) => {
        count += requests;
        const bound = DURATION_BUCKETS[bucket] ?? '+Inf';
        return `shortlink_${name}_bucket{le="${bound}",route="${route}"} ${count}`;
      });
      const ofRoute = (what: string, value: number) =>
        `shortlink_${name}_${what}{route="${route}"} ${value}`;
      return [...bounded, ofRoute('sum', sum), ofRoute('count', count)];
    });
    const help = 'Time from the request to its response, by route';
    return `${printed('histogram', name, help, [])}${lines.map((line) => `${line}\n`).join('')}`;
  }
}

function add(series: Series, labels: string, count = 1): void {
  series.set(labels, (series.get(labels) ?? 0) + count);
}

function printed(type: string, name: string, help: string, series: Iterable<[string, number]>) {
  const lines = [`# HELP shortlink_${name} ${help}`, `# TYPE shortlink_${name} ${type}`];
  for (const [labels, value] of series) {
    lines.push(`shortlink_${name}${labels === '' ? '' : `{${labels}}`} ${value}`);
  }
  return `${lines.join('\n')}\n`;
}
