/** Pieces of a list, in order, of at most this many. */
export function chunksOf<T>(list: readonly T[], most: number): T[][] {
  const count = Math.ceil(list.length / most);
  return Array.from({ length: count }, (_, at) => list.slice(at * most, (at + 1) * most));
}
