import { once } from 'node:events';
import type { Server } from 'node:net';

/** Listens on a free port of 127.0.0.1 and resolves to the server's URL. */
export async function listenOnLoopback(server: Server): Promise<string> {
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('not listening on a port');
  return `http://127.0.0.1:${address.port}`;
}
