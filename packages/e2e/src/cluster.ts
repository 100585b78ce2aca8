import { type Balancer, startBalancer } from './balancer.ts';
import { type ServerProcess, type StartOptions, startServer } from './server-process.ts';

/** Several servers on one database behind one address. A test uses it like one server. */
export interface Cluster extends ServerProcess {
  servers: ServerProcess[];
  balancer: Balancer;
}

export const INSTANCES = 3;

/** Starts instances at the same time, all on the same empty database, and a balancer in front of them. */
export async function startCluster(options: StartOptions): Promise<Cluster> {
  const balancer = await startBalancer(options.port);
  const args = ['--public-url', balancer.url, ...(options.args ?? [])];
  const servers = await Promise.all(
    Array.from({ length: INSTANCES }, () => startServer({ ...options, port: undefined, args })),
  );
  balancer.backends.push(...servers.map((server) => server.port));
  const [first] = servers;
  if (first === undefined) throw new Error('a cluster has a server');
  return {
    url: balancer.url,
    port: balancer.port,
    child: first.child,
    servers,
    balancer,
    log: () => servers.map((server) => server.log()).join(''),
    setClock: async (message) => {
      await Promise.all(servers.map((server) => server.setClock(message)));
    },
    stop: async (signal) => {
      const codes = await Promise.all(servers.map((server) => server.stop(signal)));
      await balancer.close();
      return codes.every((code) => code === 0) ? 0 : (codes.find((code) => code !== 0) ?? null);
    },
  };
}
