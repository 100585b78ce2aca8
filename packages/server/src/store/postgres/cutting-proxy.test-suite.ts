import { once } from 'node:events';
import { connect, createServer, type Socket } from 'node:net';
import { afterEach } from 'vitest';

/**
 * When the connection is cut: as the client's `COMMIT` arrives, once the database has begun it, or once it has been carried out, and perhaps
 * all others too.
 */
export type Cut = 'before COMMIT' | 'during COMMIT' | 'after COMMIT' | 'after COMMIT, for good';

/** Stands between a store and PostgreSQL. */
export interface CuttingProxy {
  /** The database, by way of the proxy. */
  url: string;
  /** Cuts the next transactions, one by each, as they commit. */
  cuts: Cut[];
  /** Lets nobody through, and cuts all who are. */
  block: (blocked: boolean) => void;
  /**
   * Passes nothing on from now on, and says nothing of it, like a network that swallows packets. With `false`, new connections
   * get through again; those from before stay silent.
   */
  swallow: (swallowing: boolean) => void;
  /** New connections lead to this database from now on, as an address does after a failover. */
  leadTo: (databaseUrl: string) => void;
  /** Passes everything on this much later, in milliseconds. */
  delay: (ms: number) => void;
}

/** Gives each test of a group proxies of its own. */
export function useCuttingProxy(): (databaseUrl: string) => Promise<CuttingProxy> {
  const closers: (() => void)[] = [];
  afterEach(() => {
    for (const close of closers.splice(0)) close();
  });
  return async (databaseUrl) => {
    let target = new URL(databaseUrl);
    const open = new Set<Socket>();
    const cuts: Cut[] = [];
    let blocked = false;
    let swallowing = false;
    let delayMs = 0;
    const server = createServer((client) => {
      if (blocked) client.destroy();
      else if (swallowing) open.add(client.on('error', () => undefined));
      else {
        const database = connect(Number(target.port), target.hostname);
        pass(client, database, { open, cuts, block, delayMs: () => delayMs });
      }
    });
    const cutAll = () => {
      for (const socket of open) socket.destroy();
    };
    const block = (wanted: boolean) => {
      blocked = wanted;
      if (wanted) cutAll();
    };
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    closers.push(() => {
      cutAll();
      server.close();
    });
    const address = server.address();
    if (address === null || typeof address === 'string') throw new Error('not listening');
    return {
      url: Object.assign(new URL(databaseUrl), { host: `127.0.0.1:${address.port}` }).href,
      cuts,
      block,
      swallow: (wanted) => {
        if (wanted) for (const socket of open) socket.removeAllListeners('data').resume();
        swallowing = wanted;
      },
      leadTo: (wanted) => {
        target = new URL(wanted);
      },
      delay: (ms) => {
        delayMs = ms;
      },
    };
  };
}

interface Passing {
  open: Set<Socket>;
  cuts: Cut[];
  block: (blocked: boolean) => void;
  delayMs: () => number;
}

function pass(client: Socket, database: Socket, { open, cuts, block, delayMs }: Passing): void {
  const later = (write: () => void) => {
    if (delayMs() === 0) write();
    else setTimeout(write, delayMs());
  };
  for (const [socket, other] of [
    [client, database],
    [database, client],
  ] as const) {
    open.add(socket);
    socket.setNoDelay(true);
    socket.on('error', () => undefined);
    socket.on('close', () => {
      open.delete(socket);
      other.destroy();
    });
  }
  let cutNow: Cut | undefined;
  client.on('data', (bytes) => {
    const cut = bytes.includes('COMMIT\0') ? cuts.shift() : undefined;
    if (cut === 'before COMMIT') client.destroy();
    else if (cut === 'during COMMIT') database.write(bytes, () => client.destroy());
    else later(() => database.write(bytes));
    cutNow = cut;
  });
  database.on('data', (bytes) => {
    // The answer is there, so the commit has been carried out; it goes no further.
    if (cutNow === 'after COMMIT, for good') block(true);
    else if (cutNow !== undefined) client.destroy();
    else later(() => client.write(bytes));
  });
}
