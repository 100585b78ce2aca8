import { ROUTES } from '@shortlink/sdk/wire';
import { Hono } from 'hono';
import { methodNotAllowed as methodNotAllowedMiddleware } from 'hono/method-not-allowed';
import { type OwnHosts, ownHostsOf } from './domain/hostnames.ts';
import { JobPace } from './domain/job-pace.ts';
import { methodNotAllowed, notFound } from './domain/problem.ts';
import { EVERY_TARGET_HOST, type TargetHosts } from './domain/targets.ts';
import { admit } from './http/admit.ts';
import { BodyMemory } from './http/arriving-body.ts';
import { authenticate, requirePermission } from './http/authenticate.ts';
import { BodyChecker } from './http/body-checker.ts';
import type { AppEnv, RouteDeps } from './http/context.ts';
import { analytics, openApi } from './http/documents.ts';
import { respondToError, respondToProblem, root, type VisitorUrls } from './http/errors.ts';
import { createRunUnlessRunning } from './http/idempotency.ts';
import { getJob } from './http/jobs.ts';
import { createBatch, createLink } from './http/links.ts';
import { lookUpLinks } from './http/lookup.ts';
import { observe } from './http/observe.ts';
import {
  health,
  metricsRoute,
  readiness,
  TLS_ASK_PATH,
  tlsAsk,
} from './http/operator-endpoints.ts';
import { REDIRECT_ROUTE, redirect } from './http/redirect.ts';
import { apiHeaders, securityHeaders } from './http/respond.ts';
import { getUsage, limitUsageRequests } from './http/usage.ts';
import { type Logger, OutageLog } from './logger.ts';
import { Metrics } from './metrics/metrics.ts';
import type { Redirect, Store } from './store/store.ts';

export interface AppOptions extends VisitorUrls {
  /** Where everything is kept. */
  store: Store;
  /** Origin of the default short domain, such as `https://sho.rt`: no link may point back at it. */
  publicUrl: string;
  /** Hosts that new links may and may not lead to. @default any host but the service's own */
  targetHosts?: TargetHosts | undefined;
  /** @default nothing is logged */
  logger?: Logger | undefined;
  /** What is counted of requests, shown by `/metrics`. @default counters of this app alone */
  metrics?: Metrics | undefined;
  /** Bearer token that `/metrics` asks for. @default it is shown to direct connections from the same machine only */
  metricsToken?: string | undefined;
  /** Token with which a proxy asks which hosts need a certificate. @default direct connections from the same machine only */
  tlsAskToken?: string | undefined;
  /** Milliseconds since the epoch. @default Date.now */
  now?: (() => number) | undefined;
  /** Called with the id of every accepted job, so that a job runner starts it. Jobs don't run by themselves. @default nothing is called */
  onJobAccepted?: ((jobId: string) => void) | undefined;
  /** How fast jobs run at present. @default an estimate */
  jobPace?: JobPace | undefined;
  /** Called with the code of every followed link. @default each click is written to the store at once */
  onClick?: ((code: string) => void) | undefined;
  /** Looks a code up, perhaps in a cache. @default the store's own look-up */
  findRedirect?: ((code: string) => Promise<Redirect | undefined>) | undefined;
  /** The hosts that the service serves, perhaps from memory. @default the store is asked for the custom domains */
  ownHosts?: (() => OwnHosts | Promise<OwnHosts>) | undefined;
  /** `true` makes `/readyz` respond with 503. @default never */
  isDraining?: (() => boolean) | undefined;
}

/**
 * The service as a Hono app: its `fetch` takes a `Request` and gives a `Response`, without a socket. Jobs and clicks
 * are the caller's to run; {@link createService} does both.
 */
export function createApp(options: AppOptions): Hono<AppEnv> {
  const { store, logger } = options;
  const deps = toDeps(options);
  const app = new Hono<AppEnv>();
  const outage = new OutageLog({ logger, what: 'using the database for requests' });
  app.onError(respondToError({ ...deps, logger, outage, visitorUrls: options }));
  // Returned, not thrown: the check for a wrong method looks at plain 404s only.
  app.notFound((c) => respondToProblem(c, notFound('Path'), options));

  app.use(observe({ metrics: deps.metrics, logger, outage, store }));
  app.use(
    methodNotAllowedMiddleware({
      app,
      onMethodNotAllowed: (c, allowed) => {
        throw methodNotAllowed(c.req.method, allowed);
      },
    }),
  );
  const secured = securityHeaders();
  app.use('/api/*', apiHeaders());

  // The order of the checks: 401, 429, 403, then what the handler finds.
  const identified = authenticate(store, deps.now);
  const admitted = admit(store, deps.now, logger);
  const writer = requirePermission('shortlinks:write');
  app.post(ROUTES.links, identified, admitted, writer, createLink(deps));
  app.post(ROUTES.linksBatch, identified, admitted, writer, createBatch(deps));
  const asker = requirePermission('shortlinks:write', 'analytics:read');
  app.post(ROUTES.linksLookup, identified, admitted, asker, lookUpLinks(deps));
  app.get(`${ROUTES.jobs}/:id`, identified, admitted, getJob(deps));
  app.get(ROUTES.usage, identified, limitUsageRequests(deps.now), getUsage(deps));
  const page = analytics();
  app.get('/analytics', secured, page);
  app.get('/analytics/:file', secured, page);
  app.get('/openapi.json', secured, openApi(options.publicUrl));
  app.get('/healthz', secured, health);
  app.get('/readyz', secured, readiness(deps));
  app.get('/metrics', secured, metricsRoute(deps.metrics, options.metricsToken));
  app.get(TLS_ASK_PATH, secured, tlsAsk(deps, options.publicUrl, options.tlsAskToken));
  app.get('/', secured, root(options));
  app.get(REDIRECT_ROUTE, redirect(deps));
  return app;
}

function toDeps(options: AppOptions): RouteDeps {
  const { store, publicUrl, logger, now = Date.now, metrics = new Metrics() } = options;
  const pendingJobs = pendingJobsOf(store);
  metrics.watchStore(store, pendingJobs);
  const ownHosts =
    options.ownHosts ?? (async () => ownHostsOf(publicUrl, await store.listDomains()));
  const { targetHosts = EVERY_TARGET_HOST } = options;
  return {
    store,
    metrics,
    now,
    ownHosts,
    bodyMemory: new BodyMemory(),
    bodyChecker: new BodyChecker({ targetHosts, ownHosts }),
    runUnlessRunning: createRunUnlessRunning(),
    onJobAccepted: options.onJobAccepted ?? (() => undefined),
    jobPace: options.jobPace ?? new JobPace(),
    pendingJobs,
    onClick: options.onClick ?? countAtOnce(store, logger),
    findRedirect: options.findRedirect ?? ((code) => store.findRedirect(code)),
    isDraining: options.isDraining ?? (() => false),
  };
}

function countAtOnce(store: Store, logger: Logger | undefined): (code: string) => void {
  return (code) => {
    store.addClicks(new Map([[code, 1]])).catch((error: unknown) => {
      logger?.error({ err: error }, 'click not counted');
    });
  };
}

/** How long the number of unfinished jobs counts as new, in milliseconds. */
const PENDING_JOBS_MAX_AGE_MS = 1_000;

/**
 * The number of unfinished jobs as it was last read, and 0 before that. It is read in the background, so that no request waits for it: asking
 * for a number that is old starts another reading, unless one is under way.
 */
function pendingJobsOf(store: Pick<Store, 'pendingJobs'>): () => number {
  let current = 0;
  let readAt = Number.NEGATIVE_INFINITY;
  let isReading = false;
  const read = async () => {
    isReading = true;
    const jobs = await store.pendingJobs().catch(() => undefined);
    current = jobs?.length ?? current;
    isReading = false;
    readAt = performance.now();
  };
  return () => {
    if (!isReading && performance.now() - readAt >= PENDING_JOBS_MAX_AGE_MS) void read();
    return current;
  };
}
