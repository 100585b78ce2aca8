import { type AppOptions, createApp } from './app.ts';
import { ClickBuffer } from './jobs/click-buffer.ts';
import { Housekeeping } from './jobs/housekeeping.ts';
import { QueuedJobRunner } from './jobs/queued-job-runner.ts';
import { JobRunner } from './jobs/runner.ts';
import { RedirectCache } from './store/redirect-cache.ts';

/** Options of {@link createService}. */
export type ServiceOptions = Pick<
  AppOptions,
  'store' | 'publicUrl' | 'targetHosts' | 'logger' | 'now'
>;

/** The whole service on a store: the app, and the work that goes on behind it. */
export interface Service {
  /** Answers one request. */
  fetch: (request: Request) => Response | Promise<Response>;
  /** Takes up the jobs of an earlier run, and starts the housekeeping. */
  start: () => Promise<void>;
  /** From now on `/readyz` answers 503, so that balancers send new requests elsewhere. */
  drain: () => void;
  /** Ends the work behind the app: the job chunk that runs is finished, clicks are written. The store stays open. */
  stop: () => Promise<void>;
}

/** Joins the app with its job runner, click buffer, redirect cache and housekeeping. */
export function createService(options: ServiceOptions): Service {
  const { store, logger, now } = options;
  const { jobQueue: queue } = store;
  const runner =
    queue === undefined
      ? new JobRunner({ store, logger, now })
      : new QueuedJobRunner({ store, queue, logger, now });
  const clicks = new ClickBuffer({ store, logger });
  const housekeeping = new Housekeeping({ store, logger, now });
  const redirects = new RedirectCache({ store });
  store.watchLinks?.(redirects);
  let draining = false;
  const app = createApp({
    ...options,
    onJobAccepted: (jobId) => runner.notify(jobId),
    onClick: (code) => clicks.add(code),
    findRedirect: (code) => redirects.find(code),
    isDraining: () => draining,
  });
  return {
    fetch: (request) => app.fetch(request),
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
