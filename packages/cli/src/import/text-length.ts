/**
 * Whether a text has more than `limit` characters as the service counts them: by Unicode code point, so that an emoji is one. A code
 * point is at most two units of the string, so only what is longer in units has to be counted.
 */
export function isLongerThan(limit: number, text: string): boolean {
  return text.length > limit && characterCount(text) > limit;
}

export function characterCount(text: string): number {
  let count = 0;
  for (const _ of text) count += 1;
  return count;
}
