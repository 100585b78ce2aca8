import type { Permission } from '@shortlink/sdk/wire';
import { createMiddleware } from 'hono/factory';
import { forbidden } from '../domain/problem.ts';
import type { CallerEnv } from './env.ts';

/** 403 for a key without the permission (spec, "Authentication"). */
export function requirePermission(permission: Permission) {
  return createMiddleware<CallerEnv>(async (c, next) => {
    if (!c.get('caller').permissions.includes(permission)) throw forbidden(permission);
    await next();
  });
}
