import { once } from 'node:events';
import { createServer, type Server } from 'node:net';

/** Where a server listens, as `http://127.0.0.1:port`. */
export function httpAddress(server: Server): string {
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('not listening on a port');
  return `http://127.0.0.1:${address.port}`;
}

/** An address at which nobody listens: its port was free a moment ago. */
export async function freeAddress(): Promise<string> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = httpAddress(server);
  server.close();
  await once(server, 'close');
  return address;
}
