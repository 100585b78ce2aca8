import type { Worker } from 'node:worker_threads';
import type { OwnHosts } from '../domain/hostnames.ts';
import { needsTooMuchMemory, overloaded, type Problem } from '../domain/problem.ts';
import { type TargetHosts, targetHostMatcher } from '../domain/targets.ts';
import { startThread } from '../start-thread.ts';
import type { BodyThreadMessage } from './body-thread.ts';
import {
  type BodyKind,
  type BodyToCheck,
  type CheckedBody,
  checkBody,
  type NamedDomains,
} from './check-body.ts';

/** Bodies up to this size are checked where they arrive: that takes a millisecond or two, for the shortest links. */
const MAX_DIRECT_BYTES = 64 * 1024;

/**
 * Largest heap of the thread, in MiB. Bodies that pass {@link JsonScan} need up to 100. This stops a thread that gathers small objects; one array
 * without space in it would end the process.
 */
const MAX_HEAP_MIB = 256;

export interface BodyCheckerOptions {
  targetHosts: TargetHosts;
  ownHosts: () => OwnHosts | Promise<OwnHosts>;
  /** @default 256 */
  maxHeapMib?: number | undefined;
}

interface Waiting {
  resolve: (outcome: unknown) => void;
  reject: (error: unknown) => void;
}

/**
 * Checks request bodies: small ones at once, large ones one after the other on a thread of their own. The thread starts with the first large
 * body. Should it end, only the body that it was checking is rejected, and the next one gets a new thread.
 */
export class BodyChecker {
  readonly #options: BodyCheckerOptions;
  readonly #isAllowedHost;
  #thread: Worker | undefined;
  /** What the thread knows. */
  #postedHosts: OwnHosts | undefined;
  #waiting: Waiting | undefined;
  #lastTurn: Promise<unknown> = Promise.resolve();
  #isStopped = false;

  constructor(options: BodyCheckerOptions) {
    this.#options = options;
    this.#isAllowedHost = targetHostMatcher(options.targetHosts);
  }

  /**
   * Checks a body. The bytes of a large one belong to the thread from then on.
   *
   * @param findDomains - Those of the account's domains that the body names. A body that names none skips this step.
   */
  async check<K extends BodyKind>(
    body: BodyToCheck<K>,
    findDomains: (ids: readonly string[]) => Promise<ReadonlySet<string>>,
  ): Promise<CheckedBody<K>> {
    const ownHosts = await this.#options.ownHosts();
    const outcome =
      body.bytes.length <= MAX_DIRECT_BYTES
        ? checkBody(body, { isOwnHost: ownHosts.isOwnHost, isAllowedHost: this.#isAllowedHost })
        : await this.#checkInTurn(body, ownHosts);
    if (!('domainIds' in outcome)) return outcome;
    const ownedDomains = await findDomains(outcome.domainIds);
    return this.check({ ...body, bytes: outcome.bytes, ownedDomains }, findDomains);
  }

  /** Ends the thread. Large bodies that are not checked yet, and all later ones, are rejected. */
  async stop(): Promise<void> {
    this.#isStopped = true;
    await this.#thread?.terminate();
  }

  #checkInTurn<K extends BodyKind>(
    body: BodyToCheck<K>,
    ownHosts: OwnHosts,
  ): Promise<CheckedBody<K> | NamedDomains> {
    const turn = this.#lastTurn.then(() => this.#checkOnThread(body, ownHosts));
    this.#lastTurn = turn.catch(() => undefined);
    return turn;
  }

  async #checkOnThread<K extends BodyKind>(
    body: BodyToCheck<K>,
    ownHosts: OwnHosts,
  ): Promise<CheckedBody<K> | NamedDomains> {
    if (this.#isStopped) throw stopping();
    const thread = this.#thread ?? this.#start();
    const post = (message: BodyThreadMessage, ...buffers: ArrayBuffer[]) =>
      thread.postMessage(message, buffers);
    if (ownHosts !== this.#postedHosts) post({ ownHosts: ownHosts.hosts });
    this.#postedHosts = ownHosts;
    return new Promise((resolve, reject) => {
      // The thread replies to what it was asked, whose type is known here only.
      this.#waiting = { resolve: resolve as Waiting['resolve'], reject };
      // The thread keeps the process alive only while a reply is awaited.
      thread.ref();
      post(body, body.bytes.buffer as ArrayBuffer);
    });
  }

  #start(): Worker {
    const { targetHosts, maxHeapMib = MAX_HEAP_MIB } = this.#options;
    const thread = startThread('body-thread', import.meta.url, {
      workerData: targetHosts,
      resourceLimits: { maxOldGenerationSizeMb: maxHeapMib },
    });
    const end = (reason: unknown) => {
      if (this.#thread !== thread) return;
      this.#thread = undefined;
      this.#postedHosts = undefined;
      this.#waiting?.reject(reason);
    };
    thread.on('message', (outcome) => {
      thread.unref();
      this.#waiting?.resolve(outcome);
    });
    thread.on('error', (error) => end(isOutOfMemory(error) ? needsTooMuchMemory() : error));
    thread.on('exit', () => end(stopping()));
    this.#thread = thread;
    return thread;
  }
}

function isOutOfMemory(error: unknown): boolean {
  return error instanceof Error && 'code' in error && error.code === 'ERR_WORKER_OUT_OF_MEMORY';
}

function stopping(): Problem {
  return overloaded('The service is stopping; try again in 1 s.');
}
