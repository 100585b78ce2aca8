import type { Random } from '../kernel/random.ts';

/** Bytes as they arrive: whole, or cut anywhere, also inside a character. */
export function piecesOf(bytes: Buffer, random: Random): Buffer[] {
  if (!random.chance(0.3)) return [bytes];
  const cuts = Array.from({ length: random.between(1, 3) }, () => random.below(bytes.length + 1));
  const ends = [...cuts.toSorted((a, b) => a - b), bytes.length];
  return ends.map((end, index) => bytes.subarray(ends[index - 1] ?? 0, end));
}
