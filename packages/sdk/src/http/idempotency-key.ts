/** A new key for one logical POST. Browsers have `randomUUID` only on https and localhost pages. */
export function newIdempotencyKey(): string {
  if ('randomUUID' in crypto) return crypto.randomUUID();
  const bytes = globalThis.crypto.getRandomValues(new Uint8Array(16));
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, '0')).join('');
}
