import { HEADERS } from '@shortlink/sdk/wire';
import { createMiddleware } from 'hono/factory';
import { hashApiKey } from '../api-key.ts';
import { unauthorized } from '../domain/problem.ts';
import type { Store } from '../store/store.ts';
import type { CallerEnv } from './env.ts';

/** No key is longer; more is not worth hashing. */
const MAX_KEY_LENGTH = 256;

/** Finds out whose key the request carries (spec, "Authentication"). 401 without a valid one; counted nowhere. */
export function authenticate(store: Pick<Store, 'findKeyByHash'>) {
  return createMiddleware<CallerEnv>(async (c, next) => {
    const key = c.req.header(HEADERS.apiKey);
    if (!key) throw unauthorized(`API key is missing: send it in the ${HEADERS.apiKey} header.`);
    const caller =
      key.length <= MAX_KEY_LENGTH ? await store.findKeyByHash(hashApiKey(key)) : undefined;
    if (caller === undefined) throw unauthorized('API key is invalid.');
    c.set('caller', caller);
    await next();
  });
}
