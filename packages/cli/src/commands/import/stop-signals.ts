import { interruptedError } from '../../cli-error.ts';
import type { Context } from '../../context.ts';

/** How a user stops an import: once, and what is in flight is finished; twice, and it ends now. */
export interface StopSignals {
  /** Aborted by the first Ctrl-C: no new batch is sent. */
  soft: AbortSignal;
  /** Aborted by the second: waits and requests end at once. */
  hard: AbortSignal;
  /** Called at the first. */
  onSoft: (() => void) | undefined;
  release: () => void;
}

export function stopSignals(context: Context): StopSignals {
  const soft = new AbortController();
  const hard = new AbortController();
  const off = context.io.onInterrupt(() => {
    if (!soft.signal.aborted) {
      soft.abort(interruptedError());
      signals.onSoft?.();
      context.printer.note('Stopping after the batches in flight. Ctrl-C again stops now.');
      return;
    }
    // A third Ctrl-C finds no listener, and ends the process whatever hangs.
    off();
    hard.abort(interruptedError());
  });
  const signals: StopSignals = {
    soft: soft.signal,
    hard: hard.signal,
    onSoft: undefined,
    release: off,
  };
  return signals;
}
