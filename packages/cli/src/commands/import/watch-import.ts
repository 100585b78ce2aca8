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

export type ImportWatch = Awaited<ReturnType<typeof watchImports>>;
export type FileWatch = ReturnType<ImportWatch['begin']>;

/** Shows imports while they run, by their events and by the hooks of the client, which all files share: one cooldown, one pace. */
export async function watchImports(
  { requestsPerMinute, maxWait }: { requestsPerMinute: number | undefined; maxWait: number },
  context: Context,
) {
  const { printer } = context;
  const status = await openStatusLine(context.io, printer);
  let requests = 0;
  let progress: ImportProgress | undefined;
  const hooks: ShortlinkHooks = {
    onRequest: ({ path }) => {
      // Reading the usage counts against no quota.
      if (!path.endsWith('/usage')) requests++;
    },
    onResponse: ({ quota }) => progress?.onQuota(quota, Date.now()),
    onCooldown: ({ waitMs }) => progress?.onWait({ ms: waitMs }, Date.now()),
    onRetry: ({ waitMs, error }) => {
      // A limit is announced as a cooldown too, perhaps a millisecond earlier.
      const isLimit = RateLimitError.isInstance(error);
      progress?.onWait({ ms: waitMs, error: isLimit ? undefined : error.message }, Date.now());
    },
  };
  return {
    hooks,
    begin(file: string) {
      const before = requests;
      const requestCount = () => requests - before;
      const current = new ImportProgress({ file, requestsPerMinute, requestCount });
      const warnings: string[] = [];
      progress = current;
      status.start(() => current.status(Date.now()));
      return {
        onEvent(event: ImportEvent) {
          if (event.type === 'warning') warnings.push(event.message);
          current.onEvent(event, Date.now());
          show(event, file, printer);
          if (event.type === 'forecast') warnOfWait(event.forecast, maxWait, printer);
        },
        warnings: warnings as readonly string[],
        /** The number of requests for this file, with polls and retries. */
        requestCount,
        onStopping: () => current.onStopping(),
        end: status.stop,
      };
    },
  };
}

function warnOfWait({ waitMs = 0 }: Forecast, maxWait: number, printer: Printer): void {
  if (waitMs <= maxWait) return;
  const [wait, most] = [formatDuration(waitMs), formatDuration(maxWait)];
  printer.warn(
    `The quota of the plan asks for a wait of about ${wait}, and --max-wait allows ${most}, so the run will stop there. To ride it out: --max-wait ${durationFlag(waitMs)}`,
  );
}

function show(event: ImportEvent, file: string, printer: Printer): void {
  const { json, quiet } = printer.options;
  if (event.type === 'warning') printer.warn(event.message);
  else if (event.type === 'resuming') {
    const batches = plural(event.batches, 'batch', 'batches');
    printer.note(`  Checking ${batches} without an outcome (${plural(event.rows, 'link')})`);
  } else if (event.type === 'batch-resized') {
    const reason = foreign(event.reason);
    printer.note(
      `  A batch of ${plural(event.from, 'link')} was refused, the next ones are smaller: ${reason}`,
    );
  } else if (json) {
    const fields = importEvent(event, file);
    if (fields !== undefined && !quiet) printer.event(fields);
  } else {
    const drawing = drawEvent(event, file, printer);
    if (drawing !== undefined) printer.drawing(drawing);
  }
}

export type StopSignals = ReturnType<typeof stopSignals>;

/** The first Ctrl-C aborts `soft`: batches in flight end. The second aborts `hard`: waits and requests end at once. */
export function stopSignals({ io, printer }: Context) {
  const soft = new AbortController();
  const hard = new AbortController();
  const signals = {
    soft: soft.signal,
    hard: hard.signal,
    /** Called at the first Ctrl-C; returns what the run still does. */
    onSoft: undefined as (() => string) | undefined,
    release: io.onInterrupt((cause) => {
      if (!soft.signal.aborted) {
        soft.abort(interruptedError());
        const ending = signals.onSoft?.() ?? 'Stopping.';
        if (cause === 'signal') printer.note(`${ending} Ctrl-C again stops now.`);
        // When a terminal is closed, the system and the shell both send a signal, and output fails.
      } else if (cause !== 'closed') {
        // A third Ctrl-C finds no listener, so it ends the process even if something hangs.
        signals.release();
        hard.abort(interruptedError());
      }
    }),
  };
  return signals;
}
