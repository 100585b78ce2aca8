import type { Readable } from 'node:stream';
import type { OwnHosts } from '../domain/hostnames.ts';
import type { JobPace } from '../domain/job-pace.ts';
import type { TargetHosts } from '../domain/targets.ts';
import type { Logger } from '../logger.ts';
import type { Metrics } from '../metrics/metrics.ts';
import type { Settings } from '../settings.ts';
import type { RedirectCache } from '../store/redirect-cache.ts';
import type { Caller, Store } from '../store/store.ts';
import type { ResponseHeaders } from './respond.ts';

/** The connection a request came over; nothing of it is known when the app is called without a socket. */
export interface Connection {
  incoming?: { socket: { remoteAddress?: string | undefined; destroyed?: boolean } } | undefined;
  /** Node's stream of the request body, which is read instead of the one of the `Request`. The server's own listener sets it. */
  body?: Readable | undefined;
}

export interface AppEnv {
  Bindings: Connection;
  Variables: {
    requestId: string;
    /** Made by `observe`, and filled by `setHeader`. */
    responseHeaders: ResponseHeaders;
    caller?: Caller;
  };
}

export type CallerEnv = AppEnv & { Variables: { caller: Caller; identifiedAt?: number } };

/** What the app takes from the outside; its settings work as described there. */
export interface GivenOptions
  extends Partial<Pick<Settings, 'rootUrl' | 'notFoundUrl' | 'forwardQuery' | 'countPreviews'>>,
    Partial<Pick<Settings, 'metricsToken' | 'tlsAskToken'>> {
  store: Store;
  /** Origin of the default short domain, such as `https://sho.rt`: no link may point back at it. */
  publicUrl: string;
  /** Hosts that new links may and may not lead to. @default any host but the service's own */
  targetHosts?: TargetHosts | undefined;
  /** @default nothing is logged */
  logger?: Logger | undefined;
}

/** What the app is made of; `createService` puts it together. */
export interface AppOptions extends GivenOptions {
  metrics: Metrics;
  now: () => number;
  ownHosts: () => OwnHosts | Promise<OwnHosts>;
  /** `notify` is called for every accepted job that is not complete; `pendingJobs` are those that are not complete. */
  jobs: { notify: (jobId: string) => void; readonly pendingJobs: number };
  jobPace: JobPace;
  onClick: (code: string) => void;
  redirects: Pick<RedirectCache, 'find' | 'has'>;
  /** `true` makes `/readyz` respond with 503. */
  isDraining: () => boolean;
}
