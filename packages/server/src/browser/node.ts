/** What a page has in the place of Node, pino, prom-client, `start-thread.ts` and some globals: its build puts these in (see `browser.config.ts`). */
import { sha1 } from '@noble/hashes/legacy.js';
import { sha256 } from '@noble/hashes/sha2.js';
import { bytesToHex } from '@noble/hashes/utils.js';
import { notFound } from '../domain/problem.ts';

const encoder = new TextEncoder();

/** Browsers decode no bytes of a buffer that can be resized, such as that of a large body. */
export class TextDecoder extends globalThis.TextDecoder {
  override decode(bytes?: Uint8Array, options?: TextDecodeOptions): string {
    const isResizable = bytes?.buffer instanceof ArrayBuffer && bytes.buffer.resizable;
    return super.decode(isResizable ? bytes.slice() : bytes, options);
  }
}

export const Buffer = {
  from: (data: string | Uint8Array) => (typeof data === 'string' ? encoder.encode(data) : data),
  byteLength: (text: string) => encoder.encode(text).length,
  concat: (pieces: readonly Uint8Array[]) => {
    const all = new Uint8Array(pieces.reduce((sum, { length }) => sum + length, 0));
    let at = 0;
    for (const piece of pieces) {
      all.set(piece, at);
      at += piece.length;
    }
    return all;
  },
};

const HASHES = { sha1, sha256 };
const ENCODINGS = {
  hex: bytesToHex,
  base64: (bytes: Uint8Array) => btoa(String.fromCharCode(...bytes)),
  buffer: (bytes: Uint8Array) => bytes,
};
export const hash = (
  name: keyof typeof HASHES,
  data: string | Uint8Array,
  encoding: keyof typeof ENCODINGS = 'hex',
) => ENCODINGS[encoding](HASHES[name](Buffer.from(data)));

/** A timer that Node's methods can be called on: a page's own is a number. */
const timerOf = (id: unknown) => ({
  unref: () => timerOf(Object(id).unref?.() ?? id),
  valueOf: () => Number(id),
});

type Callback = (...args: unknown[]) => void;
export const setTimeout = (callback: Callback, ms?: number) =>
  timerOf(globalThis.setTimeout(callback, ms));
export const setInterval = (callback: Callback, ms?: number) =>
  timerOf(globalThis.setInterval(callback, ms));
export const clearTimeout = (timer?: unknown) => globalThis.clearTimeout(Number(timer));
export const clearInterval = clearTimeout;

/** A browser has no `setImmediate`, and makes a chain of timers wait for 4 ms each. */
function takeTurn(callback: () => void) {
  if ('setImmediate' in globalThis) return globalThis.setImmediate(callback);
  const { port1, port2 } = new MessageChannel();
  port1.onmessage = () => {
    port1.close();
    callback();
  };
  return port2.postMessage(null);
}

/** A new turn of the event loop: of `node:timers` with a callback, of `node:timers/promises` without one. */
export const setImmediate = (callback: Callback = () => undefined) =>
  new Promise<void>((resolve) => {
    takeTurn(() => resolve(callback()));
  });

/** The files of the usage page are on a disk. */
export function createRequire(): never {
  throw notFound('Path');
}

export const HAS_THREADS = false;
export class Registry {
  contentType = '';
  metrics = async () => '';
  getMetricsAsJSON = async () => [];
}
export const AggregatorRegistry = { aggregate: () => new Registry() };

// Never called in a page.
const none = (): never => {
  throw new Error('This is not Node.');
};

export {
  none as collectDefaultMetrics,
  none as once,
  none as pino,
  none as readFileSync,
  none as startThread,
  none as stdTimeFunctions,
  none as stderr,
  none as timingSafeEqual,
};
export default {};
