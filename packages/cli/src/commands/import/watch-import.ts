import type { ShortlinkHooks } from '@shortlink/sdk';
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
export interface FileWatch {
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
