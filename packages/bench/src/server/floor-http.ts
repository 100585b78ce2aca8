/** {@link FloorService} on bare node:http. Started by `server/targets.ts`. */
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { answerParent } from '../frame/answer-parent.ts';
import { listenOnLoopback } from '../frame/listen-on-loopback.ts';
import { FloorService } from './floor-service.ts';

const service = new FloorService();

const server = createServer((request, response) => {
  const path = request.url ?? '';
  if (request.method === 'POST') {
    readBody(request, (body) => {
      if (path === '/api/v1/links') answer(response, 201, service.createLink(body));
      else answer(response, 200, service.createBatch(body));
    });
  } else if (path.startsWith('/api/v1/jobs/')) {
    answer(response, 200, service.job(path.slice('/api/v1/jobs/'.length)));
  } else {
    const target = service.target(path.slice(1));
    if (target === undefined) response.writeHead(404, { 'Content-Length': 0 });
    else response.writeHead(302, { Location: target, 'Content-Length': 0 });
    response.end();
  }
});

function readBody(request: IncomingMessage, onBody: (body: string) => void): void {
  const chunks: Buffer[] = [];
  request.on('data', (chunk: Buffer) => chunks.push(chunk));
  request.on('end', () => onBody(Buffer.concat(chunks).toString()));
}

function answer(response: ServerResponse, status: number, value: object): void {
  const body = JSON.stringify(value);
  response.writeHead(status, {
    'Content-Type': 'application/json',
    'Content-Length': Buffer.byteLength(body),
  });
  response.end(body);
}

const url = await listenOnLoopback(server);
answerParent(() => url);
