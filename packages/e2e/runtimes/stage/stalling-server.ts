import { once } from 'node:events';
import { createServer } from 'node:http';
import { httpAddress } from './addresses.ts';

const CORS_HEADERS = {
  'Access-Control-Allow-Origin': '*',
  'Access-Control-Allow-Headers': '*',
};

/** Responds to every request with headers and the first bytes of a body, and never sends the rest. */
export async function startStallingServer(): Promise<{ baseUrl: string } & AsyncDisposable> {
  const server = createServer((request, response) => {
    if (request.method === 'OPTIONS') {
      response.writeHead(204, CORS_HEADERS).end();
      return;
    }
    const headers = { ...CORS_HEADERS, 'Content-Type': 'application/json', 'Content-Length': 500 };
    response.writeHead(201, headers).write('{"id":"');
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    baseUrl: httpAddress(server),
    async [Symbol.asyncDispose]() {
      const closed = once(server, 'close');
      server.close();
      server.closeAllConnections();
      await closed;
    },
  };
}
