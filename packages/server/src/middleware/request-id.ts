import { HEADERS } from '@shortlink/sdk/wire';
import { createMiddleware } from 'hono/factory';
import { setHeader } from './answer.ts';
import type { AppEnv } from './env.ts';

/** Longest `X-Request-Id` that is taken over from a client or proxy. */
const MAX_REQUEST_ID_LENGTH = 128;

/** What a taken over id is made of: it goes into a header and into the log. */
const REQUEST_ID = /^[\w\-=]+$/;

/** Gives each request an id, the sender's own where it sent a sound one. It is on every answer and in every log line. */
export function requestId() {
  return createMiddleware<AppEnv>(async (c, next) => {
    const id = requestIdOf(c.req.header(HEADERS.requestId));
    c.set('requestId', id);
    setHeader(c, HEADERS.requestId, id);
    await next();
  });
}

/** The id that a request brought, or a new one. */
export function requestIdOf(given: string | undefined): string {
  const isSound =
    given !== undefined && given.length <= MAX_REQUEST_ID_LENGTH && REQUEST_ID.test(given);
  return isSound ? given : crypto.randomUUID();
}
