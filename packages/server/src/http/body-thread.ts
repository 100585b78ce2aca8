import { isMainThread, parentPort, workerData } from 'node:worker_threads';
import { ownHostMatcher } from '../domain/hostnames.ts';
import { type TargetHosts, targetHostMatcher } from '../domain/targets.ts';
import type { JobInput } from '../store/store.ts';
import { type BodyToCheck, checkBody } from './check-body.ts';

export interface BodyThreadMessage {
  body: BodyToCheck;
  ownHosts: readonly string[];
}

/** The thread that checks large bodies, one after the other, so that they hold up no other request. It replies to each. */
function serve(port: NonNullable<typeof parentPort>, targetHosts: TargetHosts): void {
  const isAllowedHost = targetHostMatcher(targetHosts);
  port.on('message', ({ body, ownHosts }: BodyThreadMessage) => {
    const outcome = checkBody(body, { isOwnHost: ownHostMatcher(ownHosts), isAllowedHost });
    port.postMessage(outcome, buffersOf(outcome));
  });
}

/** What is passed on and not copied: it would be garbage on the thread that redirects. */
function buffersOf(outcome: ReturnType<typeof checkBody>): ArrayBuffer[] {
  if ('bytes' in outcome) return [outcome.bytes.buffer];
  const { chunks = [] } = ('input' in outcome ? outcome.input : {}) as Partial<JobInput>;
  return chunks.map(({ buffer }) => buffer);
}

if (!isMainThread && parentPort !== null) serve(parentPort, workerData);
