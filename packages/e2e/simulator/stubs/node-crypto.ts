/** Stands in for `node:crypto`: what is random there follows from the seed here. */
import { createHash } from 'node:crypto';
import { theWorld } from '../world/world.ts';

export { createHash };

export function randomBytes(size: number): Buffer {
  const { random } = theWorld();
  const bytes = Buffer.alloc(size);
  for (let index = 0; index < size; index += 1) bytes[index] = random.below(256);
  return bytes;
}

export function randomUUID(): string {
  const hex = randomBytes(16).toString('hex');
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-4${hex.slice(13, 16)}-8${hex.slice(17, 20)}-${hex.slice(20)}`;
}
