import { isMainThread, parentPort, receiveMessageOnPort, workerData } from 'node:worker_threads';
import { generateCode } from '../../domain/ids.ts';
import { shortUrlMaker } from '../links.ts';
import { openFile, watchPlace } from './open-file.ts';
import { isChunkOf, WriteCore, type WriteReply, type WriteRequest } from './write-core.ts';

export type WriterThreadData = Parameters<typeof openFile>[0] & { publicUrl: string };

/** What the main thread posts: writes that arrived together, or the end. */
export type WriterThreadMessage = WriteRequest[] | 'close';

/** What the thread posts: once that it has opened the database, then replies. */
export type WriterThreadReply = WriteReply[] | 'ready';

/**
 * How long chunks share a transaction, in milliseconds. A longer one would, on a slow machine, delay clicks for more than the 500 ms that a crash
 * may cost. A shorter one cuts jobs into commits that write the same pages again.
 */
const MOST_SHARING_MS = 250;

/** The thread with the one writing connection, so that commits and jobs hold up no request. What comes meanwhile is the next group. */
function serve(port: NonNullable<typeof parentPort>, data: WriterThreadData): void {
  const db = openFile(data);
  const reply = (message: WriterThreadReply) => port.postMessage(message);
  reply('ready');
  let waiting: WriteRequest[] = [];
  let closing = false;
  let startedAt = 0;
  const next = (): WriterThreadMessage | undefined => receiveMessageOnPort(port)?.message;
  const receive = (first = next()) => {
    for (let message = first; message !== undefined; message = next()) {
      if (message === 'close') closing = true;
      else waiting.push(...message);
    }
  };
  const isIdle = (jobId: string) => {
    receive();
    if (performance.now() - startedAt > MOST_SHARING_MS) return false;
    return waiting.every((request) => isChunkOf(jobId, request));
  };
  const shortUrl = shortUrlMaker(data.publicUrl);
  const core = new WriteCore({ db, generateCode, shortUrl, isIdle }, watchPlace(data.path));
  port.on('message', (first: WriterThreadMessage) => {
    receive(first);
    while (waiting.length > 0) {
      const requests = waiting;
      waiting = [];
      startedAt = performance.now();
      waiting.unshift(...core.run(requests, reply));
      receive();
    }
    if (closing) {
      db.close();
      port.close();
    }
  });
}

if (!isMainThread && parentPort !== null) serve(parentPort, workerData);
