import { type Logger, OutageLog } from '../logger.ts';
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
      if (!signal.aborted) outage.failed(error);
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
