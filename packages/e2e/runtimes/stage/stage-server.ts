import { once } from 'node:events';
import { type ServerType, serve } from '@hono/node-server';
import { Hono } from 'hono';
import { cors } from 'hono/cors';
import type { Report, RuntimeTraits } from '../suite/check.ts';
import type { StagedServerOptions } from '../suite/stage.ts';
import { freeAddress, httpAddress } from './addresses.ts';
import { type RecordedServer, startRecordedServer } from './recorded-server.ts';
import { startStallingServer } from './stalling-server.ts';

/** Starts servers for the suite and receives its report. See `suite/stage.ts`. */
export interface StageServer extends AsyncDisposable {
  /** `http://127.0.0.1:port`. */
  url: string;
  /** Resolves once the suite has sent its report. */
  report: Promise<Report>;
  /** API keys of all servers started so far. */
  apiKeys: readonly string[];
}

/** Starts a stage on a free port of 127.0.0.1. */
export async function startStage(traits: RuntimeTraits): Promise<StageServer> {
  const running = new DisposableServers();
  const recorded = new Map<string, RecordedServer>();
  const apiKeys: string[] = [];
  let deliver: (report: Report) => void = () => undefined;
  const report = new Promise<Report>((resolve) => {
    deliver = resolve;
  });

  const app = new Hono();
  app.use(cors());
  app.onError((error, c) => c.text(String(error), 500));
  app.post('/traits', (c) => c.json(traits));
  app.post('/servers', async (c) => {
    const server = running.add(await startRecordedServer(await c.req.json<StagedServerOptions>()));
    const id = String(apiKeys.push(server.apiKey));
    recorded.set(id, server);
    return c.json({ id, baseUrl: server.baseUrl, apiKey: server.apiKey });
  });
  app.post('/servers/:id/requests', (c) => {
    const server = recorded.get(c.req.param('id'));
    return server === undefined ? c.text('this server was stopped', 404) : c.json(server.requests);
  });
  app.post('/stalling-servers', async (c) => {
    const { baseUrl } = running.add(await startStallingServer());
    return c.json({ baseUrl });
  });
  app.post('/free-addresses', async (c) => c.json({ baseUrl: await freeAddress() }));
  app.post('/clear', async (c) => {
    await running.dispose();
    recorded.clear();
    return c.json({});
  });
  app.post('/report', async (c) => {
    deliver(await c.req.json<Report>());
    return c.json({});
  });

  const server: ServerType = serve({
    fetch: app.fetch,
    hostname: '127.0.0.1',
    port: 0,
    // The tests run in this process too.
    overrideGlobalObjects: false,
  });
  await once(server, 'listening');
  return {
    url: httpAddress(server),
    report,
    apiKeys,
    async [Symbol.asyncDispose]() {
      await running.dispose();
      await close(server);
    },
  };
}

/** The servers of the current check. */
class DisposableServers {
  #servers: AsyncDisposable[] = [];

  add<T extends AsyncDisposable>(server: T): T {
    this.#servers.push(server);
    return server;
  }

  async dispose(): Promise<void> {
    const servers = this.#servers;
    this.#servers = [];
    await Promise.all(servers.map((server) => server[Symbol.asyncDispose]()));
  }
}

async function close(server: ServerType): Promise<void> {
  const closed = once(server, 'close');
  server.close();
  if ('closeAllConnections' in server) server.closeAllConnections();
  await closed;
}
