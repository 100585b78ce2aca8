import { Shortlink, type ShortlinkOptions } from '@shortlink/sdk';
import type { FaultRule, TestServerOptions } from '@shortlink/server/testing';
import type { Report, RuntimeTraits } from './check.ts';

/** How a server of the stage is started: those options of the test server that JSON can express. */
export interface StagedServerOptions
  extends Pick<TestServerOptions, 'plan' | 'limits' | 'permissions'> {
  /** Each fault names a method: otherwise a browser's preflight request would use it up. */
  faults?: (FaultRule & { method: string; path?: string })[] | undefined;
  /** The server's clock stands still at this time, in milliseconds since 1970. */
  nowMs?: number | undefined;
}

/** A request as a server of the stage received it. Preflight requests are left out. */
export interface SeenRequest {
  method: string;
  path: string;
}

/** A reference server that was started for one check. */
export interface StagedServer {
  baseUrl: string;
  apiKey: string;
  /** The requests that it has received so far. */
  requests: () => Promise<SeenRequest[]>;
  /** Resolves once it has received this many requests. */
  received: (count: number) => Promise<void>;
  /** Makes a client of this server. */
  client: (options?: ShortlinkOptions) => Shortlink;
}

/** Makes a client for an address that no reference server has. */
export function clientOf(baseUrl: string, options: ShortlinkOptions = {}): Shortlink {
  return new Shortlink({ apiKey: 'sl_some_key', baseUrl, ...options });
}

/**
 * The servers that checks use. The stage runs in the test's own process and starts real servers on request, since a
 * runtime such as a browser can't start one.
 */
export class Stage {
  readonly #url: string;

  /** `url` is where the stage listens, without a slash at the end. */
  constructor(url: string) {
    this.#url = url;
  }

  async startServer(options: StagedServerOptions = {}): Promise<StagedServer> {
    const { id, baseUrl, apiKey } = await this.#post<Record<'id' | 'baseUrl' | 'apiKey', string>>(
      '/servers',
      options,
    );
    const requests = () => this.#post<SeenRequest[]>(`/servers/${id}/requests`);
    return {
      baseUrl,
      apiKey,
      requests,
      async received(count) {
        while ((await requests()).length < count) {
          await new Promise((resolve) => setTimeout(resolve, 20));
        }
      },
      client: (clientOptions) => new Shortlink({ apiKey, baseUrl, ...clientOptions }),
    };
  }

  /** A server that responds with headers and the first bytes of a body, and never sends the rest. */
  async startStallingServer(): Promise<string> {
    return (await this.#post<{ baseUrl: string }>('/stalling-servers')).baseUrl;
  }

  /** An address where nobody listens. */
  async freeAddress(): Promise<string> {
    return (await this.#post<{ baseUrl: string }>('/free-addresses')).baseUrl;
  }

  /** Stops all servers that were started. */
  async clear(): Promise<void> {
    await this.#post('/clear');
  }

  traits(): Promise<RuntimeTraits> {
    return this.#post('/traits');
  }

  async deliver(report: Report): Promise<void> {
    await this.#post('/report', report);
  }

  /** The content type stays `text/plain`, so that browsers send no preflight to the stage itself. */
  async #post<T>(path: string, body: unknown = {}): Promise<T> {
    const response = await fetch(this.#url + path, { method: 'POST', body: JSON.stringify(body) });
    const text = await response.text();
    if (!response.ok) throw new Error(`stage: ${path}: ${response.status} ${text}`);
    return JSON.parse(text);
  }
}
