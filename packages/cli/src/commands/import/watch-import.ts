import type { ShortlinkHooks } from '@shortlink/sdk';
import { interruptedError } from '../../cli-error.ts';
import type { Context } from '../../context.ts';
import type { ImportEvent } from '../../import/types.ts';
import { importNote } from '../../output/import-notes.ts';
import { ImportProgress } from '../../output/import-progress.ts';
import { openStatusLine } from '../../output/status-line.ts';

/** Shows imports while they run, from their own events and from the client's hooks. */
export interface ImportWatch {
  /** For the client, which all files share: one cooldown, one pace. */
  hooks: ShortlinkHooks;
  begin: (file: string) => FileWatch;
}

/** Shows the import of one file. */
interface FileWatch {
  onEvent: (event: ImportEvent) => void;
  /** Requests made for this file so far, polls and retries included. */
  requestCount: () => number;
  onStopping: () => void;
  /** Takes the status line away. */
  end: () => void;
}

export async function watchImports(
  requestsPerMinute: number | undefined,
  context: Context,
): Promise<ImportWatch> {
  const { printer } = context;
  const status = await openStatusLine(context.io, printer);
  let requests = 0;
  let progress: ImportProgress | undefined;
  const onWait = (why: string, waitMs: number) => progress?.onWait(why, waitMs, Date.now());
  return {
    hooks: {
      onRequest: ({ path }) => {
        // The look at the usage counts against no quota.
        if (!path.endsWith('/usage')) requests++;
      },
      onResponse: ({ quota }) => progress?.onQuota(quota, Date.now()),
      onCooldown: ({ waitMs }) => onWait('waiting for the rate limit:', waitMs),
      onRetry: ({ waitMs, error }) => onWait(`trying again (${error.message}) in`, waitMs),
    },
    begin(file) {
      const before = requests;
      const requestCount = () => requests - before;
      const current = new ImportProgress({ file, requestsPerMinute, requestCount });
      progress = current;
      status.start(() => current.line(Date.now()));
      return {
        onEvent(event) {
          current.onEvent(event, Date.now());
          const note = importNote(file, event);
          if (event.type === 'warning') {
            printer.warn(`${file}: ${event.message}`);
          } else if (note !== undefined) {
            printer.note(note);
          }
        },
        requestCount,
        onStopping: () => current.onStopping(),
        end: () => status.stop(),
      };
    },
  };
}

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
