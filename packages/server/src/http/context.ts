import type { Readable } from 'node:stream';
import type { OwnHosts } from '../domain/hostnames.ts';
import type { JobPace } from '../domain/job-pace.ts';
import type { Metrics } from '../metrics/metrics.ts';
import type { Caller, Redirect, Store } from '../store/store.ts';
import type { BodyMemory } from './arriving-body.ts';
import type { BodyChecker } from './body-checker.ts';
import type { RunUnlessRunning } from './idempotency.ts';
import type { ResponseHeaders } from './respond.ts';

/** The connection a request came over; nothing of it is known when the app is called without a socket. */
export interface Connection {
  incoming?: { socket: { remoteAddress?: string | undefined } } | undefined;
  /** Node's stream of the request body, which is read instead of the one of the `Request`. The server's own listener sets it. */
  body?: Readable | undefined;
}

/** What every handler can read from its context. */
export interface AppEnv {
  Bindings: Connection;
  Variables: {
    /** The id of this request: `X-Request-Id` of the response. */
    requestId: string;
    /** Filled by `setHeader`. */
    responseHeaders?: ResponseHeaders;
    /** Set by `authenticate`; absent where no key is asked for. */
    caller?: Caller;
  };
}

/** What handlers behind `authenticate` can read. */
export interface CallerEnv {
  Bindings: Connection;
  Variables: AppEnv['Variables'] & { caller: Caller };
}

/** What the routes are made of; {@link createApp} puts it together. */
export interface RouteDeps {
  store: Store;
  metrics: Metrics;
  now: () => number;
  ownHosts: () => OwnHosts | Promise<OwnHosts>;
  bodyMemory: BodyMemory;
  bodyChecker: BodyChecker;
  runUnlessRunning: RunUnlessRunning;
  onJobAccepted: (jobId: string) => void;
  jobPace: JobPace;
  /** Jobs that are not complete, as last seen. */
  pendingJobs: () => number;
  onClick: (code: string) => void;
  findRedirect: (code: string) => Promise<Redirect | undefined>;
  isDraining: () => boolean;
}
