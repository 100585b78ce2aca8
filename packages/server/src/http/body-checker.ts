import { once } from 'node:events';
import type { Worker } from 'node:worker_threads';
import {
  EVERY_TARGET_HOST,
  type IsAllowedHost,
  type TargetHosts,
  targetHostMatcher,
} from '../domain/targets.ts';
import { HAS_THREADS, startThread } from '../start-thread.ts';
import { SMALL_BYTES } from './arriving-body.ts';
import type { BodyThreadMessage } from './body-thread.ts';
import {
  type BodyInputs,
  type BodyKind,
  type BodyToCheck,
  type CheckedBody,
  checkBody,
  type NamedDomains,
} from './check-body.ts';
import type { AppOptions } from './context.ts';

/** The thread ends when there was no large body for so long. */
const IDLE_MS = 30_000;

/**
 * What is parsed of a body is garbage soon. With a young heap that may grow as large as V8 lets it, the process takes a third more memory for
 * large batches, and how much more depends on how busy the machine is.
 */
const THREAD_LIMITS = { maxYoungGenerationSizeMb: 12 };

/** Checks small bodies at once, and large ones one after the other on a thread. Should it fail, only the body that it was checking is rejected. */
export class BodyChecker {
  readonly #targetHosts: TargetHosts;
  readonly #ownHosts: AppOptions['ownHosts'];
  readonly #isAllowedHost: IsAllowedHost;
  #thread: Worker | undefined;
  #lastTurn: Promise<unknown> = Promise.resolve();
  #idleTimer: NodeJS.Timeout | undefined;

  constructor({
    targetHosts = EVERY_TARGET_HOST,
    ownHosts,
  }: Pick<AppOptions, 'targetHosts' | 'ownHosts'>) {
    this.#targetHosts = targetHosts;
    this.#ownHosts = ownHosts;
    this.#isAllowedHost = targetHostMatcher(targetHosts);
  }

  /**
   * Checks a body. The bytes of a large one belong to the thread from then on.
   *
   * @param findDomains - Finds those of these custom domains that belong to the account. It isn't called for a body that names none.
   */
  async check<K extends BodyKind>(
    body: BodyToCheck<K>,
    findDomains: (ids: readonly string[]) => Promise<ReadonlySet<string>>,
  ): Promise<CheckedBody<BodyInputs[K]>> {
    const { isOwnHost, hosts: ownHosts } = await this.#ownHosts();
    let outcome: CheckedBody<BodyInputs[K]> | NamedDomains;
    if (body.bytes.length <= SMALL_BYTES || !HAS_THREADS) {
      outcome = checkBody(body, { isOwnHost, isAllowedHost: this.#isAllowedHost });
    } else {
      const turn = this.#lastTurn.then(() => this.#checkOnThread({ body, ownHosts }));
      this.#lastTurn = turn.catch(() => undefined);
      outcome = await turn;
    }
    if (!('domainIds' in outcome)) return outcome;
    const ownedDomains = await findDomains(outcome.domainIds);
    return this.check({ ...body, bytes: outcome.bytes, ownedDomains }, findDomains);
  }

  async #checkOnThread(message: BodyThreadMessage) {
    clearTimeout(this.#idleTimer);
    this.#thread ??= this.#start();
    const thread = this.#thread;
    // The thread keeps the process alive only while a reply is awaited.
    thread.ref();
    thread.postMessage(message, [message.body.bytes.buffer]);
    const [outcome] = await once(thread, 'message');
    thread.unref();
    this.#idleTimer = setTimeout(() => {
      this.#thread = undefined;
      void thread.terminate();
    }, IDLE_MS).unref();
    return outcome;
  }

  #start(): Worker {
    const thread = startThread('body-thread', import.meta.url, {
      workerData: this.#targetHosts,
      resourceLimits: THREAD_LIMITS,
    });
    thread.on('error', () => {
      this.#thread = undefined;
    });
    return thread;
  }
}
