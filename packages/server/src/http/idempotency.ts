import { HEADERS } from '@shortlink/sdk/wire';
import type { HonoRequest } from 'hono';
import { idempotencyInProgress, invalidRequest } from '../domain/problem.ts';
import type { Idempotency } from '../store/store.ts';

/** Printable ASCII without a space, and not beginning like a quoted key. */
const BARE_KEY = /^(?!")[\x21-\x7e]{1,255}$/;

/** A structured-field string (RFC 9651 section 3.3.3). */
const QUOTED_KEY = /^"((?:[\x20\x21\x23-\x5b\x5d-\x7e]|\\["\\]){1,255})"$/;

/** The key in a header: the draft asks for a quoted string, and most clients send it bare. `undefined` for anything else. */
export function parseIdempotencyKey(header: string): string | undefined {
  if (BARE_KEY.test(header)) return header;
  return QUOTED_KEY.exec(header)?.[1]?.replace(/\\(["\\])/g, '$1');
}

/** Reads `Idempotency-Key`. `undefined` without a fingerprint; 400 for a header that is no key. */
export function readIdempotency(
  request: HonoRequest,
  fingerprint: string | undefined,
): Idempotency | undefined {
  if (fingerprint === undefined) return undefined;
  const key = parseIdempotencyKey(request.header(HEADERS.idempotencyKey) ?? '');
  if (key === undefined) {
    throw invalidRequest('Idempotency-Key must be 1 to 255 printable ASCII characters.');
  }
  return { key, fingerprint };
}

export type RunUnlessRunning = ReturnType<typeof createRunUnlessRunning>;

/** Runs a create, unless another request of the account with the same key is running: then 409. It knows the creates of this process only; the store finds duplicates that reach two instances. */
export function createRunUnlessRunning() {
  const running = new Set<string>();
  return async <T>(
    accountId: string,
    idempotency: Idempotency | undefined,
    create: () => Promise<T>,
  ): Promise<T> => {
    if (idempotency === undefined) return create();
    const id = `${accountId} ${idempotency.key}`;
    if (running.has(id)) throw idempotencyInProgress();
    running.add(id);
    try {
      return await create();
    } finally {
      running.delete(id);
    }
  };
}
