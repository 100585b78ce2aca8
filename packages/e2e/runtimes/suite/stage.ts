import { Shortlink, type ShortlinkOptions } from '@shortlink/sdk';
import type { FaultRule, TestServerOptions } from '@shortlink/server/testing';
import type { Report, RuntimeTraits } from './check.ts';

/** How a server of the stage is started: what of the test server's options is JSON. */
export interface StagedServerOptions
  extends Pick<TestServerOptions, 'plan' | 'limits' | 'permissions'> {
  /** Name the method: without it a browser's preflight takes the fault. */
  faults?: (FaultRule & { method: string; path?: string })[] | undefined;
  /** The server's clock stands still at this time, in milliseconds since 1970. */
  nowMs?: number | undefined;
}

/** A request as a server of the stage received it; preflights are left out. */
export interface SeenRequest {
  method: string;
  path: string;
}

/** A reference server that was started for one check. */
export interface StagedServer {
  baseUrl: string;
  apiKey: string;
  /** What it received so far. */
  requests: () => Promise<SeenRequest[]>;
  /** Resolves once it has received this many. */
  received: (count: number) => Promise<void>;
  /** A client of it. */
  client: (options?: ShortlinkOptions) => Shortlink;
}

/** A client for an address where no reference server is. */
export function clientOf(baseUrl: string, options: ShortlinkOptions = {}): Shortlink {
  return new Shortlink({ apiKey: 'sl_some_key', baseUrl, ...options });
}

/**
 * What checks play against. It runs in the test's own process, outside of the runtime under test, and starts real
 * servers on request: a runtime such as a browser can't.
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

  /** A server that answers every request with the head and the first bytes of an answer, and then nothing more. */
  async startStallingServer(): Promise<string> {
    return (await this.#post<{ baseUrl: string }>('/stalling-servers')).baseUrl;
  }

  /** An address where nobody listens. */
  async freeAddress(): Promise<string> {
    return (await this.#post<{ baseUrl: string }>('/free-addresses')).baseUrl;
  }

  /** Stops what was started. */
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
