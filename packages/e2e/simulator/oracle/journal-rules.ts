import { queryDatabase } from '../world/database.ts';
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
  const known = new Set<string>();
  const links = queryDatabase(journal, 'SELECT code FROM link WHERE short_url IS NOT NULL');
  for (const row of links ?? []) known.add(String(row['code']));
  const batches = queryDatabase(journal, 'SELECT results FROM batch WHERE results IS NOT NULL');
  for (const row of batches ?? []) {
    const { items } = JSON.parse(String(row['results'])) as { items: unknown[] };
    for (const item of items) {
      if (typeof item === 'string') known.add(item);
      else if (Array.isArray(item)) known.add(String(item[0]));
    }
  }
  return known;
}

/** Links of which a journal knows that they may exist, and not which ones they are. */
export function openLinks(journal: FileNode): Counts {
  const open = new Counts();
  const pairs = queryDatabase(journal, 'SELECT pair FROM link WHERE short_url IS NULL');
  for (const row of pairs ?? []) open.add(String(row['pair']));
  const batches = queryDatabase(
    journal,
    `SELECT links, results FROM request JOIN batch ON batch.id = request.batch
     WHERE first_link IS NULL`,
  );
  for (const row of batches ?? []) {
    const { items = [] } = JSON.parse(String(row['results'] ?? '{}')) as { items?: unknown[] };
    const links = JSON.parse(String(row['links'])) as string[];
    for (const [index, link] of links.entries()) {
      if (isOpen(items[index])) open.add(link.slice(7));
    }
  }
  return open;
}

/** Idempotency keys of the requests that a journal knows. */
export function recordedKeys(journal: FileNode | undefined): string[] {
  const sql = 'SELECT idempotency_key FROM batch WHERE idempotency_key IS NOT NULL';
  return (queryDatabase(journal, sql) ?? []).map((row) => String(row['idempotency_key']));
}

/** An item is a code, a code with its short URL, or the error of a link; an empty one stands for a link that the response left out. */
function isOpen(item: unknown): boolean {
  if (item === undefined) return true;
  return typeof item === 'object' && item !== null && 'error' in item && item.error === '';
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
    // Where a part of a batch was refused, that is recorded before the others are sent.
    const open = queryDatabase(
      journal,
      `SELECT links FROM request JOIN batch ON batch.id = request.batch
       WHERE (state = 'sent' OR error LIKE 'sent, and the import ended%') AND first_link IS NULL`,
    );
    for (const row of open ?? []) {
      for (const link of JSON.parse(String(row['links'])) as string[]) recorded.add(link.slice(7));
    }
  }
}
