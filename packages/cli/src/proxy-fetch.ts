import { usageError } from './cli-error.ts';
import type { Io } from './io.ts';

/**
 * A `fetch` that goes through the proxies of HTTPS_PROXY, HTTP_PROXY and NO_PROXY (either case); undefined where none is
 * set. Node's own `fetch` uses them only from 22.21 and 24.5 on, and only when NODE_USE_ENV_PROXY was set before the
 * process started. undici is loaded only where there is a proxy, or for `isPublic`.
 *
 * @param isPublic - fail for private addresses, and for names that lead to one, also after a redirect. A proxy looks names up by itself:
 *   behind one, only addresses are recognised.
 */
export async function proxyFetch(
  env: Io['env'],
  isPublic = false,
): Promise<typeof globalThis.fetch | undefined> {
  const httpProxy = readProxy(env, 'http_proxy');
  const httpsProxy = readProxy(env, 'https_proxy');
  const isDirect = httpProxy === '' && httpsProxy === '';
  if (isDirect && !isPublic) return undefined;
  const { createAgent, fetchVia } = await import('./agents.ts');
  const proxies = isDirect ? undefined : { httpProxy, httpsProxy, noProxy: read(env, 'no_proxy') };
  return fetchVia(createAgent(proxies, isPublic));
}

/** Lower case wins, as in curl. */
function read(env: Io['env'], name: string): string {
  return env[name] ?? env[name.toUpperCase()] ?? '';
}

/** The value itself is not repeated in the error: it may hold a password. */
function readProxy(env: Io['env'], name: string): string {
  const value = read(env, name);
  if (value !== '' && !/^https?:$/.test(URL.parse(value)?.protocol ?? '')) {
    throw usageError(
      `${name.toUpperCase()} is not the address of an HTTP proxy.`,
      'It looks like this: http://proxy.example:3128',
    );
  }
  return value;
}
