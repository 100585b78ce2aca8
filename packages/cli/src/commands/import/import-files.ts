import { mkdir, writeFile } from 'node:fs/promises';
import type { Shortlink } from '@shortlink/sdk';
import { EXIT_CODES, type ExitCode, exitCodeOfImport } from '../../cli-error.ts';
import type { Account, Context } from '../../context.ts';
import { plural } from '../../format.ts';
import { inputError, systemReason } from '../../import/errors.ts';
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
import { sanitize, sanitizeData, toSafeJson } from '../../output/sanitize.ts';
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
  const { dryRun, expectNoChanges, stateDir, rpm: requestsPerMinute, maxWait } = options;
  const account = dryRun ? await accountIfAny(context) : await context.account();
  // Without an address, a dry run compares with the links of no service.
  const baseUrl = (await context.settings()).baseUrl?.value ?? NO_SERVICE;
  if (stateDir !== undefined && !dryRun) await mkdir(stateDir, { recursive: true });
  // A path that can't be written stops the run before anything is sent, and a summary of an earlier run is gone.
  if (options.summary !== undefined) await writeSummary(options.summary, '');
  const watch = await watchImports({ requestsPerMinute, maxWait }, context);
  const limits = { requestsPerMinute, maxRetryAfterMs: maxWait };
  const wanted = { ...limits, idempotency: options.idempotency, hooks: watch.hooks };
  const client = account && (await context.client(account, wanted));
  const stop = stopSignals(context);
  const outcomes: FileOutcome[] = [];
  try {
    const all = files.map((settings) => ({ ...settings, baseUrl }));
    for (const settings of await inOrder(all, watch, stop)) {
      if (outcomes.length > 0) context.printer.drawing('');
      const outcome = await importFile(settings, { client, watch, stop, context, expectNoChanges });
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
  const summary = importJson(outcomes, exitCode, notImported, options.summary !== undefined);
  if (options.summary !== undefined) await writeSummary(options.summary, toSafeJson(summary, 2));
  if (context.globals.json === true) {
    // Where results go to stdout, nothing else may go there.
    const isStdoutTaken = files.some(({ output }) => output === STANDARD_STREAM);
    if (isStdoutTaken) context.printer.event({ event: 'summary', ...summary });
    else context.printer.json(summary);
  }
  return exitCode;
}

/** @throws CliError (exit code 2) when it can't be written */
async function writeSummary(path: string, text: string): Promise<void> {
  await writeFile(path, text && `${text}\n`).catch((cause) => {
    throw inputError(`${path} can't be written: ${systemReason(cause)}`, 'Name another --summary.');
  });
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
  if (exitCode === EXIT_CODES.changes) {
    const rows = plural(summary.unsent, 'row asks', 'rows ask');
    const message = `${rows} for a new link, and none was expected.`;
    printer.error({ code: 'changes', message, exitCode });
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
  const { changes, unknownFate, rowsFailed } = EXIT_CODES;
  const finished: readonly ExitCode[] = [changes, unknownFate, rowsFailed];
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
  /** `--expect-no-changes` */
  expectNoChanges: boolean;
}

/** How the import of one file ended. */
interface FileOutcome {
  summary: ImportSummary;
  exitCode: ExitCode;
  /** Every warning that was printed. */
  warnings: readonly string[];
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

/** What a dry run without an account can't know. */
const NOT_ASKED =
  'The service was not asked, because no API key is set for it: it may have links for rows that seem new, and what the plan still allows is not known.';

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
    if (run.client === undefined) watch.onEvent({ type: 'warning', message: NOT_ASKED });
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
    return { ...(await ended(summary, run)), warnings: watch.warnings };
  } catch (error) {
    const elapsedMs = performance.now() - startedAt;
    const requests = watch.requestCount();
    const outcome = await failed(error, { ...emptySummary(settings), requests, elapsedMs });
    return { ...outcome, warnings: watch.warnings };
  } finally {
    watch.end();
    stop.onSoft = undefined;
  }
}

type Ended = Omit<FileOutcome, 'warnings'>;

async function ended(
  summary: ImportSummary,
  { context: { argv }, expectNoChanges }: Run,
): Promise<Ended> {
  const { stopped } = summary;
  const isUnexpected = expectNoChanges && stopped === undefined && summary.unsent > 0;
  const exitCode = isUnexpected ? EXIT_CODES.changes : exitCodeOfImport(summary);
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

async function failed(error: unknown, summary: ImportSummary): Promise<Ended> {
  const { code, message, hint, exitCode } = await describeError(error);
  return { summary, exitCode, stopped: { reason: code, message, hint, next: undefined } };
}
