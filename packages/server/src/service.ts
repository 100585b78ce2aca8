import { type AppOptions, createApp } from './app.ts';
import { JobPace } from './domain/job-pace.ts';
import type { Connection } from './http/context.ts';
import { ClickBuffer } from './jobs/click-buffer.ts';
import { Housekeeping } from './jobs/housekeeping.ts';
import { QueuedJobRunner } from './jobs/queued-job-runner.ts';
import { JobRunner } from './jobs/runner.ts';
import { Metrics } from './metrics/metrics.ts';
import { RedirectCache } from './store/redirect-cache.ts';

/** Options of {@link createService}. */
export type ServiceOptions = Pick<
  AppOptions,
  | 'store'
  | 'publicUrl'
  | 'targetHosts'
  | 'logger'
  | 'now'
  | 'metrics'
  | 'metricsToken'
  | 'rootUrl'
  | 'notFoundUrl'
>;

/** The whole service on a store: the app, and the work that goes on behind it. */
export interface Service {
  /** Answers one request. */
  fetch: (request: Request, connection?: Connection) => Response | Promise<Response>;
  /** Takes up the jobs of an earlier run, and starts the housekeeping. */
  start: () => Promise<void>;
  /** From now on `/readyz` answers 503, so that balancers send new requests elsewhere. */
  drain: () => void;
  /** Ends the work behind the app: the job chunk that runs is finished, clicks are written. The store stays open. */
  stop: () => Promise<void>;
}

/** Joins the app with its job runner, click buffer, redirect cache and housekeeping. */
export function createService(options: ServiceOptions): Service {
  const { store, logger, now, metrics = new Metrics() } = options;
  const { jobQueue: queue } = store;
  const jobPace = new JobPace();
  const onLinksCreated = (links: number) => {
    metrics.countLinks('job', links);
    jobPace.made(links, performance.now());
  };
  const runner =
    queue === undefined
      ? new JobRunner({ store, logger, now, onLinksCreated })
      : new QueuedJobRunner({ store, queue, logger, now, onLinksCreated });
  const onDropped = (dropped: number) => metrics.countDroppedClicks(dropped);
  const clicks = new ClickBuffer({ store, logger, onDropped });
  const housekeeping = new Housekeeping({ store, logger, now });
  const redirects = new RedirectCache({ store });
  store.watchLinks?.(redirects);
  let draining = false;
  const app = createApp({
    ...options,
    metrics,
    onJobAccepted: (jobId) => runner.notify(jobId),
    jobPace,
    onClick: (code) => clicks.add(code),
    findRedirect: (code) => redirects.find(code),
    isDraining: () => draining,
  });
  return {
    fetch: (request, connection) => app.fetch(request, connection),
    start: async () => {
      await runner.start();
      housekeeping.start();
    },
    drain: () => {
      draining = true;
    },
    stop: async () => {
      await Promise.all([runner.stop(), clicks.stop(), housekeeping.stop()]);
    },
  };
}
