/**
 * {@link FloorService} on bare node:http. With the path of a new file, each link that is created is committed to it before the response.
 * Started by `server/targets.ts`.
 */
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { answerParent, listenOnLoopback } from '../frame/processes.ts';
import { FloorService } from './floor-service.ts';

const [file] = process.argv.slice(2);
const service = new FloorService();
const table = file === undefined ? undefined : await openTable(file);

const server = createServer((request, response) => {
  const path = request.url ?? '';
  if (request.method === 'POST') {
    readBody(request, (body) => {
      if (path === '/api/v1/links') answerJson(response, 201, createLink(body));
      else answerJson(response, 200, service.createBatch(body));
    });
  } else if (path.startsWith('/api/v1/jobs/')) {
    answerJson(response, 200, service.job(path.slice('/api/v1/jobs/'.length)));
  } else {
    const target = service.target(path.slice(1));
    if (target === undefined) response.writeHead(404, { 'Content-Length': 0 });
    else response.writeHead(302, { Location: target, 'Content-Length': 0 });
    response.end();
  }
});

/** Without a file, the server's store is not loaded: the floor is as small as it can be. */
async function openTable(path: string) {
  const { openBareTable } = await import('./bare-table.ts');
  return openBareTable(path);
}

function createLink(body: string) {
  const link = service.createLink(body);
  // Outside a transaction, each statement is a transaction of its own and waits for the disk.
  table?.insert(link.code, link.target_url);
  return link;
}

/** Reads a whole body. */
function readBody(request: IncomingMessage, onBody: (body: string) => void): void {
  const chunks: Buffer[] = [];
  request.on('data', (chunk: Buffer) => chunks.push(chunk));
  request.on('end', () => onBody(Buffer.concat(chunks).toString()));
}

/** Answers with JSON. */
function answerJson(response: ServerResponse, status: number, value: object): void {
  const body = JSON.stringify(value);
  response.writeHead(status, {
    'Content-Type': 'application/json',
    'Content-Length': Buffer.byteLength(body),
  });
  response.end(body);
}

const url = await listenOnLoopback(server);
answerParent(() => url);
