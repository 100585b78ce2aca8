import { setImmediate } from 'node:timers';
import { HEADERS, type Permission } from '@shortlink/sdk/wire';
import { createMiddleware } from 'hono/factory';
import { hashApiKey } from '../api-key.ts';
import { rateLimitHeaders } from '../domain/limits.ts';
import * as problems from '../domain/problem.ts';
import { OutageLog } from '../logger.ts';
import type { Caller, Store } from '../store/store.ts';
import type { AppOptions, CallerEnv } from './context.ts';

/** No API key is longer. A longer header is rejected without hashing it. */
const MAX_KEY_LENGTH = 256;

/** A process writes a key's last use at most this often, in milliseconds. */
const RECORD_USE_EVERY_MS = 60_000;

/** Keys whose last use is remembered. Beyond this number, uses are written more often than needed, and memory stays bounded. */
const MAX_REMEMBERED_KEYS = 10_000;

/** A key that was valid so long ago may be revoked by now, or its account be disabled, in milliseconds. */
const VALID_MS = 1_000;

/** Finds out whose key it is, again where the body took long to come: 401 without a valid one, 403 for a disabled account. */
export function authenticate({ store, now: clock }: Pick<AppOptions, 'store' | 'now'>) {
  const findCaller = callerFinder(store);
  const recordUse = useRecorder(store);
  return createMiddleware<CallerEnv>(async (c, next) => {
    if (clock() - (c.get('identifiedAt') ?? Number.NEGATIVE_INFINITY) < VALID_MS) return next();
    const key = c.req.header(HEADERS.apiKey);
    if (!key)
      throw problems.unauthorized(`API key is missing: send it in the ${HEADERS.apiKey} header.`);
    const caller = key.length <= MAX_KEY_LENGTH ? await findCaller(key) : undefined;
    if (caller === undefined) throw problems.unauthorized('API key is invalid.');
    const now = clock();
    if (caller.expiresAt !== undefined && caller.expiresAt <= now) {
      throw problems.unauthorized('API key has expired.');
    }
    if (caller.disabled) throw problems.accountDisabled();
    recordUse(caller.keyId, now);
    c.set('caller', caller);
    c.set('identifiedAt', now);
    await next();
  });
}

/** Looks keys up, each once for all requests that arrive in one turn of the event loop. */
function callerFinder(store: Pick<Store, 'findKeyByHash'>) {
  const ofThisTurn = new Map<string, Promise<Caller | undefined>>();
  return (key: string): Promise<Caller | undefined> => {
    let caller = ofThisTurn.get(key);
    if (caller === undefined) {
      if (ofThisTurn.size === 0) setImmediate(() => ofThisTurn.clear());
      caller = store.findKeyByHash(hashApiKey(key));
      ofThisTurn.set(key, caller);
    }
    return caller;
  };
}

/** Writes when a key was last used. Nothing waits for it, and a use that can't be written is left out. */
function useRecorder(store: Pick<Store, 'recordKeyUse'>): (keyId: string, now: number) => void {
  const recordedAt = new Map<string, number>();
  return (keyId, now) => {
    const last = recordedAt.get(keyId);
    if (last !== undefined && now - last < RECORD_USE_EVERY_MS) return;
    if (recordedAt.size >= MAX_REMEMBERED_KEYS) recordedAt.clear();
    recordedAt.set(keyId, now);
    store.recordKeyUse(keyId, now).catch(() => undefined);
  };
}

export function requirePermission(...permissions: readonly Permission[]) {
  return createMiddleware<CallerEnv>(async (c, next) => {
    const granted = c.get('caller').permissions;
    if (!permissions.some((one) => granted.includes(one))) throw problems.forbidden(permissions);
    await next();
  });
}

/** Counts the request against the plan's windows, or rejects it with 429. One that then fails through our fault is given back. */
export function admit({ store, now: clock, logger }: AppOptions) {
  const refundLog = new OutageLog('refund', logger);
  return createMiddleware<CallerEnv>(async (c, next) => {
    const caller = c.get('caller');
    const now = clock();
    const admission = await store.admit(caller, now);
    Object.assign(c.get('responseHeaders'), rateLimitHeaders(admission.windows, now));
    if (!admission.admitted) throw problems.rateLimited(admission.refusedBy, now);
    await next();
    if (c.res.status < 500 || (c.error instanceof problems.Problem && c.error.isOfCaller)) return;
    await store.refund(caller, now).then(
      () => refundLog.succeeded(),
      (error: unknown) => refundLog.failed(error, { request_id: c.get('requestId') }),
    );
  });
}
