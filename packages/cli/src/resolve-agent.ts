import { Agent, buildConnector } from 'undici';

/** A server that is connected to instead of the one that the name of a host leads to. */
export interface Resolved {
  /** As a URL has it, without a dot at its end. Undefined stands for every host. */
  name: string | undefined;
  host: string;
  port: number;
}

/** A `fetch` that connects to other servers. `Host` and the name that TLS asks for stay those of the URL. Proxies are not used. */
export function resolvedFetch(servers: readonly Resolved[]): typeof globalThis.fetch {
  const connect = buildConnector({});
  const dispatcher = new Agent({
    connect: (options, done) => {
      const hostname = options.hostname.replace(/\.$/, '');
      const found =
        servers.find(({ name }) => name === hostname) ??
        servers.find(({ name }) => name === undefined);
      connect(
        found ? { ...options, hostname: found.host, port: String(found.port) } : options,
        done,
      );
    },
  });
  // assign, not a spread, as in proxy-fetch.ts.
  return (input, init) => fetch(input, Object.assign({ ...init }, { dispatcher }));
}
