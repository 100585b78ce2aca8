import { RateLimitError, type ShortlinkHooks } from '@shortlink/sdk';
import { interruptedError } from '../../cli-error.ts';
import type { Context } from '../../context.ts';
import { formatDuration, plural } from '../../format.ts';
import type { Forecast, ImportEvent } from '../../import/types.ts';
import { durationFlag } from '../../output/command-line.ts';
import { ImportProgress } from '../../output/import-progress.ts';
import { drawEvent } from '../../output/import-screen.ts';
import { importEvent } from '../../output/json-events.ts';
import type { Printer } from '../../output/printer.ts';
import { foreign } from '../../output/sanitize.ts';
import { openStatusLine } from '../../output/status-line.ts';

/** Shows imports while they run, from their own events and from the client's hooks. */
export interface ImportWatch {
  /** For the client, which all files share: one cooldown, one pace. */
  hooks: ShortlinkHooks;
  begin: (file: string) => FileWatch;
}

/** Shows the import of one file. */
export interface FileWatch {
  onEvent: (event: ImportEvent) => void;
  /** Every warning so far. */
  warnings: readonly string[];
  /** Requests made for this file so far, polls and retries included. */
  requestCount: () => number;
  /** After the first Ctrl-C. Returns what the run still does. */
  onStopping: () => string;
  /** Takes the status line away. */
  end: () => void;
}

export async function watchImports(
  { requestsPerMinute, maxWait }: { requestsPerMinute: number | undefined; maxWait: number },
  context: Context,
): Promise<ImportWatch> {
  const { printer } = context;
  const status = await openStatusLine(context.io, printer);
  let requests = 0;
  let progress: ImportProgress | undefined;
  return {
    hooks: {
      onRequest: ({ path }) => {
        // Reading the usage counts against no quota.
        if (!path.endsWith('/usage')) requests++;
      },
      onResponse: ({ quota }) => progress?.onQuota(quota, Date.now()),
      onCooldown: ({ waitMs }) => progress?.onWait({ ms: waitMs }, Date.now()),
      onRetry: ({ waitMs, error }) => {
        // That a limit was met is announced as a cooldown too, perhaps a millisecond earlier.
        const isLimit = RateLimitError.isInstance(error);
        progress?.onWait({ ms: waitMs, error: isLimit ? undefined : error.message }, Date.now());
      },
    },
    begin(file) {
      const before = requests;
      const requestCount = () => requests - before;
      const current = new ImportProgress({ file, requestsPerMinute, requestCount });
      const warnings: string[] = [];
      progress = current;
      status.start(() => current.status(Date.now()));
      return {
        onEvent(event) {
          if (event.type === 'warning') warnings.push(event.message);
          current.onEvent(event, Date.now());
          show(event, file, printer);
          if (event.type === 'forecast') warnOfWait(event.forecast, maxWait, printer);
        },
        warnings,
        requestCount,
        onStopping: () => current.onStopping(),
        end: () => status.stop(),
      };
    },
  };
}

/** A run that will stop in the middle says so before it begins. */
function warnOfWait({ waitMs = 0 }: Forecast, maxWait: number, printer: Printer): void {
  if (waitMs <= maxWait) return;
  const [wait, most] = [formatDuration(waitMs), formatDuration(maxWait)];
  printer.warn(
    `The quota of the plan asks for a wait of about ${wait}, and --max-wait allows ${most}, so the run will stop there. To ride it out: --max-wait ${durationFlag(waitMs)}`,
  );
}

function show(event: ImportEvent, file: string, printer: Printer): void {
  switch (event.type) {
    case 'warning':
      printer.warn(event.message);
      break;
    case 'resuming': {
      const batches = plural(event.batches, 'batch', 'batches');
      printer.note(`  Looking up ${batches} of an earlier run (${plural(event.rows, 'link')})`);
      break;
    }
    case 'batch-resized':
      printer.note(
        `  A batch of ${plural(event.from, 'link')} was refused, the next ones are smaller: ${foreign(event.reason)}`,
      );
      break;
    default: {
      const json = printer.options.json ? importEvent(event, file) : undefined;
      if (json !== undefined && !printer.options.quiet) printer.event(json);
      const drawing = drawEvent(event, file, { style: printer.errStyle, width: printer.width });
      if (drawing !== undefined) printer.drawing(drawing);
    }
  }
}

/** How a user stops an import: the first Ctrl-C lets batches in flight finish, the second ends it now. */
export interface StopSignals {
  /** Aborted by the first Ctrl-C: no new batch is sent. */
  soft: AbortSignal;
  /** Aborted by the second: waits and requests end at once. */
  hard: AbortSignal;
  /** Called at the first; returns what the run still does. */
  onSoft: (() => string) | undefined;
  release: () => void;
}

export function stopSignals(context: Context): StopSignals {
  const soft = new AbortController();
  const hard = new AbortController();
  const off = context.io.onInterrupt((cause) => {
    if (!soft.signal.aborted) {
      soft.abort(interruptedError());
      const ending = signals.onSoft?.() ?? 'Stopping.';
      if (cause === 'signal') context.printer.note(`${ending} Ctrl-C again stops now.`);
      return;
    }
    // A third Ctrl-C finds no listener, so it ends the process even if something hangs.
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
