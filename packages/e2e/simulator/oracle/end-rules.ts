import type { ImportSettings } from '../../../cli/src/import/types.ts';
import type { Ended } from '../program.ts';
import { parseResults } from '../scenario/file-text.ts';
import type { RowPlan, RunPlan, Scenario, UserTraits } from '../scenario/scenario.ts';
import type { Disk } from '../world/disk.ts';
import type { Exchange } from '../world/network.ts';
import { isJournal } from './journal-rules.ts';
import { isCreate } from './ledger.ts';

/** So many links are tried one by one before the client gives up. */
const FEW_LINKS = 60;

/** Whether nothing is left to do, as the run says; then it must be so. */
export function isFinished(
  { summary }: Ended,
  all: readonly RowPlan[],
  { maxRejects }: UserTraits,
  policy: ImportSettings['onUnknown'],
  { hasLookup, batchSize }: Pick<Scenario['service'], 'hasLookup' | 'batchSize'>,
): boolean {
  if (summary === undefined) throw new Error('a quiet run does not end');
  const invalid = all.filter(({ kind }) => kind === 'invalid').length;
  if (summary.stopped?.reason === 'rejects' && invalid > 0 && maxRejects === 0) return true;
  const refused = all.filter(({ kind }) => kind === 'refused').length;
  const { rows, rejected, failed, unknown, unsent, stopped } = summary;
  const isSettled = unknown === 0 || (policy === 'skip' && !hasLookup);
  // The client gives up where a service refuses one link after the other, and the next run begins with the same ones. It reads no further then.
  const isBehindThem = failed <= refused && failed + batchSize > FEW_LINKS;
  if (isBadRequest(stopped?.error) && isSettled) {
    if (failed + unsent <= refused || isBehindThem) return true;
  }
  if (stopped !== undefined) return false;
  // The next run asks.
  if (hasLookup && unknown > 0) return false;
  if (unsent > 0 || rows !== all.length || rejected !== invalid || failed > refused) {
    throw new Error(`a run that says it is done leaves rows: ${JSON.stringify(summary)}`);
  }
  if (policy !== 'skip' && unknown > 0)
    throw new Error('a run that says it is done leaves unknown rows');
  return true;
}

function isBadRequest(error: unknown): boolean {
  return error instanceof Error && error.name === 'BadRequestError';
}

/**
 * The same command again sends nothing but perhaps a look at the usage, at the codes that a file without its journal names, and for a job that
 * was not found: another key may find it, though no row asks for its links any more. Rows that failed before are sent again: then one of them
 * may also take the link of another row of its target, which gets a new one.
 */
export function checkNothingToDo(
  before: Ended,
  { summary }: Ended,
  exchanges: readonly Exchange[],
  { fromStdin }: UserTraits,
): void {
  if (fromStdin || summary === undefined) return;
  const { failed = 0, unknown = 0 } = before.summary ?? {};
  if (summary.created > failed)
    throw new Error('links are created although every row has its link');
  if (failed > 0 || unknown > 0) return;
  const sent = exchanges.find(({ path, body, received }) => {
    const isOfCodes = path.endsWith('/lookup') && body?.startsWith('{"codes"');
    const isOfLostJob = path.includes('/jobs/') && received?.status === 404;
    return !path.endsWith('/usage') && !isOfCodes && !isOfLostJob;
  });
  if (sent !== undefined)
    throw new Error(`#${sent.number} is sent although every row has its link`);
}

/**
 * Standard input that was imported whole is forgotten: the same rows ask for new links then. A program that was killed has forgotten
 * it where its journal is gone, which is the last thing it does: then each row has its link in the results.
 */
export function isForgotten(
  { process, summary }: Ended,
  files: Iterable<string>,
  results: string | undefined,
): boolean {
  if (summary !== undefined) return summary.journal === undefined && summary.stopped === undefined;
  const hasJournal = [...files].some(isJournal);
  if (process.killedAt === undefined || hasJournal || results === undefined) return false;
  const rows = parseResults(results);
  return rows?.every(({ status }) => status === 'created' || status === 'rejected') === true;
}

/** An error of the CLI's own, or of its reader of tables, which say what to do. */
export function isExplained(error: unknown): error is Error {
  return error instanceof Error && ['CliError', 'InputError'].includes(error.name);
}

/** Why a run has refused to send anything until the user decides; undefined where it has not. */
export function refusalOf({ error, summary }: Pick<Ended, 'error' | 'summary'>): Error | undefined {
  const { message = '', error: cause } = summary?.stopped ?? {};
  const found = error ?? (message.includes('nothing was sent') ? cause : undefined);
  return isExplained(found) ? found : undefined;
}

/** Why the service can't be asked what it offers, or which links exist. */
const ASKING_ERRORS = [
  'AuthenticationError',
  'ConnectionError',
  'PermissionError',
  'RateLimitError',
  'ResponseShapeError',
  'ServerError',
  'TimeoutError',
];

/** An error that the CLI has words for: its own, or what the system says of a disk that fails. */
export function isUnderstood(error: unknown, { diskFault, dryRun }: RunPlan): boolean {
  if (!(error instanceof Error)) return false;
  // With a refused key, say.
  if (dryRun && ASKING_ERRORS.includes(error.name)) return true;
  return ('code' in error && error.code === diskFault?.code) || isExplained(error);
}

/** A dry run creates no link, and changes no file but what others do to the input. */
export function checkDryRun(
  own: readonly Exchange[],
  { losesPowerAfter, killAt }: RunPlan,
  files: Readonly<Record<'before' | 'after', ReadonlyMap<string, Buffer>>>,
  input: string,
): void {
  const post = own.find(isCreate);
  if (post !== undefined) throw new Error(`a dry run sends #${post.number}`);
  // A power cut may bring back a file whose removal was not synced.
  if (losesPowerAfter || killAt?.isPowerCut === true) return;
  for (const [path, bytes] of files.after) {
    if (path !== input && files.before.get(path) !== bytes)
      throw new Error(`a dry run writes ${path}`);
  }
  if (files.after.size !== files.before.size) throw new Error('a dry run removes a file');
}

/** The files of the user, with their bytes. */
export function userFiles(disk: Disk): Map<string, Buffer> {
  const files = [...disk.names].filter(([path]) => path.startsWith('/files/'));
  return new Map(files.map(([path, { bytes }]) => [path, bytes]));
}

/** The text of a file; undefined where there is none. */
export function textOf(disk: Disk, path: string): string | undefined {
  return disk.get(path)?.bytes.toString();
}

/** A program that embeds the import would run out of files, and on Windows nobody could replace those that stay open. */
export function checkClosed({ process }: Ended): void {
  const [path] = process.openFiles;
  if (process.isAlive && path !== undefined) throw new Error(`the import leaves ${path} open`);
}
