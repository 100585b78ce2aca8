import type { Store } from '../store/store.ts';
import { Repeated, type RepeatedOptions } from './repeated.ts';

export const PRUNE_INTERVAL_MS = 3_600_000;

/** Deletes what is past its retention. Stopped, it ends after its present step: a run can take longer than a service manager waits for the exit. */
export function housekeeping(
  store: Pick<Store, 'prune'>,
  logger?: RepeatedOptions['logger'],
  now = Date.now,
): Repeated {
  const act = (signal: AbortSignal) => store.prune(now(), signal);
  return new Repeated({ act, everyMs: PRUNE_INTERVAL_MS, what: 'deleting old rows', logger });
}
