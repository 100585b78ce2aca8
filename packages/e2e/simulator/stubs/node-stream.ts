/** Stands in for `node:stream` in the reader of tables: whoever reads the target reads the source, in the events of the simulation. */
export function pipeline(
  source: AsyncIterable<Uint8Array>,
  target: { source: AsyncIterable<Uint8Array> | undefined },
): void {
  target.source = source;
}
