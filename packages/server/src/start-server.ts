import { setTimeout as sleep } from 'node:timers/promises';
import { Hono } from 'hono';
import { createDevAccount } from './admin/keys.ts';
import { ownHostsOf, sharedHostWarning } from './domain/hostnames.ts';
import type { Connection } from './http/context.ts';
import type { Logger } from './logger.ts';
import { Metrics } from './metrics/metrics.ts';
import { databaseTools } from './open-store.ts';
import { listen } from './serve.ts';
import { createService, type Service } from './service.ts';
import { databaseName } from './setting-values.ts';
import { ConfigError, publicUrlOf, SETTINGS, type Settings } from './settings.ts';
import { cacheFile } from './store/cache-file.ts';
import type { Store } from './store/store.ts';

export interface StartOptions {
  /** On an empty database, create an account without limits and a key. */
  dev: boolean;
  logger: Logger;
}

/** The service, until it is stopped. */
interface Running {
  /** The key that {@link StartOptions.dev} made; `undefined` without it, or when the database has accounts already. */
  devKey: string | undefined;
  /** Id of the account to try the server out with; `undefined` without `dev`. */
  devAccountId: string | undefined;
  /** Stops gracefully: requests in flight end, the running job chunk ends, clicks are written, the database is closed. */
  stop: () => Promise<void>;
}

/** A server that serves until it is stopped. */
export interface RunningServer extends Running {
  /** `http://host:port` it listens on. */
  url: string;
  /** Origin of short URLs. */
  publicUrl: string;
}

/** The service without a socket. */
export interface RunningApp extends Running {
  /** A Hono app whose `fetch` takes a `Request` and gives a `Response`. */
  app: Hono<{ Bindings: Connection }>;
}

/**
 * Takes the port, opens the database and serves.
 *
 * @throws the system's error when the address can't be had, or a StoreError when the database can't be used
 */
export function startServer(settings: Settings, options: StartOptions): Promise<RunningServer> {
  return startCounting(settings, options, new Metrics());
}

/** The same with metrics that other processes may know. */
export async function startCounting(
  settings: Settings,
  options: StartOptions,
  metrics: Metrics,
): Promise<RunningServer> {
  const { logger } = options;
  const listener = await listen(settings.host, settings.port, {
    onRefused: (status) =>
      metrics.count('http_requests', `route="none",method="other",status="${status}"`),
  });
  const { url } = listener;
  try {
    const publicUrl = publicUrlOf({ ...settings, port: Number(new URL(url).port || 80) });
    const { service, stop: end, ...dev } = await openService(settings, publicUrl, metrics, options);
    metrics.watchProcess();
    listener.respondWith(service.fetch, service.redirectNow);
    const stop = async () => {
      logger.info('stopping');
      service.drain();
      listener.drain();
      // Balancers that see the 503 of `/readyz` in this time send nothing more to a port that is about to close.
      if (settings.drainDelayMs > 0) await sleep(settings.drainDelayMs);
      await listener.close();
      await end();
      logger.info('stopped');
    };
    return { url, publicUrl, ...dev, stop };
  } catch (error) {
    await listener.close();
    throw error;
  }
}

/**
 * Opens the database and starts the service, to be called by `fetch` or mounted in another app. Without a public URL among the settings, short URLs
 * begin with the address that a server would listen on.
 *
 * @throws a StoreError when the database can't be used
 */
export async function createApp(settings: Settings, options: StartOptions): Promise<RunningApp> {
  const publicUrl = publicUrlOf(settings);
  const { service, ...running } = await openService(settings, publicUrl, new Metrics(), options);
  const app = new Hono<{ Bindings: Connection }>();
  app.all('*', (c) => service.fetch(c.req.raw, c.env));
  return { app, ...running };
}

async function openService(
  settings: Settings,
  publicUrl: string,
  metrics: Metrics,
  { dev, logger }: StartOptions,
): Promise<Running & { service: Service }> {
  const { database, linkCache, targetAllow: allow, targetDeny: deny } = settings;
  const store = await databaseTools(settings, (text) => logger.warn(text)).open(publicUrl);
  const name = `${databaseName(database)} ${publicUrl}`;
  const service = createService({
    ...{ ...settings, store, publicUrl, targetHosts: { allow, deny }, logger, metrics },
    cacheFile: linkCache ? cacheFile({ path: linkCache, database: name, logger }) : undefined,
  });
  const stop = async () => {
    await service.stop();
    await store.close();
  };
  try {
    const { domains, ...made } = await prepare(store, settings, { publicUrl, dev });
    const warning = sharedHostWarning(publicUrl, domains);
    if (warning !== undefined) logger.warn(warning);
    await service.start();
    return { service, stop, ...made };
  } catch (error) {
    // Connections and threads of the database would keep the process alive.
    await stop();
    throw error;
  }
}

/** What is done before anything serves, by the first of several processes too. @throws ConfigError for an address that sends visitors where they come from, without end */
export async function prepare(
  store: Store,
  settings: Settings,
  { publicUrl, dev }: { publicUrl: string; dev: boolean },
) {
  const domains = await store.listDomains();
  const { isOwnHost } = ownHostsOf(publicUrl, domains);
  for (const name of ['rootUrl', 'notFoundUrl'] as const) {
    const url = settings[name];
    if (url === undefined || !isOwnHost(new URL(url))) continue;
    throw new ConfigError(
      `${SETTINGS[name].option.envVar} is "${url}"; expected an address on a host that is not the service's own`,
    );
  }
  const { id, key } = dev ? await createDevAccount(store, Date.now()) : {};
  return { domains, devKey: key, devAccountId: id };
}
