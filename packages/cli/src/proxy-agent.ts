import { type Dispatcher, EnvHttpProxyAgent, errors, Pool } from 'undici';

/** Addresses of proxies, each empty where there is none, and the hosts to reach without them. */
export interface ProxyAddresses {
  httpProxy: string;
  httpsProxy: string;
  noProxy: string;
}

/** The code that undici 8 gives to a tunnel that was not opened. */
const NO_TUNNEL = 'UND_ERR_PRX_CONN';

/** Tunnels `https` with CONNECT and passes `http` on, as curl does: many proxies open tunnels to port 443 only. */
export function createProxyAgent(addresses: ProxyAddresses): Dispatcher {
  return new EnvHttpProxyAgent({ ...addresses, proxyTunnel: false, clientFactory: tunnelPool });
}

/**
 * Fails where the proxy hangs up instead of opening a tunnel. undici 7 treats that as a lost connection and
 * connects again, thousands of times a second and without end (nodejs/undici#3897).
 */
function tunnelPool(origin: URL, options: object): Dispatcher {
  const pool = new Pool(origin, options);
  const connect = pool.connect.bind(pool);
  return Object.assign(pool, {
    connect: async (target: Parameters<typeof connect>[0]) => {
      try {
        return await connect(target);
      } catch (error) {
        if (!(error instanceof errors.SocketError)) throw error;
        throw Object.assign(new Error('the proxy closed the connection'), { code: NO_TUNNEL });
      }
    },
  });
}
