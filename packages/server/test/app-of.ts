import { createApp } from '../src/app.ts';
import { ownHostsOf } from '../src/domain/hostnames.ts';
import { JobPace } from '../src/domain/job-pace.ts';
import type { AppOptions } from '../src/http/context.ts';
import { Metrics } from '../src/metrics/metrics.ts';

/** The app alone, on a store: no job runs by itself, each click is written at once, and no link is kept in memory. */
export function appOf(options: Partial<AppOptions> & Pick<AppOptions, 'store' | 'publicUrl'>) {
  const { store, publicUrl } = options;
  return createApp({
    metrics: new Metrics(),
    now: Date.now,
    ownHosts: async () => ownHostsOf(publicUrl, await store.listDomains({ removed: true })),
    jobs: { notify: () => undefined, pendingJobs: 0 },
    jobPace: new JobPace(),
    onClick: (code) => void store.addClicks(new Map([[code, 1]])).catch(() => undefined),
    redirects: { find: (code) => store.findRedirect(code), has: () => false },
    isDraining: () => false,
    ...options,
  });
}
