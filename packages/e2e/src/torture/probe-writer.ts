import { fdatasyncSync, openSync, writeSync } from 'node:fs';
import { parentPort, workerData } from 'node:worker_threads';

/** A thread that writes a page to the disk for each message, and answers once it is there. */
const file = openSync(workerData.path, 'w');
const page = Buffer.alloc(4_096);
parentPort?.on('message', () => {
  writeSync(file, page, 0, page.length, 0);
  fdatasyncSync(file);
  parentPort?.postMessage('written');
});
