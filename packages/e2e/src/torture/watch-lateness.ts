import { join } from 'node:path';
import { Worker } from 'node:worker_threads';

/** A pause between two writes, in milliseconds, so that they don't keep the disk from the server. */
const EVERY_MS = 20;

/**
 * Measures how late this machine is: the longest time from when a timer was due until a thread had written a page to the disk. The server
 * needs the same steps for clicks, so on an overloaded machine it is as late, however fast it works.
 *
 * @param folder - Where to write, on the server's disk.
 * @returns `stop`, which gives that time in milliseconds.
 */
export async function watchLateness(folder: string): Promise<{ stop: () => number }> {
  const writer = new Worker(new URL('./probe-writer.ts', import.meta.url), {
    workerData: { path: join(folder, 'probe') },
  });
  await new Promise((resolve) => writer.once('online', resolve));
  let longest = 0;
  let due = 0;
  let timer: NodeJS.Timeout | undefined;
  const writeLater = () => {
    due = performance.now() + EVERY_MS;
    timer = setTimeout(() => writer.postMessage('write'), EVERY_MS);
  };
  const measure = () => {
    longest = Math.max(longest, performance.now() - due);
  };
  writer.on('message', () => {
    measure();
    writeLater();
  });
  writeLater();
  return {
    stop: () => {
      measure();
      clearTimeout(timer);
      void writer.terminate();
      return longest;
    },
  };
}
