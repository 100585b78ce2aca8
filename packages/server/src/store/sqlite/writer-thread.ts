import { isMainThread, parentPort, receiveMessageOnPort, workerData } from 'node:worker_threads';
import { generateCode } from '../../domain/codes.ts';
import { shortUrlMaker } from '../short-url.ts';
import { OpenedFile, openFile } from './open-file.ts';
import { WriteCore, type WriteReply, type WriteRequest } from './write-core.ts';

/** What the main thread hands to a new writer thread. */
export interface WriterThreadData {
  path: string;
  publicUrl: string;
  busyTimeoutMs: number;
}

/** What the main thread posts: writes that arrived together, or the end. */
export type WriterThreadMessage = WriteRequest[] | 'close';

/** What the thread posts: once that it has opened the database, then replies. */
export type WriterThreadAnswer = WriteReply[] | 'ready';

/**
 * The thread that holds the one writing connection, so that neither commits nor job chunks hold up the event loop that answers
 * requests. Messages that queued up during a commit, or during a chunk, become the next group.
 */
function serve(port: NonNullable<typeof parentPort>, data: WriterThreadData): void {
  const db = openFile(data);
  const shortUrl = shortUrlMaker(data.publicUrl);
  const core = new WriteCore({ db, generateCode, shortUrl }, new OpenedFile(data.path));
  const answer = (message: WriterThreadAnswer) => port.postMessage(message);
  answer('ready');
  port.on('message', (first: WriterThreadMessage) => {
    let requests: WriteRequest[] = [];
    let closing = false;
    let message: WriterThreadMessage | undefined = first;
    do {
      while (message !== undefined) {
        if (message === 'close') closing = true;
        else requests.push(...message);
        message = receiveMessageOnPort(port)?.message;
      }
      requests = core.run(requests, answer);
      message = receiveMessageOnPort(port)?.message;
    } while (message !== undefined || requests.length > 0);
    if (closing) {
      db.close();
      port.close();
    }
  });
}

if (!isMainThread && parentPort !== null) serve(parentPort, workerData);
