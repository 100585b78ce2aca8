import { isMainThread, parentPort, workerData } from 'node:worker_threads';
import { ownHostMatcher } from '../domain/hostnames.ts';
import { type TargetHosts, targetHostMatcher } from '../domain/targets.ts';
import { type BodyToCheck, checkBody } from './check-body.ts';

/** What the main thread posts: the service's own hosts, when the thread doesn't know them yet; and a body to check. */
export type BodyThreadMessage = { ownHosts: readonly string[] } | BodyToCheck;

/** The thread that checks large bodies, one after the other, so that they hold up no other request. It replies to each. */
function serve(port: NonNullable<typeof parentPort>, targetHosts: TargetHosts): void {
  const isAllowedHost = targetHostMatcher(targetHosts);
  let isOwnHost = ownHostMatcher([]);
  port.on('message', (message: BodyThreadMessage) => {
    if ('ownHosts' in message) {
      isOwnHost = ownHostMatcher(message.ownHosts);
      return;
    }
    const outcome = checkBody(message, { isOwnHost, isAllowedHost });
    port.postMessage(outcome, 'bytes' in outcome ? [outcome.bytes.buffer as ArrayBuffer] : []);
  });
}

if (!isMainThread && parentPort !== null) serve(parentPort, workerData);
