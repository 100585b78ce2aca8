/** Replaces what the programs under test find in this thread, as the SDK and its libraries find it. */

import { Random } from '../kernel/random.ts';
import { installVirtualTime } from '../kernel/virtual-time.ts';
import type { FetchInit } from '../world/network.ts';
import { theWorld } from '../world/world.ts';

/** Size from which a buffer costs more to make than to use again. */
const LARGE_BYTES = 32 * 1024;

/** More than a program ever holds of one size. */
const KEPT_BUFFERS = 64;

/** Large buffers go round: the programs make a few for each file, and their making would take a tenth of the time. */
function reuseLargeBuffers(): void {
  const kept = new Map<number, { buffers: Buffer<ArrayBuffer>[]; next: number }>();
  const { allocUnsafe } = Buffer;
  Buffer.allocUnsafe = (size) => {
    if (size < LARGE_BYTES) return allocUnsafe(size);
    const ring = kept.get(size) ?? { buffers: [], next: 0 };
    kept.set(size, ring);
    const index = ring.next;
    ring.next = (index + 1) % KEPT_BUFFERS;
    ring.buffers[index] ??= allocUnsafe(size);
    return ring.buffers[index];
  };
}

/** What ky reads of a request that it makes. The SDK gives `fetch` an address and headers of its own. */
class NamedRequest {
  readonly url: string;
  readonly method: string | undefined;

  constructor(input: string | URL | NamedRequest, init: RequestInit = {}) {
    this.url = input instanceof NamedRequest ? input.url : String(input);
    this.method = init.method ?? (input instanceof NamedRequest ? input.method : 'GET');
  }
}

export function replaceGlobals(): void {
  installVirtualTime();
  reuseLargeBuffers();
  Object.assign(globalThis, {
    Request: NamedRequest,
    fetch: (url: string, init: FetchInit) => theWorld().fetch(url, init),
  });
  // Nothing of this machine decides what happens, and the real one is slow to read.
  Object.defineProperty(process, 'env', { value: {} });
  // Codes and ids of the server: what is random in them decides nothing, but a trace shows it.
  const random = new Random(0);
  globalThis.crypto.getRandomValues = (array) => {
    if (array instanceof Uint8Array)
      for (const index of array.keys()) array[index] = random.below(256);
    return array;
  };
  globalThis.crypto.randomUUID = () => {
    const digits = random
      .below(2 ** 32)
      .toString(16)
      .padStart(12, '0');
    return `00000000-0000-4000-8000-${digits}`;
  };
}
