import { Shortlink, type ShortlinkOptions, type Usage } from '@shortlink/sdk';
import { ScriptedService } from '../../../sdk/test/scripted-service/scripted-service.ts';
import type { ServiceResponse } from '../../../sdk/test/scripted-service/service.ts';

/** What happens to the n-th batch request (from 0) instead of, or after, being carried out. */
export type Fault =
  | { type: 'answer'; status: number; body: object; headers?: Record<string, string> }
  /** The connection is lost before the service sees the request, or after it carried it out. */
  | { type: 'lost'; created: boolean }
  /** The process is killed at this moment: nothing comes back, ever. */
  | { type: 'killed'; created: boolean };

type Answer = Extract<Fault, { type: 'answer' }>;

const KEY = 'test-key';

/** The scripted service, with a disturbed network and the real client before it. It remembers what it was asked for. */
export class FakeService extends ScriptedService {
  override readonly short = 'https://s.example/';
  override refusedTitle: string | undefined = undefined;
  override mostFound = 20;
  fault: (n: number, links: readonly Link[]) => Fault | undefined = () => undefined;
  /** Links and key of the batch request that came last. */
  flying: [Link[], string | undefined] = [[], undefined];
  /** Awaited before each batch request is answered. */
  hold: () => Promise<void> = async () => undefined;
  onPoll: (jobId: string) => Fault | undefined = () => undefined;

  /** Links of each batch request, refused ones too. */
  readonly asked: Link[][] = [];
  readonly keys: Array<string | undefined> = [];
  /** Requests but those for usage, which count against no quota. */
  requests = 0;
  /** The response to `GET /api/v1/usage`, or its error. @default that of the service, if it lists features */
  usage: (() => Usage | Answer) | undefined;
  /** Whether it lists features: `lookup` and `idempotency`. */
  features: string[] | undefined;
  /** Targets of each look-up. */
  readonly lookups: string[][] = [];
  /** Called with the number of each look-up, from 1. */
  onLookup: (n: number) => Answer | undefined = () => undefined;

  constructor() {
    super({ refusesSingly: true });
    this.setKey(KEY, true);
  }

  override codeOf(number: number): string {
    return (number + 1).toString(36).padStart(7, '0');
  }

  client(options: Partial<ShortlinkOptions> = {}): Shortlink {
    return new Shortlink({
      apiKey: KEY,
      baseUrl: 'https://api.example',
      fetch: (input, init) => this.#fetch(new Request(input, init)),
      maxRetries: 0,
      ...options,
    });
  }

  /** How often each target URL was created, which is what an import is judged by. */
  get created(): Map<string, number> {
    this.settle();
    const all = Map.groupBy(this.made, ({ target }) => target);
    return new Map([...all].map(([target, links]) => [target, links.length]));
  }

  /** How many target URLs were created more than once. */
  get duplicates(): number {
    return [...this.created.values()].filter((times) => times > 1).length;
  }

  /** Makes a map from each code to its target URL. */
  targets(): Map<string, string> {
    return new Map(this.made.map(({ code, target }) => [code, target]));
  }

  async #fetch(request: Request): Promise<Response> {
    const { pathname: path } = new URL(request.url);
    const body = (await request.text()) || undefined;
    const headers = Object.fromEntries(request.headers);
    const respond = () => this.handle({ method: request.method, path, headers, body }, 0);
    if (path === '/api/v1/usage') return responseOf(await this.#usage(respond));
    this.requests += 1;
    if (path === '/api/v1/links/lookup') {
      return responseOf(this.#lookupFault(body) ?? (await respond()));
    }
    const jobId = /\/jobs\/(.*)/.exec(path)?.[1];
    if (jobId === undefined) return this.#batch(request, body, respond);
    const fault = this.onPoll(jobId);
    if (fault?.type === 'answer' || fault === undefined)
      return responseOf(fault ?? (await respond()));
    return broken(fault, request.signal);
  }

  async #batch(request: Request, body = '', respond: Respond): Promise<Response> {
    const { links }: { links: Link[] } = JSON.parse(body);
    const key = request.headers.get('idempotency-key') ?? undefined;
    this.flying = [links, key];
    await this.hold();
    const n = this.asked.push(links) - 1;
    this.keys.push(key);
    const fault = this.fault(n, links);
    if (fault?.type === 'answer') return responseOf(fault);
    const response = fault?.created === false ? undefined : await respond();
    if (fault !== undefined || response === undefined) return broken(fault, request.signal);
    return responseOf(response);
  }

  async #usage(respond: Respond): Promise<Answer | ServiceResponse> {
    const usage = this.usage?.();
    if (usage !== undefined && 'type' in usage) return usage;
    if (usage !== undefined) return { type: 'answer', status: 200, body: usage };
    const { features } = this;
    const none = { type: 'answer', status: 404, body: { error: 'not found' } } as const;
    if (features === undefined) return none;
    const response = await respond();
    return { ...response, body: JSON.stringify({ ...JSON.parse(response.body), features }) };
  }

  #lookupFault(body = ''): Answer | undefined {
    const { links, codes }: { links: Link[]; codes?: string[] } = JSON.parse(body);
    if (codes !== undefined) return this.onLookup(0);
    return this.onLookup(this.lookups.push(links.map(({ target_url }) => target_url)));
  }
}

type Respond = () => Promise<ServiceResponse> | ServiceResponse;

export interface Link {
  target_url: string;
  title?: string;
  tags?: string[];
  domain_id?: string;
}

function responseOf({ status, body, headers = {} }: Answer | ServiceResponse): Response {
  return new Response(typeof body === 'string' ? body : JSON.stringify(body), {
    status,
    headers: { 'Content-Type': 'application/json', ...headers },
  });
}

async function broken(
  fault: Exclude<Fault, Answer> | undefined,
  signal: AbortSignal,
): Promise<never> {
  if (fault?.type === 'lost') {
    throw Object.assign(new TypeError('fetch failed'), { cause: { code: 'ECONNRESET' } });
  }
  return await new Promise<never>((_, reject) => {
    signal.addEventListener('abort', () => reject(signal.reason), { once: true });
  });
}
