import { ROUTES } from '@shortlink/sdk/wire';
import { Hono } from 'hono';
import { methodNotAllowed as methodNotAllowedMiddleware } from 'hono/method-not-allowed';
import { methodNotAllowed, notFound } from './domain/problem.ts';
import { EVERY_TARGET_HOST, type TargetHosts, targetHostMatcher } from './domain/target-hosts.ts';
import type { Logger } from './logger.ts';
import { Metrics } from './metrics/metrics.ts';
import { admit } from './middleware/admit.ts';
import { answerJson, setHeaders } from './middleware/answer.ts';
import { answerError } from './middleware/answer-error.ts';
import { apiHeaders } from './middleware/api-headers.ts';
import { authenticate } from './middleware/authenticate.ts';
import type { AppEnv } from './middleware/env.ts';
import { createRunOnce } from './middleware/idempotency.ts';
import { logRequests } from './middleware/log-requests.ts';
import { measure } from './middleware/measure.ts';
import { requestId } from './middleware/request-id.ts';
import { requirePermission } from './middleware/require-permission.ts';
import { SECURITY_HEADERS, securityHeaders } from './middleware/security-headers.ts';
import { createOwnHosts } from './own-hosts.ts';
import { analytics } from './routes/analytics.ts';
import { createBatch } from './routes/create-batch.ts';
import { createLink } from './routes/create-link.ts';
import type { RouteDeps } from './routes/deps.ts';
import { getJob } from './routes/get-job.ts';
import { getUsage } from './routes/get-usage.ts';
import { health, readiness } from './routes/health.ts';
import { metricsRoute } from './routes/metrics.ts';
import { openApi } from './routes/openapi.ts';
import { redirect } from './routes/redirect.ts';
import type { Redirect, Store } from './store/store.ts';

export interface AppOptions {
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
  /** Bearer token that `/metrics` asks for. @default it answers direct connections from the same machine only */
  metricsToken?: string | undefined;
  /** Milliseconds since the epoch. @default Date.now */
  now?: (() => number) | undefined;
  /** Told the id of every accepted job, so that a job runner starts on it. Jobs don't run by themselves. @default nobody is told */
  onJobAccepted?: ((jobId: string) => void) | undefined;
  /** Told the code of every followed link. @default each click is written to the store at once */
  onClick?: ((code: string) => void) | undefined;
  /** Looks a code up, perhaps in a cache. @default the store's own look-up */
  findRedirect?: ((code: string) => Promise<Redirect | undefined>) | undefined;
  /** `true` makes `/readyz` answer 503. @default never */
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
  app.onError(answerError(logger, deps.metrics));
  // Answered, not thrown: the check for a wrong method looks at plain 404s only.
  app.notFound((c) => {
    setHeaders(c, SECURITY_HEADERS);
    return answerJson(c, notFound('Path').body, 404);
  });

  app.use(requestId());
  app.use(measure(deps.metrics));
  if (logger !== undefined) app.use(logRequests(logger));
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

  // The order of the checks is DESIGN section 2: 401, 429, 403, then what the handler finds.
  const identified = authenticate(store);
  const admitted = admit(store, deps.now, logger);
  const writer = requirePermission('shortlinks:write');
  app.post(ROUTES.links, identified, admitted, writer, createLink(deps));
  app.post(ROUTES.linksBatch, identified, admitted, writer, createBatch(deps));
  app.get(`${ROUTES.jobs}/:id`, identified, admitted, getJob(deps));
  app.get(ROUTES.usage, identified, getUsage(deps));
  app.get('/analytics', secured, analytics());
  app.get('/openapi.json', secured, openApi(options.publicUrl));
  app.get('/healthz', secured, health);
  app.get('/readyz', secured, readiness(deps));
  app.get(
    '/metrics',
    secured,
    metricsRoute({ metrics: deps.metrics, token: options.metricsToken }),
  );
  app.get('/:code', redirect(deps));
  return app;
}

function toDeps(options: AppOptions): RouteDeps {
  const { store, publicUrl, logger, now = Date.now, metrics = new Metrics() } = options;
  metrics.watchStore(store);
  return {
    store,
    metrics,
    now,
    ownHosts: createOwnHosts(store, publicUrl, now),
    isAllowedHost: targetHostMatcher(options.targetHosts ?? EVERY_TARGET_HOST),
    runOnce: createRunOnce(),
    onJobAccepted: options.onJobAccepted ?? (() => undefined),
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
