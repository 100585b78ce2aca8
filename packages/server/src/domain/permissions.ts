import { PERMISSIONS, type Permission } from '@shortlink/sdk/wire';

/** What a new key may do when nothing is asked for. */
export const DEFAULT_PERMISSIONS: readonly Permission[] = ['shortlinks:write'];

/** `undefined` when it is no permission of the service. */
export function parsePermission(text: string): Permission | undefined {
  return PERMISSIONS.find((permission) => permission === text);
}
