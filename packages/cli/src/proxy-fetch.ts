import { usageError } from './cli-error.ts';
import type { Io } from './io.ts';

/**
 * A `fetch` through the proxies of HTTPS_PROXY, HTTP_PROXY and NO_PROXY (either case); undefined where none is set. Node's own uses them only
 * from 22.21 and 24.5 on, and only with NODE_USE_ENV_PROXY. undici is loaded only where it is needed.
 *
 * @param isPublic - fail for private addresses and names. Behind a proxy, which looks names up itself, only addresses are recognised.
 */
export async function proxyFetch(env: Io['env'], isPublic = false) {
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

/** The error does not repeat the value: it may hold a password. */
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
