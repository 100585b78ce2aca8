import { isMainThread, parentPort, workerData } from 'node:worker_threads';
import { ownHostMatcher } from '../domain/hostnames.ts';
import { type TargetHosts, targetHostMatcher } from '../domain/targets.ts';
import { buffersOf } from '../store/links.ts';
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
    const { bytes, input = {} } = outcome as Partial<BodyToCheck & { input: object }>;
    port.postMessage(outcome, bytes ? [bytes.buffer] : buffersOf(input));
  });
}

if (!isMainThread && parentPort !== null) serve(parentPort, workerData);
