const FULL = '█';
const EMPTY = '░';

/** A bar of `width` characters, `fraction` (0 to 1) of it filled. Anything used at all shows, and only all is full. */
export function bar(fraction: number, width: number): string {
  const bounded = Math.min(1, Math.max(0, fraction));
  let filled = Math.floor(bounded * width);
  if (bounded > 0 && filled === 0) {
    filled = 1;
  }
  return FULL.repeat(filled) + EMPTY.repeat(width - filled);
}
