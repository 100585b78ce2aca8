import { once } from 'node:events';
import { connect, createServer, type Socket } from 'node:net';

/** A balancer: each connection goes to the next backend. */
export interface Balancer {
  url: string;
  port: number;
  /** Ports of the backends, which get connections in turns. A change applies to the next connection. */
  backends: number[];
  close: () => Promise<void>;
}

/**
 * Balances connections, not requests, and forwards bytes unchanged, so that a server receives exactly what a test sends.
 * Where a backend refuses the connection, the next one is tried: nothing was sent yet.
 */
export async function startBalancer(port = 0): Promise<Balancer> {
  const backends: number[] = [];
  const open = new Set<Socket>();
  let turn = 0;
  const server = createServer({ allowHalfOpen: true, pauseOnConnect: true }, (client) => {
    track(open, client);
    turn += 1;
    const order = backends.map((_, index) => backends[(turn + index) % backends.length] ?? 0);
    join(client, order, open);
  });
  server.listen(port, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('not listening on a port');
  return {
    url: `http://127.0.0.1:${address.port}`,
    port: address.port,
    backends,
    close: async () => {
      const closed = once(server, 'close');
      server.close();
      for (const socket of open) socket.destroy();
      await closed;
    },
  };
}

/** Connects a client to the first backend that takes the connection. */
function join(client: Socket, [port, ...others]: readonly number[], open: Set<Socket>): void {
  if (port === undefined) {
    client.destroy();
    return;
  }
  const backend = connect({ port, host: '127.0.0.1', allowHalfOpen: true });
  track(open, backend);
  let connected = false;
  backend.on('connect', () => {
    connected = true;
    client.pipe(backend);
    backend.pipe(client);
    client.resume();
  });
  backend.on('close', () => {
    if (connected) client.destroy();
    else join(client, others, open);
  });
  client.on('close', () => backend.destroy());
}

function track(open: Set<Socket>, socket: Socket): void {
  open.add(socket);
  socket.setNoDelay(true);
  // After a reset comes `close`, which is handled.
  socket.on('error', () => undefined);
  socket.on('close', () => open.delete(socket));
}
