import { AggregatorRegistry, collectDefaultMetrics, Registry } from 'prom-client';
import type { Store } from '../store/store.ts';

/** Upper bounds of request durations, in seconds: redirects take under a millisecond, batches up to a second. */
const DURATION_BUCKETS = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 10];

/** What is counted, as it is described to the operator. */
const COUNTERS = {
  http_requests: 'Responses, by route, method and status',
  redirects: 'Short links followed (GET), by redirect type',
  previews: 'Redirects of prefetches and previews, which are no clicks',
  links_created: 'Links created, by the kind of request they came with',
  refusals: 'Requests rejected, by the code of the error body',
  store_errors: 'Requests that failed because of the database, by reason',
  clicks_dropped: 'Clicks that were never counted because the database could not take them in time',
} as const;

type Counter = keyof typeof COUNTERS;

/** A metric as prom-client has it: `aggregator` says how it becomes one of several processes. */
interface Family {
  name: string;
  help: string;
  type: 'counter' | 'gauge' | 'histogram';
  aggregator: 'sum' | 'min' | 'max';
  values: { labels: object; value: number; metricName?: string }[];
}

/** A metric as another process has told it. */
export type ToldMetric = Pick<Family, 'name'>;

/** What the service counts of itself. Labels are patterns and machine words: no visitor can add series. prom-client's counters are too slow for redirects. */
export class Metrics {
  readonly #process = new Registry();
  /** Numbers, by the labels that they are printed with. */
  readonly #counters = {
    ...{ http_requests: new Map(), redirects: new Map(), previews: new Map([['', 0]]) },
    ...{ links_created: new Map(), refusals: new Map(), store_errors: new Map() },
    clicks_dropped: new Map([['', 0]]),
  } satisfies Record<Counter, Map<string, number>>;
  /** For each route: the requests up to each bound of the durations, those above the last bound, and the seconds of all. */
  readonly #durations = new Map<string, { buckets: number[]; sum: number }>();
  readonly #gauges: (() => Family)[] = [];

  readonly contentType = this.#process.contentType;

  countRequest(request: { route: string; method: string; status: number; seconds: number }): void {
    const { route, method, status, seconds } = request;
    this.count('http_requests', `route="${route}",method="${method}",status="${status}"`);
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

  /** @param labels - As Prometheus writes them */
  count(counter: Counter, labels: string, by = 1): void {
    const series = this.#counters[counter];
    series.set(labels, (series.get(labels) ?? 0) + by);
  }

  countRedirect(type: number, isPreview: boolean): void {
    if (isPreview) this.count('previews', '');
    else this.count('redirects', `type="${type}"`);
  }

  /** Shows what is known of the database and of unfinished jobs: a scrape never waits for the database. */
  watchStore(store: Pick<Store, 'isHealthy' | 'connections'>, pendingJobs: () => number): void {
    const { connections } = store;
    const jobs =
      'Accepted jobs that are not completed yet, as last read from the database, 1,000 at most';
    const up = '1 when the last use of the database succeeded, else 0';
    // Where several processes serve, the worst value is shown.
    this.#gauges.push(
      () => family('gauge', 'database_up', up, [['', store.isHealthy() ? 1 : 0]], 'min'),
      () => family('gauge', 'jobs_pending', jobs, [['', pendingJobs()]], 'max'),
    );
    if (connections === undefined) return;
    const help =
      'Connections to PostgreSQL of this process: those that work, those that are idle, and those that it may open still';
    const states = () =>
      Object.entries(connections()).map(([state, count]) => [`state="${state}"`, count] as const);
    this.#gauges.push(() => family('gauge', 'database_connections', help, states()));
  }

  /** Adds what prom-client knows of the process: memory, CPU, event loop lag, garbage collection. Once per process. */
  watchProcess(): void {
    collectDefaultMetrics({ register: this.#process });
  }

  async text(): Promise<string> {
    return addUp([await this.families()]).metrics();
  }

  /** What was counted since the start. */
  counted(): ToldMetric[] {
    const counters = Object.entries(this.#counters).map(([name, series]) =>
      family('counter', `${name}_total`, COUNTERS[name as Counter], series),
    );
    return [this.#durationsFamily(), ...counters];
  }

  /** All metrics. Some of prom-client are those since the last call. */
  async families(): Promise<ToldMetric[]> {
    const ofProcess = await this.#process.getMetricsAsJSON();
    return [
      ...this.counted(),
      ...this.#gauges.map((gauge) => gauge()),
      ...ofProcess.map((one) => ({ ...one, aggregator: aggregatorOf(one.name) })),
    ];
  }

  #durationsFamily(): Family {
    const help = 'Time from the request to its response, by route';
    const durations = family('histogram', 'http_request_duration_seconds', help, []);
    for (const [route, { buckets, sum }] of this.#durations) {
      let count = 0;
      const add = (what: string, value: number, labels: object = {}) =>
        durations.values.push({
          ...{ metricName: `${durations.name}_${what}`, labels: { ...labels, route }, value },
        });
      for (const [bucket, requests] of buckets.entries()) {
        count += requests;
        add('bucket', count, { le: DURATION_BUCKETS[bucket] ?? '+Inf' });
      }
      add('sum', sum);
      add('count', count);
    }
    return durations;
  }
}

export function addUp(processes: readonly ToldMetric[][]) {
  return AggregatorRegistry.aggregate([...processes]);
}

/** The counters of a process that has ended: what it measured then is no more. */
export function countersOf(families: Iterable<ToldMetric>): ToldMetric[] {
  return [...families].filter((family) => 'type' in family && family.type !== 'gauge');
}

/** Of these gauges of prom-client, the lowest value says most of several processes, or the highest. Any other gauge is a number of things. */
function aggregatorOf(name: string): Family['aggregator'] {
  if (name === 'process_start_time_seconds') return 'min';
  return /^(?:nodejs_version_info|process_max_fds|.*_lag_.*)$/.test(name) ? 'max' : 'sum';
}

function family(
  type: Family['type'],
  name: string,
  help: string,
  series: Iterable<readonly [labels: string, value: number]>,
  aggregator: Family['aggregator'] = 'sum',
): Family {
  const values = Array.from(series, ([text, value]) => {
    const labels = text.matchAll(/(\w+)="([^"]*)"/g);
    return { labels: Object.fromEntries(Array.from(labels, ([, key, of]) => [key, of])), value };
  });
  return { name: `shortlink_${name}`, help, type, aggregator, values };
}
