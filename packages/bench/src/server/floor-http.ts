/** {@link FloorService} on bare node:http. Started by `server/targets.ts`. */
import { createServer } from 'node:http';
import { answerParent, listenOnLoopback } from '../frame/processes.ts';
import { FloorService } from './floor-service.ts';
import { answerJson, readBody } from './plain-http.ts';

const service = new FloorService();

const server = createServer((request, response) => {
  const path = request.url ?? '';
  if (request.method === 'POST') {
    readBody(request, (body) => {
      if (path === '/api/v1/links') answerJson(response, 201, service.createLink(body));
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

const url = await listenOnLoopback(server);
answerParent(() => url);
