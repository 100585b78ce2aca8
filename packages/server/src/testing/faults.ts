import { RESPONSE_ALREADY_SENT } from '@hono/node-server/utils/response';
import type { Fetch } from '../serve.ts';

/** What goes wrong with a request. */
export type Fault =
  /** Gets this status and nothing is done, such as a 429 with a wait, or a 503. */
  | { kind: 'answer'; status: number; retryAfterSeconds?: number | undefined }
  /**
   * The connection is cut once the request has been received: `before` anything was done, or `after` all was done but
   * no response was sent, so that the client can't know its outcome.
   */
  | { kind: 'drop'; when: 'before' | 'after' }
  /** Handled this much later. */
  | { kind: 'delay'; ms: number };

/** A fault, and the requests it happens to. */
export interface FaultRule {
  fault: Fault;
  /** @default any method */
  method?: string | undefined;
  /** The path, or a pattern for it. @default any path */
  path?: string | RegExp | undefined;
  /** Matching requests to let through first. @default 0 */
  skip?: number | undefined;
  /** Matching requests it happens to, `Infinity` for all. @default 1 */
  times?: number | undefined;
}

const CONDITIONS = ['method', 'path', 'skip', 'times'] as const;
const FIELDS = {
  answer: ['status', 'retryAfterSeconds'],
  drop: ['when'],
  delay: ['ms'],
} as const;

/** The faults still to happen, in order. At most one happens to a request. */
export class FaultScript {
  #rules: (FaultRule & { skip: number; times: number })[] = [];

  constructor(rules: readonly FaultRule[] = []) {
    for (const rule of rules) this.add(rule);
  }

  /** @throws TypeError for a kind or a field that there is not, RangeError or TypeError for a status that no response has */
  add(rule: FaultRule): void {
    const { fault, skip = 0, times = 1 } = rule;
    refuseOthers('fault', [String(fault?.kind)], Object.keys(FIELDS));
    refuseOthers('field of a rule', Object.keys(rule), ['fault', ...CONDITIONS]);
    refuseOthers(`field of ${fault.kind}`, Object.keys(fault), ['kind', ...FIELDS[fault.kind]]);
    if (fault.kind === 'answer') answer(fault);
    if (fault.kind === 'drop') refuseOthers('moment', [String(fault.when)], ['before', 'after']);
    if (fault.kind === 'delay' && !(fault.ms >= 0))
      throw new TypeError(`A delay needs its ms, 0 or more, not ${fault.ms}`);
    if (times > 0) this.#rules.push({ ...rule, skip, times });
  }

  clear(): void {
    this.#rules = [];
  }

  /** `true` while faults wait to happen, so that a test can check that all of its script was played. */
  get isPending(): boolean {
    return this.#rules.length > 0;
  }

  /** Takes the fault of this request off the script; `undefined` when nothing goes wrong. */
  take(request: { method: string; path: string }): Fault | undefined {
    const active = this.#rules.find((rule) => matches(rule, request));
    if (active === undefined || active.skip-- > 0) return undefined;
    if (--active.times <= 0) this.#rules = this.#rules.filter((other) => other !== active);
    return active.fault;
  }
}

function matches(rule: FaultRule, request: { method: string; path: string }): boolean {
  const { method = request.method, path = request.path } = rule;
  if (method.toUpperCase() !== request.method) return false;
  return typeof path === 'string' ? path === request.path : request.path.search(path) !== -1;
}

/** Plain JavaScript checks no types, and what is misspelt would be an account without limits, or a fault that never happens. */
export function refuseOthers(what: string, given: readonly string[], known: readonly string[]) {
  const other = given.find((name) => !known.includes(name));
  if (other !== undefined) throw new TypeError(`There is no ${what} ${other}: ${known.join(', ')}`);
}

/** Responds with `fetch`, except where the script has a fault for the request. */
export function fetchWithFaults(fetch: Fetch, faults: FaultScript, closing: AbortSignal): Fetch {
  return async (request, node) => {
    const fault = faults.take({ method: request.method, path: new URL(request.url).pathname });
    if (fault?.kind === 'answer') return answer(fault);
    if (fault?.kind === 'delay') await delay(fault.ms, closing);
    if (fault?.kind !== 'drop') return fetch(request, node);
    if (fault.when === 'before') await request.arrayBuffer();
    else await fetch(request, node);
    node.incoming.socket.destroy();
    return RESPONSE_ALREADY_SENT;
  };
}

/** Without a socket, only this keeps the process running. Once the service is closing, nothing has to. */
function delay(ms: number, closing: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const timer = setTimeout(resolve, ms);
    closing.addEventListener('abort', () => timer.unref());
  });
}

function answer({ status, retryAfterSeconds }: Extract<Fault, { kind: 'answer' }>): Response {
  // As the service's own responses: without these, a page in a browser sees a failed connection instead of the fault.
  const headers = new Headers({
    'Access-Control-Allow-Origin': '*',
    'Access-Control-Expose-Headers': 'Retry-After',
  });
  if (retryAfterSeconds !== undefined) headers.set('Retry-After', String(retryAfterSeconds));
  // Without a status it would be a 200.
  const init = { status: Number(status), headers };
  return Response.json({ error: `Scripted fault: ${status}.` }, init);
}
