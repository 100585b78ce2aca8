import type { Service, ServiceResponse } from '../../../sdk/test/scripted-service/service.ts';
import { Random } from '../kernel/random.ts';
import type { FaultKind, NetworkFault } from '../scenario/scenario.ts';
import { errorPage, oddly, retryAfter } from './bad-responses.ts';
import { piecesOf } from './pieces.ts';
import { ELSEWHERE, type Process, type World } from './world.ts';

/** A request and what became of it, for the oracle. */
export interface Exchange {
  /** From 1, over all runs. */
  number: number;
  run: number;
  process: Process;
  method: string;
  path: string;
  body: string | undefined;
  /** Its idempotency key. */
  key: string | undefined;
  sentAt: number;
  sentTurn: number;
  /** The event in which the service first worked on it; undefined where it never did. */
  workedTurn: number | undefined;
  /** The response as it reached the program; undefined where none did, or not all of it. Of an error, the status is enough. */
  received: ServiceResponse | undefined;
  receivedAt: number;
  receivedTurn: number;
  /** The program was told that its request has certainly never left. */
  neverSent: boolean;
}

/** What `fetch` is called with, as far as it matters here. */
export interface FetchInit {
  method: string;
  headers: Record<string, string>;
  body?: string;
  signal: AbortSignal;
}

/** Statuses of a service in trouble. 501 is none: it says for good that there is no such endpoint. */
const PASSING = [500, 502, 503, 504, 507];

/** Of delays that are multiples of this, some end together, and the order is chance then. */
const DELAY_MS = 10;

function delayMs(random: Random, mostMs: number): number {
  return DELAY_MS * random.below(mostMs / DELAY_MS + 1);
}

/** Carries requests between a program and the service, as badly as a scenario wants it. */
export class Network {
  readonly exchanges: Exchange[] = [];
  readonly #world: World;
  readonly #service: Service;
  readonly #seed: number;
  #faults: readonly NetworkFault[] = [];
  #run = 0;
  /** Requests of this run. */
  #requests = 0;
  /** Restarts so far: they cut all connections. */
  #restarts = 0;

  constructor(world: World, service: Service, seed: number) {
    this.#world = world;
    this.#service = service;
    this.#seed = seed;
  }

  beginRun(run: number, faults: readonly NetworkFault[]): void {
    this.#run = run;
    this.#faults = faults;
    this.#requests = 0;
  }

  /** Requests that this process has made. */
  countOf(process: Process): number {
    let count = 0;
    for (const exchange of this.exchanges) if (exchange.process === process) count += 1;
    return count;
  }

  restartService(): void {
    this.#world.log(() => '--- the service is restarted');
    this.#restarts += 1;
    this.#service.restart();
  }

  readonly fetch = (url: string, init: FetchInit): Promise<unknown> => {
    const { method, headers, body, signal } = init;
    const world = this.#world;
    const { process, scheduler } = world;
    const path = new URL(url).pathname;
    return new Promise((resolve, reject) => {
      if (!process.isAlive) return;
      const number = this.exchanges.length + 1;
      this.#requests += 1;
      const exchange: Exchange = {
        number,
        run: this.#run,
        process,
        method,
        path,
        body,
        key: headers['idempotency-key'],
        sentAt: scheduler.elapsed,
        sentTurn: scheduler.turn,
        workedTurn: undefined,
        received: undefined,
        receivedAt: 0,
        receivedTurn: 0,
        neverSent: false,
      };
      this.exchanges.push(exchange);
      const fault = this.#faultOf(this.#requests);
      const draw = new Random(this.#seed, number, 2);
      world.log(() => `${process.name} sends #${number} ${method} ${path} ${fault?.kind ?? ''}`);
      const restarts = this.#restarts;
      const onAbort = () => reject(signal.reason);
      signal.addEventListener('abort', onAbort, { once: true });
      const fail = (code: string, syscall: string) => {
        signal.removeEventListener('abort', onAbort);
        exchange.neverSent = syscall === 'connect';
        const cause = Object.assign(new Error(code), { code, syscall });
        reject(new TypeError('fetch failed', { cause }));
      };
      const wait = fault?.kind === 'slow' ? 5_000 + draw.below(40_000) : delayMs(draw, 60);
      const answer = (response: ServiceResponse, isCut: boolean) => {
        scheduler.after(delayMs(draw, wait), process, () => {
          if (signal.aborted) return;
          if (this.#restarts !== restarts) return fail('ECONNRESET', 'read');
          resolve(this.#responseOf(response, exchange, signal, isCut));
        });
      };
      const work = async (): Promise<ServiceResponse | undefined> => {
        exchange.workedTurn ??= scheduler.turn;
        const response = await this.#service.handle({ method, path, headers, body }, number);
        if (response !== undefined)
          world.log(() => `       #${number} ${response.status} ${response.body.slice(0, 300)}`);
        return response;
      };
      // The service works whether or not anybody waits for it.
      scheduler.after(wait, ELSEWHERE, () => {
        const isRestarted = this.#restarts !== restarts;
        this.#carry(fault, {
          work: isRestarted ? undefined : work,
          answer,
          fail: (code, syscall) => {
            scheduler.after(0, process, () => {
              if (!signal.aborted) fail(code, syscall);
            });
          },
          mayRepeat: method === 'GET' || exchange.key !== undefined,
        });
      });
    });
  };

  #faultOf(request: number): NetworkFault | undefined {
    return this.#faults.find((fault) => {
      return request >= fault.request && request <= fault.request + fault.lasts;
    });
  }

  #carry(fault: NetworkFault | undefined, hop: Hop): unknown {
    const { work, answer, fail } = hop;
    const kind: FaultKind | undefined = work === undefined ? 'lost before' : fault?.kind;
    const form = fault?.form ?? 0;
    const worked = (then: (response: ServiceResponse) => void) =>
      void work?.().then((response) =>
        response === undefined ? fail('ECONNRESET', 'read') : then(response),
      );
    switch (kind) {
      case 'refused':
        return fail('ECONNREFUSED', 'connect');
      case 'lost before':
        return fail('ECONNRESET', 'read');
      case 'lost after':
        return worked(() => fail('ECONNRESET', 'read'));
      case 'silent before':
        return;
      case 'silent after':
        return worked(() => {});
      case 'cut':
        return worked((response) => answer(response, true));
      case '429':
        return answer(errorPage(429, 'Slow down', retryAfter(form, this.#world)), false);
      case '503 later':
        return answer(errorPage(503, 'Try later', { 'retry-after': `${1 + (form % 20)}` }), false);
      case '5xx before':
        return answer(
          errorPage(PASSING[form % PASSING.length] ?? 500, 'Something failed', {}),
          false,
        );
      case '5xx after':
        return worked(() => answer(errorPage([500, 502, 504][form % 3] ?? 500, 'Late', {}), false));
      case 'page':
        return answer(
          { status: 200, headers: {}, body: '<html>Log in to the network</html>' },
          false,
        );
      case 'odd':
        return worked((response) => answer(oddly(response, form), false));
      case 'twice':
        // A duplicate is harmless only where the client said so: GETs, and POSTs with a key.
        return worked((response) => {
          if (hop.mayRepeat) worked(() => {});
          answer(response, false);
        });
      default:
        return worked((response) => answer(response, false));
    }
  }

  #responseOf(
    { status, headers, body }: ServiceResponse,
    exchange: Exchange,
    signal: AbortSignal,
    isCut: boolean,
  ) {
    const world = this.#world;
    const { process } = exchange;
    const whole = Buffer.from(body);
    const bytes = isCut ? whole.subarray(0, whole.length >> 1) : whole;
    const draw = new Random(this.#seed, exchange.number, 4);
    const pieces = piecesOf(bytes, draw);
    let hasBegun = false;
    const note = (text: string) => {
      exchange.received = { status, headers, body: text };
      exchange.receivedAt = world.scheduler.elapsed;
      exchange.receivedTurn = world.scheduler.turn;
    };
    const read = (): Promise<{ done: boolean; value?: Uint8Array }> => {
      const value = pieces.shift();
      // The first piece comes with the headers, and the end of the body with its last byte.
      if (value !== undefined && hasBegun) {
        return new Promise((resolve, reject) => {
          world.scheduler.after(delayMs(draw, 30), process, () =>
            signal.aborted ? reject(signal.reason) : resolve({ done: false, value }),
          );
        });
      }
      if (value !== undefined) {
        hasBegun = true;
        // The status of an error says enough: what is lost of its words, or comes too late, takes nothing away.
        if (status >= 300) note('');
        return Promise.resolve({ done: false, value });
      }
      if (!isCut) {
        note(body);
        return Promise.resolve({ done: true });
      }
      return new Promise((_, reject) => {
        const lost = Object.assign(new Error('terminated'), { code: 'UND_ERR_SOCKET' });
        world.scheduler.after(5, process, () => {
          reject(signal.aborted ? signal.reason : lost);
        });
      });
    };
    return {
      ok: status >= 200 && status < 300,
      status,
      headers: new ReceivedHeaders(headers),
      body: { getReader: () => ({ read, cancel: async () => undefined }) },
      text: async () => body,
    };
  }
}

/** What the SDK asks of the headers of a response. The runtime's own `Headers` take many times as long to make. */
class ReceivedHeaders {
  readonly #fields: Readonly<Record<string, string>>;

  /** @param fields - with names in lower case */
  constructor(fields: Readonly<Record<string, string>>) {
    this.#fields = fields;
  }

  get(name: string): string | null {
    return this.#fields[name.toLowerCase()] ?? null;
  }

  [Symbol.iterator](): Iterator<[string, string]> {
    return Object.entries(this.#fields)[Symbol.iterator]();
  }
}

interface Hop {
  /** Undefined where the service was restarted meanwhile. */
  work: (() => Promise<ServiceResponse | undefined>) | undefined;
  answer: (response: ServiceResponse, isCut: boolean) => void;
  fail: (code: string, syscall: string) => void;
  mayRepeat: boolean;
}
