import { setTimeout as sleep } from 'node:timers/promises';
import { createDevAccount } from './admin/start.ts';
import { ownHostsOf } from './domain/hostnames.ts';
import type { Logger } from './logger.ts';
import { Metrics } from './metrics/metrics.ts';
import { openStore } from './open-store.ts';
import { type Listener, listen } from './serve.ts';
import { createService } from './service.ts';
import { databaseName } from './setting-values.ts';
import { ConfigError, publicUrlOf, SETTINGS, type Settings } from './settings.ts';
import { CacheFile } from './store/cache-file.ts';
import type { Store } from './store/store.ts';

/** A server that serves from now on. */
export interface StartedServer {
  /** `http://host:port` it listens on. */
  url: string;
  /** Origin of short URLs. */
  publicUrl: string;
  /** The key that `dev` made; `undefined` without it, or when the database has accounts already. */
  devKey: string | undefined;
  /** Id of the account to try the server out with; `undefined` without `dev`. */
  devAccountId: string | undefined;
}

export interface RunningServer extends StartedServer {
  /** Stops gracefully: requests in flight end, the running job chunk ends, clicks are written, the database is closed. */
  stop: () => Promise<void>;
}

export interface StartOptions {
  /** On an empty database, create an account without limits and a key. */
  dev: boolean;
  logger: Logger;
  /** Says that the server serves. @default a line of the log */
  announce?: ((server: StartedServer) => void) | undefined;
}

/**
 * Takes the port, opens the database and serves.
 *
 * @throws the system's error when the address can't be had, or a StoreError when the database can't be used
 */
export async function startServer(
  settings: Settings,
  options: StartOptions,
): Promise<RunningServer> {
  const metrics = new Metrics();
  const onRefused = (status: number) => metrics.countRefused(status);
  const listener = await listen(settings.host, settings.port, { onRefused });
  try {
    return await serve(listener, metrics, settings, options);
  } catch (error) {
    await listener.close();
    throw error;
  }
}

async function serve(
  listener: Listener,
  metrics: Metrics,
  settings: Settings,
  { dev, logger, announce = (server) => logStart(server, logger) }: StartOptions,
): Promise<RunningServer> {
  const port = Number(new URL(listener.url).port || 80);
  const publicUrl = publicUrlOf({ ...settings, port });
  const store = await openStore({ ...settings, publicUrl }, (message) => logger.warn(message));
  metrics.watchProcess();
  const service = createService({
    ...settings,
    store,
    publicUrl,
    cacheFile: cacheFileOf(settings, publicUrl, logger),
    targetHosts: { allow: settings.targetAllow, deny: settings.targetDeny },
    logger,
    metrics,
  });
  const end = async () => {
    await service.stop();
    await store.close();
  };
  let devKey: string | undefined;
  let devAccountId: string | undefined;
  try {
    await checkVisitorUrls(settings, publicUrl, store);
    if (dev) ({ id: devAccountId, key: devKey } = await createDevAccount(store, Date.now()));
    await service.start();
  } catch (error) {
    // Connections and threads of the database would keep the process alive.
    await end();
    throw error;
  }
  listener.respondWith(service.fetch, service.redirectNow);
  const started = { url: listener.url, publicUrl, devKey, devAccountId };
  announce(started);
  return {
    ...started,
    stop: async () => {
      logger.info('stopping');
      service.drain();
      listener.drain();
      // Balancers that see the 503 of `/readyz` in this time send nothing more to a port that is about to close.
      if (settings.drainDelayMs > 0) await sleep(settings.drainDelayMs);
      await listener.close();
      await end();
      logger.info('stopped');
    },
  };
}

function cacheFileOf({ linkCache, database }: Settings, publicUrl: string, logger: Logger) {
  if (linkCache === undefined) return undefined;
  const name = `${databaseName(database)} ${publicUrl}`;
  return new CacheFile({ path: linkCache, database: name, logger });
}

/** @throws ConfigError for an address to which visitors are sent where they come from, without end */
async function checkVisitorUrls(
  settings: Settings,
  publicUrl: string,
  store: Pick<Store, 'listDomains'>,
): Promise<void> {
  const { isOwnHost } = ownHostsOf(publicUrl, await store.listDomains());
  for (const name of ['rootUrl', 'notFoundUrl'] as const) {
    const url = settings[name];
    if (url === undefined || !isOwnHost(new URL(url))) continue;
    throw new ConfigError(
      `${SETTINGS[name].option.envVar} is "${url}"; expected an address on a host that is not the service's own`,
    );
  }
}

function logStart(server: StartedServer, logger: Logger): void {
  const { url, publicUrl, devKey, devAccountId } = server;
  if (devAccountId !== undefined && devKey === undefined) {
    logger.info(
      `the database has accounts, so --dev created none; get a new key with: shortlink-server keys create --account ${devAccountId}`,
    );
  }
  logger.info({ url, public_url: publicUrl }, 'serving');
}
