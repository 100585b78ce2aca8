import { uptime } from 'node:os';
import type { Shortlink } from '@shortlink/sdk';
import { EXIT_CODES, exitCodeOf } from '../../cli-error.ts';
import type { Context } from '../../context.ts';
import { present } from '../../format.ts';
import { isStream } from '../../import/is-stream.ts';
import { emptySummary } from '../../import/report/summary.ts';
import type { ImportDeps, ImportSettings, ImportSummary, OnSimilar } from '../../import/types.ts';
import { isClosedPipe, type OutputStream } from '../../io.ts';
import { commandLine } from '../../output/command-line.ts';
import { describeError } from '../../output/describe-error.ts';
import type { ImportOutcome } from '../../output/json-events.ts';
import type { ErrorReport } from '../../output/printer.ts';
import { ask } from '../../output/prompt.ts';
import { sanitize, sanitizeData } from '../../output/sanitize.ts';
import { STANDARD_STREAM } from '../declare.ts';
import type { FileWatch, ImportWatch, StopSignals } from './watch-import.ts';

export interface Run {
  /** Undefined in a dry run without an account. */
  client: Shortlink | undefined;
  watch: ImportWatch;
  stop: StopSignals;
  context: Context;
  expectNoChanges?: boolean | undefined;
}

export interface FileOutcome extends ImportOutcome {
  /** The command that creates the missing links; undefined where the same command would only stop again. */
  next: string | undefined;
}

const NO_CLIENT: ImportDeps['client'] = {
  links: { createMany: noAccount, lookup: noAccount },
  usage: { retrieve: noAccount },
  jobs: { retrieve: noAccount },
};

const NOT_ASKED =
  'The service was not asked, because no API key is set for it: it may have links for rows that seem new, and what the plan still allows is not known.';

const SAYS_NOTHING =
  'The service says nothing about the account: whether it takes the key, and what the plan still allows, is not known.';

const NO_INPUT: ImportDeps['stdin'] = { async *[Symbol.asyncIterator]() {} };

function noAccount(): never {
  throw new Error('there is no account');
}

/** Where the reader of the results has gone (`| head`), the import stops as after one Ctrl-C. The journal has what could not be written. */
export function untilClosed(stdout: OutputStream, endStatus: () => void): ImportDeps['stdout'] {
  let isClosed = false;
  return {
    write(bytes, done) {
      // Results and the status line may be on one terminal.
      endStatus();
      const shown = stdout.isTTY ? sanitizeData(Buffer.from(bytes).toString()) : bytes;
      stdout.write(shown, (error) => {
        if (isClosedPipe(error)) isClosed = true;
        done(isClosedPipe(error) ? undefined : error);
      });
    },
    isClosed: () => isClosed,
    isPipe: stdout.isPipe,
  };
}

/** Asks on a terminal about rows whose target has links that could be theirs. */
function deciderOf({ io, printer }: Context, watch: FileWatch, signal: AbortSignal) {
  if (io.stderr.isTTY !== true || printer.options.json) return undefined;
  return async (message: string): Promise<OnSimilar> => {
    // Looking at it earlier would begin to read it.
    if (io.stdin.isTTY !== true) return 'stop';
    watch.end();
    printer.note(sanitize(message));
    const question = 'Reuse these links, create others, or stop? [reuse/create/stop] ';
    const word = (await ask(question, io, signal)).trim().toLowerCase();
    const words = ['reuse', 'create'] as const;
    return words.find((one) => word !== '' && one.startsWith(word)) ?? 'stop';
  };
}

function depsOf({ file }: ImportSettings, watch: FileWatch, run: Run): ImportDeps {
  const { client, context, stop } = run;
  return {
    client: client ?? NO_CLIENT,
    stdin: file === STANDARD_STREAM ? context.io.stdin : NO_INPUT,
    stdout: untilClosed(context.io.stdout, watch.end),
    onEvent: watch.onEvent,
    decide: deciderOf(context, watch, stop.soft),
    signal: stop.hard,
    stopSignal: stop.soft,
    requestCount: watch.requestCount,
    now: () => performance.now(),
    uptime: () => uptime() * 1_000,
    wallClock: Date.now,
  };
}

/** Whether a file can be imported after the `others`, as far as files tell: nothing is written, and nobody is asked. */
export async function canBeImported(settings: ImportSettings, run: Run): Promise<boolean> {
  const shown = run.watch.begin(settings.file);
  try {
    const { runImport } = await import('../../import/run-import.ts');
    const { onEvent, decide, ...deps } = depsOf(settings, shown, { ...run, client: undefined });
    const others = decide === undefined ? settings.others : [];
    const { rejected } = await runImport(
      { ...settings, dryRun: true, others },
      { ...deps, onEvent: (event) => event.type === 'validating' && onEvent(event) },
    );
    return settings.maxRejects === 'all' || rejected <= settings.maxRejects;
  } catch {
    return false;
  } finally {
    shown.end();
  }
}

/** What went wrong is in the outcome: nothing is thrown. */
export async function importFile(settings: ImportSettings, run: Run): Promise<FileOutcome> {
  const { stop } = run;
  const watch = run.watch.begin(settings.file);
  stop.onSoft = watch.onStopping;
  const startedAt = performance.now();
  try {
    const { runImport } = await import('../../import/run-import.ts');
    if (run.client === undefined) watch.onEvent({ type: 'warning', message: NOT_ASKED });
    const summary = await runImport(settings, depsOf(settings, watch, run));
    const { forecast } = summary;
    const isSilent = settings.dryRun && forecast !== undefined && forecast.plan === undefined;
    if (isSilent && run.client !== undefined)
      watch.onEvent({ type: 'warning', message: SAYS_NOTHING });
    return { ...(await ended(summary, run)), summary, warnings: watch.warnings };
  } catch (error) {
    const elapsedMs = performance.now() - startedAt;
    const summary = { ...emptySummary(settings), requests: watch.requestCount(), elapsedMs };
    const { code, exitCode, ...said } = await describeError(error, run.context.profileFlag);
    const stopped = { reason: code, ...said };
    return { summary, exitCode, stopped, next: undefined, warnings: watch.warnings };
  } finally {
    watch.end();
  }
}

async function ended(summary: ImportSummary, { context, expectNoChanges }: Run) {
  const { argv, profileFlag: flag } = context;
  const { stopped, file, unsent, failed } = summary;
  const exitCode = exitCodeOf(summary);
  if (stopped === undefined) {
    const isUnexpected = expectNoChanges && unsent > 0;
    return { exitCode: isUnexpected ? EXIT_CODES.changes : exitCode, stopped, next: undefined };
  }
  const cause = stopped.error === undefined ? undefined : await describeError(stopped.error, flag);
  const isRefused = cause?.exitCode === EXIT_CODES.usage;
  const correctFirst = isRefused && failed > 0 ? CORRECT_FIRST : undefined;
  const { reason, waitMs, mustDecide, message, hint = cause?.hint ?? correctFirst } = stopped;
  const advice = hint?.replace(/shortlink usage$/m, `$&${flag}`);
  const canContinue = CONTINUABLE.includes(reason) && mustDecide !== true && !isRefused;
  const how = present(
    'To continue',
    argv.includes('--restart') && 'with the links that the service has already',
    isStream(file) && 'pipe the same input into',
  ).join(', ');
  // The name of a pipe of the shell ends with it.
  const again = isStream(file) ? argv.map((word) => (word === file ? '-' : word)) : argv;
  return {
    // The error itself decides about the exit code.
    exitCode: reason === 'error' ? (cause?.exitCode ?? exitCode) : exitCode,
    stopped: { reason, message: cause?.message ?? message, hint: advice, ...responseOf(cause) },
    next: canContinue ? `${how}: ${commandLine(again, waitMs)}` : undefined,
  };
}

/** What finds the response in the log of the service. */
const responseOf = ({ status, requestId }: Partial<ErrorReport> = {}) =>
  status === undefined ? {} : { status, requestId };

const CORRECT_FIRST =
  'The results name the rows that failed. Correct these first, or take them out: until then, each run ends before it sends the rows behind them.';

/** After any other reason, the key, the plan or the file must be changed first. */
const CONTINUABLE: readonly string[] = ['rate_limit', 'interrupted', 'unknown', 'error'];
