import type { Shortlink } from '@shortlink/sdk';
import type { Context } from '../../context.ts';
import { type ExitCode, exitCodeOfImport } from '../../exit-codes.ts';
import type { ImportDeps } from '../../import/deps.ts';
import { emptySummary } from '../../import/report/summary.ts';
import type { ImportSettings, ImportSummary } from '../../import/types.ts';
import { isClosedPipe, type OutputStream } from '../../io.ts';
import { describeError } from '../../output/describe-error.ts';
import type { StopSignals } from './stop-signals.ts';
import type { ImportWatch } from './watch-import.ts';

/** What all files of one command line share. */
export interface Run {
  /** Undefined in a dry run without an account: it creates nothing, and only looks at what the plan has left. */
  client: Shortlink | undefined;
  watch: ImportWatch;
  stop: StopSignals;
  context: Context;
}

/** How the import of one file ended. */
export interface FileOutcome {
  summary: ImportSummary;
  exitCode: ExitCode;
  /** Why not all of its rows were sent; undefined when they were. */
  stopped: Stopped | undefined;
}

interface Stopped {
  /** A `StopReason`, or the code of the error that ended it. */
  reason: string;
  message: string;
  hint: string | undefined;
  /** Whether the same command would create the links that are missing, perhaps with a longer `--max-wait`. */
  canContinue: boolean;
  /** A `--max-wait` that is long enough, in milliseconds. */
  waitMs: number | undefined;
}

/** A dry run without an account: nobody tells what the plan has left. */
const NO_CLIENT: ImportDeps['client'] = {
  links: { createMany: () => noAccount() },
  jobs: { wait: async () => noAccount() },
  usage: { retrieve: async () => noAccount() },
};

function noAccount(): never {
  throw new Error('there is no account');
}

/**
 * When the reader of the results has gone (`| head`), the import stops softly like after Ctrl-C; what it would still
 * write goes nowhere, and is in the journal.
 */
function untilClosed(stdout: OutputStream): ImportDeps['stdout'] {
  return {
    write: (text, done) =>
      stdout.write(text, (error) => done(isClosedPipe(error) ? undefined : error)),
  };
}

/** Imports one file and shows how it goes. What went wrong is in the outcome: nothing is thrown. */
export async function importFile(settings: ImportSettings, run: Run): Promise<FileOutcome> {
  const { context, stop } = run;
  const watch = run.watch.begin(settings.file);
  stop.onSoft = watch.onStopping;
  const startedAt = performance.now();
  try {
    const { runImport } = await import('../../import/run-import.ts');
    const summary = await runImport(settings, {
      client: run.client ?? NO_CLIENT,
      stdin: context.io.stdin,
      stdout: untilClosed(context.io.stdout),
      onEvent: watch.onEvent,
      signal: stop.hard,
      stopSignal: stop.soft,
      requestCount: watch.requestCount,
      now: () => performance.now(),
    });
    return await ended(summary);
  } catch (error) {
    const elapsedMs = performance.now() - startedAt;
    return await failed(error, {
      ...emptySummary(settings),
      requests: watch.requestCount(),
      elapsedMs,
    });
  } finally {
    watch.end();
    stop.onSoft = undefined;
  }
}

async function ended(summary: ImportSummary): Promise<FileOutcome> {
  const exitCode = exitCodeOfImport(summary);
  const { stopped } = summary;
  if (stopped === undefined) {
    return { summary, exitCode, stopped: undefined };
  }
  const cause = stopped.error === undefined ? undefined : await describeError(stopped.error);
  return {
    summary,
    // Of a stop without a code of its own, the error knows more.
    exitCode: stopped.reason === 'error' && cause !== undefined ? cause.exitCode : exitCode,
    stopped: {
      reason: stopped.reason,
      message: stopped.message,
      hint: cause?.hint,
      canContinue: CONTINUABLE.includes(stopped.reason) && stopped.mustDecide !== true,
      waitMs: stopped.waitMs,
    },
  };
}

/** After the others, something must be changed first: the key, the plan, or the file. */
const CONTINUABLE: readonly string[] = ['rate_limit', 'interrupted', 'unknown', 'error'];

async function failed(error: unknown, summary: ImportSummary): Promise<FileOutcome> {
  const { code, message, hint, exitCode } = await describeError(error);
  return {
    summary,
    exitCode,
    stopped: { reason: code, message, hint, canContinue: false, waitMs: undefined },
  };
}
