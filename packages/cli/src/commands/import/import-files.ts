import { mkdir } from 'node:fs/promises';
import type { Account, Context } from '../../context.ts';
import { EXIT_CODES, type ExitCode } from '../../exit-codes.ts';
import { commandLine } from '../../output/command-line.ts';
import { importJson } from '../../output/import-json.ts';
import { importTable } from '../../output/import-table.ts';
import { type FileOutcome, importFile } from './import-file.ts';
import { type ImportInput, STANDARD_STREAM } from './parse-import.ts';
import { stopSignals } from './stop-signals.ts';
import { watchImports } from './watch-import.ts';

/**
 * Imports one file after the other. A file that ends early (bad rows, a limit, Ctrl-C) ends the run, since what stopped
 * it would stop the next one too, or has to be looked at first.
 */
export async function importFiles(input: ImportInput, context: Context): Promise<ExitCode> {
  const account = input.dryRun ? await accountIfAny(context) : await context.account();
  // Without an account, a dry run compares with the links of no service.
  const baseUrl = account?.baseUrl ?? NO_SERVICE;
  if (input.stateDir !== undefined && !input.dryRun) {
    await mkdir(input.stateDir, { recursive: true });
  }
  const watch = await watchImports(input.requestsPerMinute, context);
  const { requestsPerMinute, maxRetryAfterMs, idempotency } = input;
  const { hooks } = watch;
  const client =
    account &&
    (await context.client(account, { requestsPerMinute, maxRetryAfterMs, idempotency, hooks }));
  const stop = stopSignals(context);
  const outcomes: FileOutcome[] = [];
  try {
    for (const settings of input.files) {
      const outcome = await importFile({ ...settings, baseUrl }, { client, watch, stop, context });
      outcomes.push(outcome);
      await report(outcome, context);
      if (outcome.stopped !== undefined) {
        break;
      }
    }
  } finally {
    stop.release();
  }
  const exitCode = worstOf(outcomes.map((outcome) => outcome.exitCode));
  if (context.globals.json === true) {
    // Results on stdout leave no place for anything else there.
    const stdoutTaken = input.files.some(({ output }) => output === STANDARD_STREAM);
    context.printer.json(importJson(outcomes, exitCode), stdoutTaken ? 'stderr' : 'stdout');
  }
  return exitCode;
}

const NO_SERVICE = 'http://localhost/';

/** The account, for a dry run, which needs none. */
async function accountIfAny(context: Context): Promise<Account | undefined> {
  const { apiKey, baseUrl } = await context.settings();
  return apiKey === undefined || baseUrl === undefined ? undefined : await context.account();
}

async function report(outcome: FileOutcome, context: Context): Promise<void> {
  const { printer } = context;
  const { summary, stopped } = outcome;
  if (context.globals.json === true) {
    return;
  }
  // Where bad rows stopped it, the error says all there is.
  if (summary.rows > 0 && stopped?.reason !== 'rejects') {
    printer.drawing(await importTable(summary, printer.errStyle));
  }
  if (summary.output !== undefined && summary.output !== STANDARD_STREAM) {
    printer.note(`Results: ${summary.output}`);
  }
  if (summary.rejectsFile !== undefined && stopped?.reason !== 'rejects') {
    printer.note(`Rejected rows: ${summary.rejectsFile}`);
  }
  if (stopped !== undefined) {
    const command = commandLine(context.argv, stopped.waitMs);
    const next = stopped.canContinue ? `To continue: ${command}` : undefined;
    const hint = [stopped.hint, next].filter((line) => line !== undefined).join('\n');
    printer.error({
      code: stopped.reason,
      message: stopped.message,
      hint: hint === '' ? undefined : hint,
      exitCode: outcome.exitCode,
    });
  }
}

/** The one that stopped the run, else the gravest of those that went to their end. */
function worstOf(codes: readonly ExitCode[]): ExitCode {
  const last = codes.at(-1) ?? EXIT_CODES.ok;
  const finished: readonly ExitCode[] = [EXIT_CODES.unknownFate, EXIT_CODES.rowsFailed];
  if (last !== EXIT_CODES.ok && !finished.includes(last)) {
    return last;
  }
  return finished.find((code) => codes.includes(code)) ?? EXIT_CODES.ok;
}
