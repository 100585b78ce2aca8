import { mkdir } from 'node:fs/promises';
import type { Shortlink } from '@shortlink/sdk';
import { EXIT_CODES, type ExitCode, exitCodeOfImport } from '../../cli-error.ts';
import type { Account, Context } from '../../context.ts';
import { emptySummary } from '../../import/report/summary.ts';
import {
  type ImportDeps,
  type ImportSettings,
  type ImportSummary,
  NO_SERVICE,
} from '../../import/types.ts';
import { isClosedPipe, type OutputStream } from '../../io.ts';
import { commandLine } from '../../output/command-line.ts';
import { describeError } from '../../output/describe-error.ts';
import { printImportSummary, progressOf } from '../../output/import-summary.ts';
import { importJson } from '../../output/json-events.ts';
import { ask } from '../../output/prompt.ts';
import { sanitize, sanitizeData } from '../../output/sanitize.ts';
import { type ImportInput, STANDARD_STREAM } from './parse-import.ts';
import {
  type FileWatch,
  type ImportWatch,
  type StopSignals,
  stopSignals,
  watchImports,
} from './watch-import.ts';

/**
 * Imports one file after the other, once all of them were looked at. A file that ends early (bad rows, a limit, Ctrl-C) ends the run,
 * since the same reason would stop the next one too, or needs a decision of the user.
 */
export async function importFiles(
  { files, options }: ImportInput,
  context: Context,
): Promise<ExitCode> {
  const { dryRun, stateDir, rpm: requestsPerMinute, maxWait, idempotency } = options;
  const account = dryRun ? await accountIfAny(context) : await context.account();
  // Without an address, a dry run compares with the links of no service.
  const baseUrl = (await context.settings()).baseUrl?.value ?? NO_SERVICE;
  if (stateDir !== undefined && !dryRun) await mkdir(stateDir, { recursive: true });
  const watch = await watchImports({ requestsPerMinute, maxWait }, context);
  const { hooks } = watch;
  const limits = { requestsPerMinute, maxRetryAfterMs: maxWait };
  const client = account && (await context.client(account, { ...limits, idempotency, hooks }));
  const stop = stopSignals(context);
  const outcomes: FileOutcome[] = [];
  try {
    const all = files.map((settings) => ({ ...settings, baseUrl }));
    for (const settings of await inOrder(all, watch, stop)) {
      if (outcomes.length > 0) context.printer.drawing('');
      const outcome = await importFile(settings, { client, watch, stop, context });
      outcomes.push(outcome);
      await report(outcome, context);
      if (outcome.stopped !== undefined) break;
    }
  } finally {
    stop.release();
  }
  const done = new Set(outcomes.map(({ summary }) => summary.file));
  const notImported = files.map(({ file }) => file).filter((file) => !done.has(file));
  if (notImported.length > 0) context.printer.warn(`Not imported: ${notImported.join(', ')}`);
  const exitCode = worstOf(outcomes.map((outcome) => outcome.exitCode));
  if (context.globals.json === true) {
    // Where results go to stdout, nothing else may go there.
    const isStdoutTaken = files.some(({ output }) => output === STANDARD_STREAM);
    const summary = importJson(outcomes, exitCode, notImported);
    if (isStdoutTaken) context.printer.event({ event: 'summary', ...summary });
    else context.printer.json(summary);
  }
  return exitCode;
}

/** The files, a bad one first: it ends the run with its own message before anything of the others is sent. */
async function inOrder(
  files: readonly ImportSettings[],
  watch: ImportWatch,
  { soft: stopSignal, hard: signal }: StopSignals,
): Promise<readonly ImportSettings[]> {
  if (files.length === 1 || files.some(({ dryRun }) => dryRun)) return files;
  const { canBeImported } = await import('../../import/run-import.ts');
  for (const settings of files) {
    const { onEvent, end } = watch.begin(settings.file);
    const isGood = await canBeImported(settings, {
      signal,
      stopSignal,
      onEvent: (event) => event.type === 'validating' && onEvent(event),
    });
    end();
    if (!isGood) return [settings, ...files.filter((other) => other !== settings)];
  }
  return files;
}

/** The account, for a dry run, which needs none. */
async function accountIfAny(context: Context): Promise<Account | undefined> {
  const { apiKey, baseUrl } = await context.settings();
  return apiKey === undefined || baseUrl === undefined ? undefined : await context.account();
}

async function report(
  { summary, stopped, exitCode }: FileOutcome,
  context: Context,
): Promise<void> {
  const { printer, globals } = context;
  // Where bad rows stopped it, the error says all there is.
  if (globals.json !== true && summary.rows > 0 && stopped?.reason !== 'rejects') {
    await printImportSummary(summary, printer, globals.verbose === true);
  }
  if (stopped === undefined) return;
  const { reason, message, hint, next } = stopped;
  const hints = [hint, next].filter((line) => line !== undefined).join('\n');
  printer.error({
    code: reason,
    message: printer.options.quiet ? `${message}${progressOf(summary)}` : message,
    hint: hints === '' ? undefined : hints,
    exitCode,
  });
}

/** The exit code of the file that stopped the run, or else the worst of all files. */
function worstOf(codes: readonly ExitCode[]): ExitCode {
  const last = codes.at(-1) ?? EXIT_CODES.ok;
  const finished: readonly ExitCode[] = [EXIT_CODES.unknownFate, EXIT_CODES.rowsFailed];
  if (last !== EXIT_CODES.ok && !finished.includes(last)) return last;
  return finished.find((code) => codes.includes(code)) ?? EXIT_CODES.ok;
}

/** What all files of one command line share. */
interface Run {
  /** Undefined in a dry run without an account: it creates nothing, and only looks at what the plan has left. */
  client: Shortlink | undefined;
  watch: ImportWatch;
  stop: StopSignals;
  context: Context;
}

/** How the import of one file ended. */
interface FileOutcome {
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
  /** The command that creates the links that are missing; undefined where the same command would only stop again. */
  next: string | undefined;
}

/** For a dry run without an account, in which no service is asked. */
const NO_CLIENT: ImportDeps['client'] = {
  links: { createMany: () => noAccount(), lookup: async () => noAccount() },
  usage: { retrieve: async () => noAccount() },
};

const NO_INPUT: ImportDeps['stdin'] = { async *[Symbol.asyncIterator]() {} };

function noAccount(): never {
  throw new Error('there is no account');
}

/**
 * When the reader of the results has gone (`| head`), the import stops as after one Ctrl-C. The journal has the
 * results that could not be written.
 */
export function untilClosed(
  stdout: OutputStream,
  watch: Pick<FileWatch, 'end'>,
): ImportDeps['stdout'] {
  let isClosed = false;
  return {
    write(bytes, done) {
      // Results and the status line may be on the same terminal.
      watch.end();
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

/** Asks on a terminal what becomes of rows whose target has links that could be theirs. */
function deciderOf(
  { io, printer }: Context,
  watch: FileWatch,
  signal: AbortSignal,
): ImportDeps['decide'] {
  if (io.stderr.isTTY !== true || printer.options.json) return undefined;
  return async (message) => {
    // Looked at only now: it is read from then on.
    if (io.stdin.isTTY !== true) return 'stop';
    watch.end();
    printer.note(sanitize(message));
    const answer = await ask(
      'Use these links, create others, or stop? [use/create/stop] ',
      io,
      signal,
    );
    const word = answer.trim().toLowerCase();
    if (word === '') return 'stop';
    return 'use'.startsWith(word) ? 'reuse' : 'create'.startsWith(word) ? 'create' : 'stop';
  };
}

/** Imports one file and shows how it goes. What went wrong is in the outcome: nothing is thrown. */
async function importFile(settings: ImportSettings, run: Run): Promise<FileOutcome> {
  const { context, stop } = run;
  const watch = run.watch.begin(settings.file);
  stop.onSoft = watch.onStopping;
  const startedAt = performance.now();
  try {
    const { runImport } = await import('../../import/run-import.ts');
    const summary = await runImport(settings, {
      client: run.client ?? NO_CLIENT,
      stdin: settings.file === STANDARD_STREAM ? context.io.stdin : NO_INPUT,
      stdout: untilClosed(context.io.stdout, watch),
      onEvent: watch.onEvent,
      decide: deciderOf(context, watch, stop.soft),
      signal: stop.hard,
      stopSignal: stop.soft,
      requestCount: watch.requestCount,
      now: () => performance.now(),
      wallClock: Date.now,
    });
    return await ended(summary, context);
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

async function ended(summary: ImportSummary, { argv }: Context): Promise<FileOutcome> {
  const exitCode = exitCodeOfImport(summary);
  const { stopped } = summary;
  if (stopped === undefined) return { summary, exitCode, stopped: undefined };
  const cause = stopped.error === undefined ? undefined : await describeError(stopped.error);
  const { reason, message, hint, waitMs, mustDecide } = stopped;
  const isRefused = cause?.exitCode === EXIT_CODES.usage;
  const canContinue = CONTINUABLE.includes(reason) && mustDecide !== true && !isRefused;
  const how =
    summary.file === STANDARD_STREAM ? 'To continue, pipe the same input into' : 'To continue';
  return {
    summary,
    // For the reason 'error', the error itself decides about the exit code.
    exitCode: reason === 'error' && cause !== undefined ? cause.exitCode : exitCode,
    stopped: {
      reason,
      message: cause?.message ?? message,
      hint: hint ?? cause?.hint,
      next: canContinue ? `${how}: ${commandLine(argv, waitMs)}` : undefined,
    },
  };
}

/** After the others, something must be changed first: the key, the plan, or the file. */
const CONTINUABLE: readonly string[] = ['rate_limit', 'interrupted', 'unknown', 'error'];

async function failed(error: unknown, summary: ImportSummary): Promise<FileOutcome> {
  const { code, message, hint, exitCode } = await describeError(error);
  return { summary, exitCode, stopped: { reason: code, message, hint, next: undefined } };
}
