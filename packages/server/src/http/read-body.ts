import type { Readable } from 'node:stream';
import { HEADERS } from '@shortlink/sdk/wire';
import { createMiddleware } from 'hono/factory';
import * as problems from '../domain/problem.ts';
import { ArrivingBody, BodyMemory } from './arriving-body.ts';
import { bodyChecker } from './body-checker.ts';
import { type BodyKind, type CheckedBody, MAX_BYTES } from './check-body.ts';
import type { AppOptions, CallerEnv } from './context.ts';

const JSON_TYPE = /^application\/json[\t ]*(?:;|$)/i;

export type BodyEnv<K extends BodyKind> = CallerEnv & { Variables: { body: CheckedBody<K> } };

/** Reads and checks the body of a request, and keeps its memory until the response is made. */
export function bodyReader(options: AppOptions) {
  const memory = new BodyMemory();
  const checkBody = bodyChecker(options);
  return <K extends BodyKind>(kind: K) =>
    createMiddleware<BodyEnv<K>>(async (c, next) => {
      const header = (name: string) => c.req.header(name);
      if (!JSON_TYPE.test(header('Content-Type') ?? '')) throw problems.unsupportedMediaType();
      if ((header('Content-Encoding') ?? 'identity').toLowerCase() !== 'identity') {
        throw problems.unsupportedContentEncoding();
      }
      const { accountId, limits } = c.get('caller');
      const statedBytes = Number(header('Content-Length') ?? Number.NaN);
      const maxBytes = MAX_BYTES[kind](limits);
      const body = new ArrivingBody({ memory, accountId, maxBytes, statedBytes });
      try {
        await readAll(c.env?.body ?? piecesOf(c.req.raw), body);
        const keyedPath = header(HEADERS.idempotencyKey) === undefined ? undefined : c.req.path;
        c.set('body', await checkBody({ kind, bytes: body.bytes, accountId, keyedPath }));
        await next();
      } finally {
        body.release();
      }
    });
}

async function readAll(
  stream: Readable | AsyncIterable<Uint8Array<ArrayBuffer>>,
  body: ArrivingBody,
): Promise<void> {
  try {
    if ('pause' in stream) await readStream(stream, body);
    else for await (const piece of stream) body.add(piece);
  } catch (error) {
    if (error instanceof problems.Problem) throw error;
    // The client closed the connection in the middle of the body: nobody reads this response, and it is no fault of the service.
    throw problems.invalidRequest('The request body could not be read.');
  }
}

/** Not every browser can read the body of a `Request` piece by piece. */
async function* piecesOf(request: Request): AsyncGenerator<Uint8Array<ArrayBuffer>> {
  if (request.body && Symbol.asyncIterator in request.body) yield* request.body;
  else yield new Uint8Array(await request.arrayBuffer());
}

/** A large body holds memory that others need, so reading stops when fewer bytes than this arrive in so many seconds. */
const MIN_BYTES_PER_SPAN = 128 * 1024;
const SPAN_SECONDS = 5;

/** Reads node's own stream: a web stream on top of it costs ten times as much for each piece. */
function readStream(stream: Readable, body: ArrivingBody): Promise<void> {
  if (stream.destroyed) return Promise.reject(new Error('closed before it was read'));
  return new Promise((resolve, reject) => {
    const settle = (error?: unknown) => {
      clearInterval(timer);
      stream.off('data', onData).off('end', onEnd).off('error', settle).off('close', onClose);
      if (error === undefined) resolve();
      else reject(error);
    };
    const onEnd = () => settle();
    const onClose = () => settle(new Error('closed in the middle'));
    const stop = (error: unknown) => {
      // The rest waits in the socket until the response is sent.
      stream.pause();
      settle(error);
    };
    const recent: number[] = [];
    let bytes = 0;
    const onData = (piece: Uint8Array<ArrayBuffer>) => {
      bytes += piece.length;
      try {
        body.add(piece);
      } catch (error) {
        stop(error);
      }
    };
    // Seconds are counted one by one, so that a time in which this process itself is busy doesn't count against the client.
    const timer = setInterval(() => {
      recent.push(bytes);
      bytes = 0;
      if (recent.length > SPAN_SECONDS) recent.shift();
      const arrived = recent.reduce((sum, ofSecond) => sum + ofSecond, 0);
      if (recent.length === SPAN_SECONDS && arrived < MIN_BYTES_PER_SPAN && body.counted > 0) {
        stop(problems.overloaded('The request body comes in too slowly; try again in 1 s.', true));
      }
    }, 1_000);
    timer.unref();
    stream.on('data', onData).on('end', onEnd).on('error', settle).on('close', onClose);
  });
}
