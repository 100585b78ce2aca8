/** Stands in for `node:stream`: Node's own streams take ticks that belong to no event of the simulation. */
export { Writable } from 'node:stream';

/** In the reader of tables: whoever reads the target reads the source, in the events of the simulation. */
export function pipeline(
  source: AsyncIterable<Uint8Array>,
  target: { source: AsyncIterable<Uint8Array> | undefined },
): void {
  target.source = source;
}

/** What becomes of the items of a source, in their order. */
async function* mapped<T, R>(
  source: AsyncIterable<T> | Iterable<T>,
  work: (item: T) => Promise<R>,
  { concurrency }: { concurrency: number },
): AsyncGenerator<R> {
  const running: Promise<R>[] = [];
  for await (const item of source) {
    running.push(work(item));
    const [first] = running;
    if (running.length < concurrency || first === undefined) continue;
    yield await first;
    running.shift();
  }
  for (const one of running) yield await one;
}

export const Readable = {
  from: <T>(source: AsyncIterable<T> | Iterable<T>) => ({
    async *[Symbol.asyncIterator]() {
      yield* source;
    },
    map: <R>(work: (item: T) => Promise<R>, limits: { concurrency: number }) =>
      mapped(source, work, limits),
  }),
};
