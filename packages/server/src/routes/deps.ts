import type { OwnHosts } from '../domain/own-hosts.ts';
import type { IsAllowedHost } from '../domain/target-hosts.ts';
import type { Metrics } from '../metrics/metrics.ts';
import type { RunOnce } from '../middleware/idempotency.ts';
import type { Redirect, Store } from '../store/store.ts';

/** What the routes are made of; {@link createApp} puts it together. */
export interface RouteDeps {
  store: Store;
  metrics: Metrics;
  now: () => number;
  ownHosts: () => OwnHosts | Promise<OwnHosts>;
  isAllowedHost: IsAllowedHost;
  runOnce: RunOnce;
  onJobAccepted: (jobId: string) => void;
  onClick: (code: string) => void;
  findRedirect: (code: string) => Promise<Redirect | undefined>;
  isDraining: () => boolean;
}
