import { type OwnHosts, ownHostsOf } from '../domain/hostnames.ts';
import { DOMAIN_ID } from '../domain/ids.ts';
import { type Logger, OutageLog } from '../logger.ts';
import type { RedirectCache } from '../store/redirect-cache.ts';
import type { Store } from '../store/store.ts';

interface RepeatedOptions {
  act: (signal: AbortSignal) => Promise<unknown>;
  /** Wait between the end of a call and the next one, in milliseconds. */
  everyMs: number;
  what: string;
  logger: Pick<Logger, 'error' | 'info'> | undefined;
}

/** Calls something again and again, one call at a time, so that calls don't pile up while the database hangs. It is called again after a failure. */
export function repeated({ act, everyMs, what, logger }: RepeatedOptions) {
  const outage = new OutageLog(what, logger);
  const stopping = new AbortController();
  const { signal } = stopping;
  let timer: NodeJS.Timeout | undefined;
  let running: Promise<void> | undefined;

  async function run(): Promise<void> {
    try {
      await act(signal);
      outage.succeeded();
    } catch (error) {
      outage.failed(error);
    }
    startLater();
  }

  /** Resolves after the first call, also when it failed. */
  const start = () => (running = run());

  function startLater(): void {
    if (!signal.aborted) timer = setTimeout(start, everyMs).unref();
  }

  /** Waits for the call that is under way. Its signal tells it to end. */
  async function stop(): Promise<void> {
    stopping.abort();
    clearTimeout(timer);
    await running;
  }

  return { start, startLater, stop };
}

export const PRUNE_INTERVAL_MS = 3_600_000;

/** Deletes what is past its retention. Stopped, it ends after its present step: a run can take longer than a service manager waits for the exit. */
export function housekeeping(
  store: Pick<Store, 'prune'>,
  logger?: RepeatedOptions['logger'],
  now = Date.now,
) {
  const act = (signal: AbortSignal) => store.prune(now(), signal);
  return repeated({ act, everyMs: PRUNE_INTERVAL_MS, what: 'deleting old rows', logger });
}

/** Wait between two questions to the store, in milliseconds: a change reaches every redirect well within a second. */
export const FOLLOW_MS = 300;

interface LinkFollowerOptions {
  store: Pick<Store, 'linkChanges' | 'listDomains'>;
  cache: Pick<RedirectCache, 'apply'>;
  publicUrl: string;
  logger?: RepeatedOptions['logger'];
}

/** Asks the store what changed, and keeps the redirect cache and the list of custom domains up to date. No redirect waits for it. */
export function linkFollower({ store, cache, publicUrl, logger }: LinkFollowerOptions) {
  let since = 0;
  let known: OwnHosts | undefined;

  async function readOwnHosts(): Promise<OwnHosts> {
    known = ownHostsOf(publicUrl, await store.listDomains({ removed: true }));
    return known;
  }

  async function act(): Promise<void> {
    const { latest, changed } = await store.linkChanges(since);
    cache.apply(changed);
    const isDomain = (id: string) => id.startsWith(DOMAIN_ID);
    if (changed === 'all' || changed.some(isDomain)) await readOwnHosts();
    // This is set last: if the domains can't be read, the next question asks for the same changes again.
    since = latest;
  }

  return {
    ...repeated({ act, everyMs: FOLLOW_MS, what: 'reading changes of links', logger }),
    /** The hosts of the service as last known. They are read now only if they were never read before. */
    ownHosts: (): OwnHosts | Promise<OwnHosts> => known ?? readOwnHosts(),
    /** The same where nobody can wait: `undefined` if they were never read. */
    knownOwnHosts: () => known,
  };
}
