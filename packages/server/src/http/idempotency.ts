import { createHash } from 'node:crypto';
import { HEADERS } from '@shortlink/sdk/wire';
import type { HonoRequest } from 'hono';
import { parseIdempotencyKey } from '../domain/idempotency-key.ts';
import { idempotencyInProgress, invalidRequest } from '../domain/problem.ts';

/** What the store needs to answer a repeated request with the first one's answer. */
export interface Idempotency {
  key: string;
  fingerprint: string;
}

/**
 * Reads `Idempotency-Key` (addition, DESIGN section 2). The fingerprint covers the path and the body's bytes, so the
 * same key on the other endpoint is a conflict too. `undefined` without the header; 400 for one that is no key.
 */
export function readIdempotency(request: HonoRequest, body: Uint8Array): Idempotency | undefined {
  const header = request.header(HEADERS.idempotencyKey);
  if (header === undefined) return undefined;
  const key = parseIdempotencyKey(header);
  if (key === undefined) {
    throw invalidRequest('Idempotency-Key must be 1 to 255 printable ASCII characters.');
  }
  const fingerprint = createHash('sha256').update(`${request.path}\n`).update(body).digest('hex');
  return { key, fingerprint };
}

/** Runs a create; 409 while another request of the account with the same key is running. */
export type RunOnce = <T>(
  accountId: string,
  idempotency: Idempotency | undefined,
  create: () => Promise<T>,
) => Promise<T>;

export function createRunOnce(): RunOnce {
  const inProgress = new Set<string>();
  return async (accountId, idempotency, create) => {
    if (idempotency === undefined) return create();
    const id = `${accountId} ${idempotency.key}`;
    if (inProgress.has(id)) throw idempotencyInProgress();
    inProgress.add(id);
    try {
      return await create();
    } finally {
      inProgress.delete(id);
    }
  };
}
