import { type LookupAddress, lookup, promises } from 'node:dns';
import { isIP, type LookupFunction } from 'node:net';
import ipaddr from 'ipaddr.js';
import { Agent, buildConnector, type Dispatcher, EnvHttpProxyAgent, errors, Pool } from 'undici';

/** Works with the `fetch` of Node 22, 24 and 26. */
export function fetchVia(dispatcher: Dispatcher): typeof globalThis.fetch {
  // The types of Node's undici and of ours differ only in wording, and both accept the intersection.
  return (input, init) => fetch(input, Object.assign({ ...init }, { dispatcher }));
}

/** The address of each proxy, and the hosts that need none; empty texts where nothing is set. */
type ProxyAddresses = Readonly<Record<'httpProxy' | 'httpsProxy' | 'noProxy', string>>;

/** The code that undici 8 gives to the error of a tunnel that was not opened. */
const NO_TUNNEL = 'UND_ERR_PRX_CONN';

/** Connects directly, or through proxies, which tunnel `https` only: many open tunnels to port 443 only. */
export function createAgent(proxies: ProxyAddresses | undefined, isPublic: boolean): Dispatcher {
  const agent = proxies
    ? new EnvHttpProxyAgent({ ...proxies, proxyTunnel: false, clientFactory: tunnelPool })
    : new Agent(isPublic ? { connect: { lookup: lookupPublic } } : {});
  if (!isPublic) return agent;
  return agent.compose((dispatch) => (options, handler) => {
    if (isPrivateHost(new URL(String(options.origin)).hostname)) throw privateAddress();
    return dispatch(options, handler);
  });
}

/** Fails where the proxy hangs up instead of opening a tunnel: undici 7 connects again then, without end (nodejs/undici#3897). */
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

/** A server that stands in for the one of a host. */
export interface Resolved {
  /** Without a dot at its end. Undefined stands for every host. */
  name: string | undefined;
  host: string;
  port: number;
}

/** Uses `otherwise` for hosts without a server here. `Host` and the name that TLS asks for stay those of the URL. */
export function resolvingFetch(servers: readonly Resolved[], otherwise: typeof fetch) {
  const connect = buildConnector({});
  const known = servers.map(({ name, host: hostname, port }) => {
    const to = { hostname, port: String(port) };
    const agent = new Agent({ connect: (options, done) => connect({ ...options, ...to }, done) });
    return { name, fetch: fetchVia(agent) };
  });
  return (...[input, init]: Parameters<typeof fetch>) => {
    const host = new URL(String(input)).hostname.replace(/\.$/, '');
    const found =
      known.find(({ name }) => name === host) ?? known.find(({ name }) => name === undefined);
    return (found?.fetch ?? otherwise)(input, init);
  };
}

/** Networks of this machine and those beside it, and of the service of a cloud that gives out its credentials. */
const PRIVATE = /^(?:unspecified|loopback|private|linkLocal|carrierGradeNat|uniqueLocal)$/;

/** Whether a host, as a URL has it, is a private address or `localhost`. */
export function isPrivateHost(hostname: string): boolean {
  const host = hostname.replace(/^\[|\]$|\.$/g, '');
  if (isIP(host) === 0) return /(?:^|\.)localhost$/.test(host);
  return PRIVATE.test(ipaddr.process(host).range());
}

/** Whether the host, or what its name leads to, is private. */
export async function leadsInside(address: string): Promise<boolean> {
  const { hostname } = new URL(address);
  if (isPrivateHost(hostname)) return true;
  const found = await promises.lookup(hostname, { all: true }).catch(() => []);
  return found.some((one) => isPrivateHost(one.address));
}

export const PRIVATE_ADDRESS = 'PRIVATE_ADDRESS';

function privateAddress(): Error {
  return Object.assign(new Error('a private address'), { code: PRIVATE_ADDRESS });
}

/** Refuses names that lead to a private address. It serves the connection itself, so that no second look-up can differ. */
const lookupPublic: LookupFunction = (hostname, options, done) => {
  lookup(hostname, options, (error, found: string | LookupAddress[], family) => {
    const addresses = typeof found === 'string' ? [found] : (found ?? []).map((one) => one.address);
    if (error !== null || !addresses.some(isPrivateHost)) done(error, found, family);
    else done(privateAddress(), '');
  });
};
