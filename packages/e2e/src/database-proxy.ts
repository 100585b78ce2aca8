import { once } from 'node:events';
import { connect, createServer, type Socket } from 'node:net';

/** A proxy between servers and PostgreSQL that behaves like a bad network. */
export interface DatabaseProxy {
  /** URL of the database through the proxy. */
  url: string;
  /**
   * With `true`, forwards nothing from now on: connections stay open and new ones are accepted. With `false`, new connections
   * work again; those from before stay silent, as after a firewall has dropped its state.
   */
  hang: (hanging: boolean) => void;
  /** Delays all bytes by this many milliseconds. */
  delay: (ms: number) => void;
  close: () => Promise<void>;
}

export async function startDatabaseProxy(databaseUrl: string): Promise<DatabaseProxy> {
  const target = new URL(databaseUrl);
  const open = new Set<Socket>();
  let hanging = false;
  let delayMs = 0;

  const forward = (from: Socket, to: Socket) => {
    open.add(from);
    from.setNoDelay(true);
    // After a reset comes `close`, which is handled.
    from.on('error', () => undefined);
    from.on('close', () => {
      open.delete(from);
      to.destroy();
    });
    from.on('data', (bytes) => {
      if (delayMs === 0) to.write(bytes);
      else setTimeout(() => to.write(bytes), delayMs);
    });
  };

  const server = createServer((client) => {
    if (hanging) {
      open.add(client.on('error', () => undefined));
      return;
    }
    const database = connect(Number(target.port), target.hostname);
    forward(client, database);
    forward(database, client);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('not listening on a port');
  return {
    url: Object.assign(new URL(databaseUrl), { host: `127.0.0.1:${address.port}` }).href,
    hang: (wanted) => {
      if (wanted) for (const socket of open) socket.removeAllListeners('data').resume();
      hanging = wanted;
    },
    delay: (ms) => {
      delayMs = ms;
    },
    close: async () => {
      const closed = once(server, 'close');
      server.close();
      for (const socket of open) socket.destroy();
      await closed;
    },
  };
}
