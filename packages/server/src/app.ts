import { ROUTES } from '@shortlink/sdk/wire';
import { type Context, Hono } from 'hono';
import { methodNotAllowed as methodNotAllowedMiddleware } from 'hono/method-not-allowed';
import { methodNotAllowed, notFound } from './domain/problem.ts';
import { admit, authenticate, requirePermission } from './http/admit.ts';
import { type AppEnv, type AppOptions, apiHeaders } from './http/context.ts';
import { analytics, openApi } from './http/documents.ts';
import { respondToError, respondToProblem, root } from './http/errors.ts';
import { getJob } from './http/jobs.ts';
import { createHandlers } from './http/links.ts';
import { lookUpLinks, waitForLinks } from './http/lookup.ts';
import { observe } from './http/observe.ts';
import * as operator from './http/operator-endpoints.ts';
import { bodyReader } from './http/read-body.ts';
import { REDIRECT_ROUTE, redirect } from './http/redirect.ts';
import { getUsage } from './http/usage.ts';
import { OutageLog } from './logger.ts';

/** The service as a Hono app: its `fetch` takes a `Request` and gives a `Response`, without a socket. */
export function createApp(options: AppOptions): Hono<AppEnv> {
  const { store, logger, metrics } = options;
  metrics.watchStore(store, () => options.jobs.pendingJobs);
  const app = new Hono<AppEnv>();
  const outage = new OutageLog('using the database for requests', logger);
  app.onError(respondToError(options, outage));
  const follow = redirect(options);
  // Returned, not thrown: the check for a wrong method looks at plain 404s only.
  app.notFound(async (c) => (await follow(c)) ?? respondToProblem(c, notFound('Path'), options));

  app.use(observe(options, outage));
  const onMethodNotAllowed = (c: Context, allowed: string[]) => {
    throw methodNotAllowed(c.req.method, allowed);
  };
  app.use(methodNotAllowedMiddleware({ app, onMethodNotAllowed }));
  app.use('/api/*', apiHeaders());

  // The order of the checks: 401, 429, 403, then what the body and the handler find.
  const identified = authenticate(options);
  const admitted = admit(options);
  const writer = requirePermission('shortlinks:write');
  const readBody = bodyReader(options);
  const { link, batch } = createHandlers(options);
  app.post(ROUTES.links, identified, admitted, writer, readBody('link'), identified, link);
  app.post(ROUTES.linksBatch, identified, admitted, writer, readBody('batch'), identified, batch);
  const asker = requirePermission('shortlinks:write', 'analytics:read');
  const [ready, entries] = [waitForLinks(options), readBody('lookup')];
  const lookUp = [identified, lookUpLinks(options)] as const;
  app.post(ROUTES.linksLookup, identified, admitted, asker, ready, entries, ...lookUp);
  app.get(`${ROUTES.jobs}/:id`, identified, admitted, getJob(options));
  app.get(ROUTES.usage, identified, getUsage(options));
  const page = analytics();
  app.get('/analytics', page);
  app.get('/analytics/:file', page);
  app.get('/openapi.json', openApi(options));
  app.get('/healthz', operator.health);
  app.get('/readyz', operator.readiness(options));
  app.get('/metrics', operator.metricsRoute(options));
  app.get(operator.TLS_ASK_PATH, operator.tlsAsk(options));
  app.get('/', root(options));
  app.get(REDIRECT_ROUTE, follow);
  return app;
}
