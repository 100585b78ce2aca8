import { createApp } from './app.ts';
import { JobPace } from './domain/job-pace.ts';
import type { Connection, GivenOptions } from './http/context.ts';
import { fastRedirect } from './http/fast-redirect.ts';
import { clickBuffer } from './jobs/click-buffer.ts';
import { housekeeping, linkFollower } from './jobs/repeated.ts';
import { JobRunner } from './jobs/runner.ts';
import { Metrics } from './metrics/metrics.ts';
import { type CachedLink, RedirectCache } from './store/redirect-cache.ts';

export interface ServiceOptions extends GivenOptions {
  /** What is counted of requests. @default counters of this service alone */
  metrics?: Metrics | undefined;
  now?: (() => number) | undefined;
  /** Where the links in memory are kept over a restart. @default they are not kept */
  cacheFile?: { read: () => CachedLink[]; write: (links: CachedLink[]) => void } | undefined;
}

export type Service = ReturnType<typeof createService>;

/** Joins the app with its job runner, click buffer, redirect cache and housekeeping. */
export function createService(options: ServiceOptions) {
  const { store, publicUrl, logger, now = Date.now, cacheFile, metrics = new Metrics() } = options;
  const jobPace = new JobPace();
  const onLinksCreated = (links: number, startedAt: number) => {
    metrics.count('links_created', 'by="job"', links);
    jobPace.made(links, startedAt, performance.now());
  };
  const runner = new JobRunner({ store, logger, now, onLinksCreated });
  const onDropped = (dropped: number) => metrics.count('clicks_dropped', '', dropped);
  const clicks = clickBuffer({ store, logger, onDropped, now });
  const pruning = housekeeping(store, logger, now);
  const redirects = new RedirectCache(store);
  const follower = linkFollower({ store, cache: redirects, publicUrl, logger });
  let draining = false;
  let isStarted = false;
  const parts = {
    ...{ ...options, ...follower, metrics, now, jobPace, jobs: runner, redirects },
    onClick: clicks.add,
    isDraining: () => draining,
  };
  const app = createApp(parts);
  return {
    fetch: (request: Request, connection?: Connection) => app.fetch(request, connection),
    /** Responds with a redirect on node's own server, where it can be done from memory. `false`: `fetch` has to respond. */
    redirectNow: fastRedirect(parts),
    /** Continues the jobs of an earlier run, and starts the housekeeping. */
    start: async () => {
      redirects.restore(cacheFile?.read() ?? []);
      await follower.start();
      await runner.start();
      pruning.start();
      isStarted = true;
    },
    /** From now on `/readyz` responds with 503, so that balancers send new requests elsewhere. */
    drain: () => {
      draining = true;
    },
    /** Ends the work behind the app: the job chunk that runs is finished, clicks are written. The store stays open. */
    stop: async () => {
      follower.stop();
      // One that could not start knows no link, and leaves the file of the run before.
      if (isStarted) cacheFile?.write(redirects.links());
      await Promise.all([runner.stop(), clicks.stop(), pruning.stop()]);
    },
  };
}
