import { setImmediate } from 'node:timers';
import { HEADERS, type Permission } from '@shortlink/sdk/wire';
import { createMiddleware } from 'hono/factory';
import { hashApiKey } from '../api-key.ts';
import { forbidden, unauthorized } from '../domain/problem.ts';
import type { Caller, Store } from '../store/store.ts';
import type { CallerEnv } from './context.ts';

/** No key is longer; more is not worth hashing. */
const MAX_KEY_LENGTH = 256;

/** Finds out whose key the request carries. 401 without a valid one; counted nowhere. */
export function authenticate(store: Pick<Store, 'findKeyByHash'>) {
  const findCaller = callerFinder(store);
  return createMiddleware<CallerEnv>(async (c, next) => {
    const key = c.req.header(HEADERS.apiKey);
    if (!key) throw unauthorized(`API key is missing: send it in the ${HEADERS.apiKey} header.`);
    const caller = key.length <= MAX_KEY_LENGTH ? await findCaller(key) : undefined;
    if (caller === undefined) throw unauthorized('API key is invalid.');
    c.set('caller', caller);
    await next();
  });
}

/**
 * Looks keys up. Requests that arrive in one turn of the event loop share the look-up of a key, so a revoked key is rejected from
 * the next turn on.
 */
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

/** 403 for a key without the permission. */
export function requirePermission(permission: Permission) {
  return createMiddleware<CallerEnv>(async (c, next) => {
    if (!c.get('caller').permissions.includes(permission)) throw forbidden(permission);
    await next();
  });
}
