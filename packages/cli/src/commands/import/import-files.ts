import { mkdir, writeFile } from 'node:fs/promises';
import { inputError, systemReason } from '@shortlink/tables/basics';
import { EXIT_CODES, type ExitCode } from '../../cli-error.ts';
import type { Context } from '../../context.ts';
import { plural, present } from '../../format.ts';
import { type ImportSettings, NO_SERVICE } from '../../import/types.ts';
import { printSummary, progressOf } from '../../output/import-summary.ts';
import { importJson } from '../../output/json-events.ts';
import { toSafeJson } from '../../output/sanitize.ts';
import { STANDARD_STREAM } from '../declare.ts';
import type { ImportInput } from './import.ts';
import { canBeImported, type FileOutcome, importFile, type Run } from './import-file.ts';
import { stopSignals, watchImports } from './watch-import.ts';

/**
 * Imports one file after the other, once all of them were looked at. A file that ends early ends the run: the same reason would stop the next
 * one too, or needs a decision of the user.
 */
export async function importFiles({ files, leftOut, options }: ImportInput, context: Context) {
  for (const why of leftOut) context.printer.warn(why);
  const { dryRun, expectNoChanges, stateDir, rpm: requestsPerMinute, maxWait } = options;
  // A path that can't be written stops the run at once, and a summary of an earlier run is gone.
  if (options.summary !== undefined) await writeSummary(options.summary, '');
  const { apiKey, baseUrl: address } = await context.settings();
  // Without an address, a dry run compares with the links of no service.
  const isKnown = apiKey !== undefined && address !== undefined;
  const account = isKnown || !dryRun ? await context.account() : undefined;
  const baseUrl = address?.value ?? NO_SERVICE;
  if (stateDir !== undefined && !dryRun) await mkdir(stateDir, { recursive: true });
  const watch = await watchImports({ requestsPerMinute, maxWait }, context);
  const limits = { requestsPerMinute, maxRetryAfterMs: maxWait };
  const wanted = { ...limits, idempotency: options.idempotency, hooks: watch.hooks };
  const client = account && (await context.client(account, wanted));
  const stop = stopSignals(context);
  const outcomes: FileOutcome[] = [];
  try {
    const all = files.map((settings) => ({ ...settings, baseUrl }));
    const run: Run = { client, watch, stop, context, expectNoChanges };
    const earlier: ImportSettings[] = [];
    for (const settings of await inOrder(all, run)) {
      if (outcomes.length > 0) context.printer.drawing('');
      const outcome = await importFile(after(earlier, outcomes, settings), run);
      outcomes.push(outcome);
      earlier.push(settings);
      await report(outcome, context);
      if (outcome.stopped !== undefined) break;
    }
  } finally {
    stop.release();
  }
  const done = new Set(outcomes.map(({ summary }) => summary.file));
  const notImported = files.map(({ file }) => file).filter((file) => !done.has(file));
  if (notImported.length > 0) context.printer.warn(`Not imported: ${notImported.join(', ')}`);
  let exitCode = worstOf(outcomes.map((outcome) => outcome.exitCode));
  const counted = importJson(outcomes, exitCode, notImported, options.summary !== undefined);
  const summary = { ...counted, warnings: leftOut };
  if (options.summary !== undefined) {
    await writeSummary(options.summary, toSafeJson(summary, 2)).catch(({ message }: Error) => {
      context.printer.error({ code: 'system', message, exitCode: EXIT_CODES.error });
      // What became of the rows counts more.
      exitCode ||= EXIT_CODES.error;
    });
  }
  context.printer.summary({ ...summary, exit_code: exitCode }, files);
  return exitCode;
}

/** @throws InputError when it can't be written */
async function writeSummary(path: string, text: string): Promise<void> {
  await writeFile(path, text && `${text}\n`).catch((cause) => {
    throw inputError(`${path} can't be written: ${systemReason(cause)}`, 'Name another --summary.');
  });
}

/** The settings of a file after others: with what these leave of `--limit`, and with their journals and results, or, in a dry run, with the files themselves. */
function after(
  earlier: readonly ImportSettings[],
  outcomes: readonly FileOutcome[],
  { limit, others, ...settings }: ImportSettings,
): ImportSettings {
  const { dryRun, onSimilar } = settings;
  const made = outcomes.map(({ summary }) => summary.created + (dryRun ? summary.unsent : 0));
  const left = limit && made.reduce((rest, count) => Math.max(0, rest - count), limit);
  const isPath = (path: ImportSettings['journal']): path is string =>
    typeof path === 'string' && path !== STANDARD_STREAM;
  return {
    ...{ ...settings, limit: left },
    others: dryRun && onSimilar !== 'reuse' ? earlier.map(({ file }) => file) : others,
    earlier: earlier.flatMap(({ journal, output }) => [journal, output].filter(isPath)),
  };
}

/** Among more files than these, none is compared with the others: each would be read once for each other one. */
const MOST_COMPARED = 10;

/** The files, a bad one first: it ends the run before anything of the others is sent. */
async function inOrder(files: readonly ImportSettings[], run: Run) {
  if (files.length === 1 || files.some(({ dryRun }) => dryRun)) return files;
  let unclear: readonly ImportSettings[] = [];
  for (const settings of files) {
    const others = files.filter((other) => other !== settings);
    const compared = files.length <= MOST_COMPARED ? others : [];
    const first = { ...settings, others: compared.map(({ file }) => file) };
    if (await canBeImported(first, run)) continue;
    // The service may know whose the links are of a file with rows of another one.
    const alone = { ...settings, onSimilar: 'create' } as const;
    if (!(await canBeImported(alone, run))) return [first, ...others];
    if (unclear.length === 0) unclear = [first, ...others];
  }
  return unclear.length > 0 ? unclear : files;
}

async function report(outcome: FileOutcome, { printer, globals }: Context): Promise<void> {
  const { summary, stopped, next, exitCode } = outcome;
  if (globals.json !== true && summary.rows > 0 && stopped?.reason !== 'rejects') {
    await printSummary(summary, printer, globals.verbose === true);
  }
  if (exitCode === EXIT_CODES.changes) {
    const rows = plural(summary.unsent, 'row asks', 'rows ask');
    const message = `${rows} for a new link, and none was expected.`;
    printer.error({ code: 'changes', message, exitCode });
  }
  if (stopped === undefined) return;
  const { reason, message, hint, status, requestId } = stopped;
  printer.error({
    ...{ code: reason, status, requestId },
    message: printer.options.quiet ? `${message}${progressOf(summary)}` : message,
    hint: present(hint, next).join('\n') || undefined,
    exitCode,
  });
}

/** The exit code of the file that stopped the run, or the worst of all files. */
function worstOf(codes: readonly ExitCode[]): ExitCode {
  const last = codes.at(-1) ?? EXIT_CODES.ok;
  const { changes, unknownFate, rowsFailed } = EXIT_CODES;
  const finished: readonly ExitCode[] = [changes, unknownFate, rowsFailed];
  if (last !== EXIT_CODES.ok && !finished.includes(last)) return last;
  return finished.find((code) => codes.includes(code)) ?? EXIT_CODES.ok;
}
