import * as sdk from '@shortlink/sdk';
import {
  type FaultRule,
  type PageService,
  type PageServiceOptions,
  startPageService,
} from '@shortlink/server/browser';
import * as msw from 'msw';
import { transform } from 'sucrase';

/** A request of an example, and what came back. */
export interface Exchange {
  method: string;
  url: string;
  sent: string;
  /** The status, or why there is no response. Empty while it is awaited. */
  outcome: string;
  received: string;
}

/** What a reader can choose. */
export const PLANS = ['custom', 'community', 'pro', 'avance'] as const;
export const FAULTS = {
  none: [],
  'a 429': [{ method: 'POST', fault: { kind: 'answer', status: 429, retryAfterSeconds: 1 } }],
  'a lost response': [{ method: 'POST', fault: { kind: 'drop', when: 'after' } }],
  'a slow job': [{ path: /\/jobs\//, times: 2, fault: { kind: 'delay', ms: 1_000 } }],
} as const satisfies Record<string, readonly FaultRule[]>;

export interface RunOptions {
  plan: (typeof PLANS)[number];
  fault: keyof typeof FAULTS;
  onOutput: (text: string) => void;
  /** Called for each new request; its outcome is filled in later. */
  onExchange: (exchange: Exchange) => Exchange;
}

/** Longest text of a body that is shown. */
const SHOWN = 2_000;

/** Runs an example against a service of its own in this page. Rejects with what the example throws. */
export async function runExample(code: string, options: RunOptions): Promise<void> {
  const { plan, fault, onOutput, onExchange } = options;
  const services: PageService[] = [];
  let handlers: readonly msw.RequestHandler[] = [];

  const pageFetch = async (
    input: string | URL | Request,
    init?: RequestInit,
  ): Promise<Response> => {
    const request = new Request(input, init);
    const exchange = onExchange({
      method: request.method,
      url: request.url,
      sent: shortened(await request.clone().text()),
      outcome: '',
      received: '',
    });
    try {
      const mocked = await msw.getResponse([...handlers], request.clone());
      const service = services.find(({ url }) => request.url.startsWith(`${url}/`));
      const response = mocked ?? (await (service ?? globalThis).fetch(request));
      exchange.outcome = `${response.status} ${response.headers.get('Location') ?? ''}`.trim();
      exchange.received = shortened(await response.clone().text());
      return response;
    } catch (error) {
      exchange.outcome = String(error);
      throw error;
    }
  };

  const start = async (given: PageServiceOptions = {}) => {
    const service = await startPageService({
      plan,
      baseUrl: services.length === 0 ? 'https://sho.rt' : `https://${services.length}.sho.rt`,
      ...given,
      faults: [...(given.faults ?? []), ...FAULTS[fault]],
    });
    services.push(service);
    return { ...service, fetch: pageFetch };
  };

  let own: PageService | undefined;
  /** Without a service of the example's own, the client speaks with one that has the chosen plan and faults. */
  class Shortlink extends sdk.Shortlink {
    constructor(given: sdk.ShortlinkOptions = {}) {
      const { apiKey, baseUrl } = given;
      const isOwn = baseUrl === undefined || baseUrl.toString() === 'http://127.0.0.1:8787';
      super({
        fetch: pageFetch,
        ...given,
        apiKey: isOwn ? own?.apiKey : apiKey,
        baseUrl: isOwn ? own?.url : baseUrl,
      });
    }
  }

  const modules: Record<string, object> = {
    '@shortlink/sdk': { ...sdk, Shortlink },
    '@shortlink/server/browser': { startPageService: start },
    '@shortlink/server/testing': { startTestServer: start },
    '@shortlink/server/testing/msw': {
      createMswHandlers: async (given: PageServiceOptions) => {
        const service = await start(given);
        return { ...service, handlers: service.handlers(msw.http) };
      },
    },
    msw,
    'msw/node': {
      setupServer: (...given: msw.RequestHandler[]) => ({
        listen: () => {
          handlers = given;
        },
        close: () => {
          handlers = [];
        },
      }),
    },
  };
  const print = (...values: unknown[]) => onOutput(values.map(shown).join(' '));
  try {
    if (!/@shortlink\/server\//.test(code)) own = await start();
    const { code: script } = transform(code, {
      transforms: ['typescript', 'imports'],
      disableESTransforms: true,
    });
    const AsyncFunction = Object.getPrototypeOf(async () => undefined).constructor;
    await new AsyncFunction('require', 'console', 'fetch', 'exports', `{${script}\n}`)(
      (name: string) => modules[name] ?? missing(name, Object.keys(modules)),
      { log: print, error: print, warn: print, info: print },
      pageFetch,
      {},
    );
  } finally {
    await Promise.all(services.map((service) => service.close()));
  }
}

function missing(name: string, known: readonly string[]): never {
  throw new Error(`This page has no "${name}": it has ${known.join(', ')}.`);
}

/** JSON over several lines, and not all of a long text. */
function shortened(body: string): string {
  let text = body;
  try {
    text = JSON.stringify(JSON.parse(body), null, 2);
  } catch {
    // It is no JSON.
  }
  return text.length > SHOWN ? `${text.slice(0, SHOWN)}… (${text.length} characters)` : text;
}

/** A value as a person reads it. */
function shown(value: unknown): string {
  if (typeof value === 'string') return value;
  if (value instanceof Error) return `${value.name}: ${value.message}`;
  return JSON.stringify(value, null, 1)?.replaceAll(/\n\s*/g, ' ') ?? String(value);
}
