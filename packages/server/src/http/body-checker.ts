import { once } from 'node:events';
import type { Worker } from 'node:worker_threads';
import { EVERY_TARGET_HOST, targetHostMatcher } from '../domain/targets.ts';
import { HAS_THREADS, startThread } from '../start-thread.ts';
import { SMALL_BYTES } from './arriving-body.ts';
import type { BodyThreadMessage } from './body-thread.ts';
import { type BodyKind, type BodyToCheck, type CheckedBody, checkBody } from './check-body.ts';
import type { AppOptions } from './context.ts';

/** The thread ends when there was no large body for so long. */
const IDLE_MS = 30_000;

/** What is parsed of a body is garbage soon. With a larger young heap, the process takes up to a third more memory for large batches. */
const THREAD_LIMITS = { maxYoungGenerationSizeMb: 12 };

/** Checks small bodies at once, and large ones one after the other on a thread. Should it fail, only the body that it was checking is rejected. */
export function bodyChecker(options: Pick<AppOptions, 'store' | 'targetHosts' | 'ownHosts'>) {
  const { targetHosts = EVERY_TARGET_HOST, ownHosts, store } = options;
  const isAllowedHost = targetHostMatcher(targetHosts);
  let thread: Worker | undefined;
  let lastTurn: Promise<unknown> = Promise.resolve();
  let idleTimer: NodeJS.Timeout | undefined;

  async function checkOnThread(message: BodyThreadMessage) {
    clearTimeout(idleTimer);
    const given = { workerData: targetHosts, resourceLimits: THREAD_LIMITS };
    thread ??= startThread('body-thread', import.meta.url, given).on('error', () => {
      thread = undefined;
    });
    const started = thread;
    // The thread keeps the process alive only while a reply is awaited.
    started.ref();
    started.postMessage(message, [message.body.bytes.buffer]);
    const [outcome] = await once(started, 'message');
    started.unref();
    idleTimer = setTimeout(() => {
      thread = undefined;
      void started.terminate();
    }, IDLE_MS).unref();
    return outcome;
  }

  /** The thread gets the bytes of a large body. The store is asked for the domains of the account only where a body names one. */
  return async function check<K extends BodyKind>(body: BodyToCheck<K>): Promise<CheckedBody<K>> {
    const { isOwnHost, hosts } = await ownHosts();
    let outcome: ReturnType<typeof checkBody<K>>;
    if (body.bytes.length <= SMALL_BYTES || !HAS_THREADS) {
      outcome = checkBody(body, { isOwnHost, isAllowedHost });
    } else {
      const turn = lastTurn.then(() => checkOnThread({ body, ownHosts: hosts }));
      lastTurn = turn.catch(() => undefined);
      outcome = await turn;
    }
    if (!('bytes' in outcome)) return outcome;
    const ownedDomains = await store.ownedDomains(body.accountId);
    return check({ ...body, ...outcome, ownedDomains });
  };
}
