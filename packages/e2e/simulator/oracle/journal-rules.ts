import { queryDatabase } from '../world/database-content.ts';
import type { FileNode } from '../world/disk.ts';
import type { Exchange } from '../world/network.ts';
import type { Process } from '../world/world.ts';
import { Counts, toldJob } from './ledger.ts';

const SUFFIX = '.shortlink-journal';

export function isJournal(path: string): boolean {
  return path.endsWith(SUFFIX);
}

export function hasBatches(journal: FileNode): boolean {
  return queryDatabase(journal, 'SELECT 1 FROM batch LIMIT 1')?.length === 1;
}

/** The codes that a journal knows. */
export function recordedCodes(journal: FileNode | undefined): ReadonlySet<string> {
  const links = queryDatabase(journal, 'SELECT code FROM link WHERE short_url IS NOT NULL');
  return new Set(links?.map((row) => String(row['code'])));
}

/** Links of which a journal knows that they may exist, and not which ones they are. */
export function openLinks(journal: FileNode): Counts {
  const open = new Counts();
  const sql = 'SELECT pair FROM link WHERE short_url IS NULL AND failed IS NULL';
  for (const row of queryDatabase(journal, sql) ?? []) open.add(String(row['pair']));
  return open;
}

/** Idempotency keys of the requests that a journal knows. */
export function recordedKeys(journal: FileNode | undefined): string[] {
  const sql = 'SELECT idempotency_key FROM batch WHERE idempotency_key IS NOT NULL';
  return (queryDatabase(journal, sql) ?? []).map((row) => String(row['idempotency_key']));
}

/** Every code that the program was told is in its journal. */
export function checkCodes(journal: FileNode | undefined, told: ReadonlySet<string>): void {
  if (told.size === 0) return;
  const known = recordedCodes(journal);
  const lost = [...told].filter((code) => !known.has(code));
  if (lost.length > 0) throw new Error(`the journal has forgotten ${lost.slice(0, 5)}`);
}

/** A job that was accepted before the program was killed can be polled by the next one. */
export function checkJobs(
  journal: FileNode | undefined,
  ofRun: readonly Exchange[],
  process: Process,
): void {
  if (process.killedAt === undefined || process.journalFailedAt !== undefined) return;
  const jobs = (queryDatabase(journal, 'SELECT job FROM batch') ?? []).map((row) => row['job']);
  for (const exchange of ofRun) {
    const job = toldJob(exchange);
    if (job === undefined || jobs.includes(job)) continue;
    const isPolled = ofRun.some(({ path, received }) => path.endsWith(`/${job}`) && received);
    if (!isPolled) throw new Error(`the journal does not know ${job}`);
  }
}

/**
 * Adds the links of requests that were recorded, and may not have been sent because the program was killed. From standard input, each
 * content has a journal of its own, which is removed once all its rows have links.
 */
export function addRecorded(recorded: Counts, names: Iterable<[string, FileNode]>): void {
  const journals = [...names].flatMap(([path, file]) => (isJournal(path) ? [file] : []));
  for (const journal of journals) {
    const open = queryDatabase(
      journal,
      `SELECT pair FROM link JOIN batch ON batch.id = link.batch
       WHERE link.short_url IS NULL AND job IS NULL AND batch.error IS NULL`,
    );
    for (const row of open ?? []) recorded.add(String(row['pair']));
  }
}
