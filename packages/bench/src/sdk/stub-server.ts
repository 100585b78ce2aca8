/** The cheapest possible service: every response but the small ones that accept a batch is made before the first request. Started by `startStub`. */
import { createServer, type IncomingMessage } from 'node:http';
import { answerParent, listenOnLoopback } from '../frame/processes.ts';
import {
  acceptedBatch,
  completedBatch,
  completedJob,
  LARGE_BATCH,
  SINGLE_ANSWERS,
  SMALL_BATCH,
} from './stub.ts';

const small = completedBatch(SMALL_BATCH);
const job = completedJob(LARGE_BATCH);

/** Each job has an id of its own, as those of any service. */
let jobs = 0;

/** Bodies above this many bytes are large batches. The stub doesn't parse bodies, since its own time would be measured then. */
const LARGE_BODY_BYTES = 100_000;

function answerTo(request: IncomingMessage) {
  const path = request.url ?? '';
  if (path === '/api/v1/links/batch') {
    return Number(request.headers['content-length']) > LARGE_BODY_BYTES
      ? acceptedBatch(LARGE_BATCH, ++jobs)
      : small;
  }
  return path.startsWith('/api/v1/jobs/') ? job : SINGLE_ANSWERS[path];
}

const server = createServer((request, response) => {
  request.resume();
  request.once('end', () => {
    const { status, body } = answerTo(request) ?? { status: 404, body: Buffer.from('{}') };
    response.writeHead(status, {
      'Content-Type': 'application/json',
      'Content-Length': body.length,
    });
    response.end(body);
  });
});
const url = await listenOnLoopback(server);
answerParent(() => url);
