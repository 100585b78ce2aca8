import type { RunPlan } from '../scenario/scenario.ts';
import { queryDatabase } from '../world/database-content.ts';
import type { FileNode } from '../world/disk.ts';
import type { Exchange } from '../world/network.ts';
import type { Process } from '../world/world.ts';
import { Counts, isCreate, toldJob } from './ledger.ts';

const SUFFIX = '.shortlink-journal';

export function isJournal(path: string): boolean {
  return path.endsWith(SUFFIX);
}

/** A link as a journal has it. */
interface RecordedLink {
  pair: string;
  code: string | undefined;
  /** Whether it was refused, or is known not to exist. */
  isOver: boolean;
}

interface RecordedBatch {
  links: RecordedLink[];
  key: string | undefined;
  job: string | undefined;
  error: string | undefined;
  isOpen: boolean;
}

type Sent = [pair: string] | { target_url: string; domain_id?: string };

/** What the records of a journal say, read by the rules of its format and not by the program. */
function recordedBatches(journal: FileNode | undefined): RecordedBatch[] {
  const batches = new Map<number, RecordedBatch>();
  for (const row of queryDatabase(journal, 'SELECT * FROM log ORDER BY id') ?? []) {
    const info = JSON.parse(String(row['info']));
    const data =
      row['data'] instanceof Uint8Array ? JSON.parse(Buffer.from(row['data']).toString()) : [];
    const batch = batches.get(Number(row['batch']));
    if (row['kind'] === 'batch') {
      const links = (data as Sent[]).map((sent) => ({
        pair: pairOf(sent, info.domain),
        code: undefined,
        isOver: false,
      }));
      const begun = { key: info.idempotencyKey, job: undefined, error: undefined, isOpen: true };
      batches.set(Number(row['id']), { links, ...begun });
    } else if (batch !== undefined) applyRecord(batch, String(row['kind']), info, data);
  }
  return [...batches.values()];
}

function applyRecord(
  batch: RecordedBatch,
  kind: string,
  info: { job?: string; error?: string; isOpen?: boolean },
  entries: (null | 0 | [string, (1 | string)?])[],
): void {
  if (kind === 'accepted') batch.job = info.job;
  if (kind === 'results')
    Object.assign(batch, { job: info.job, error: info.error, isOpen: info.isOpen });
  if (kind === 'release') batch.isOpen = false;
  for (const [index, link] of batch.links.entries()) {
    const entry = entries[index] ?? null;
    if (entry !== null && entry !== 0 && typeof entry[1] === 'string') {
      Object.assign(link, { code: entry[0], isOver: false });
    } else if (link.code === undefined && (entry === 0 || entry?.length === 2)) link.isOver = true;
    if (kind === 'release' && link.code === undefined) link.isOver = true;
  }
}

function pairOf(sent: Sent, domain: string | undefined): string {
  if (Array.isArray(sent)) return sent[0];
  const of = sent.domain_id ?? domain ?? '';
  return of === '' ? sent.target_url : `${sent.target_url}\n${of}`;
}

/** What the journals of a disk say to be open: whether any batch is, and links that may exist. */
export interface Open {
  hasBatches: boolean;
  links: Counts;
}

export function openBefore(names: Iterable<[string, FileNode]>): Open {
  const open: Open = { hasBatches: false, links: new Counts() };
  for (const [path, file] of names) {
    if (!isJournal(path)) continue;
    open.hasBatches ||= recordedBatches(file).some(({ isOpen }) => isOpen);
    open.links.raise(openLinks(file));
  }
  return open;
}

/** The codes that a journal knows. */
export function recordedCodes(journal: FileNode | undefined): ReadonlySet<string> {
  const links = recordedBatches(journal).flatMap((batch) => batch.links);
  return new Set(links.flatMap(({ code }) => code ?? []));
}

/** Links of which a journal knows that they may exist, and not which ones they are. */
export function openLinks(journal: FileNode): Counts {
  const open = new Counts();
  for (const { links } of recordedBatches(journal)) {
    for (const { pair, code, isOver } of links) if (code === undefined && !isOver) open.add(pair);
  }
  return open;
}

/** Idempotency keys of the requests that a journal knows. */
export function recordedKeys(journal: FileNode | undefined): string[] {
  return recordedBatches(journal).flatMap(({ key, isOpen }) => (isOpen ? (key ?? []) : []));
}

/** Nothing is sent where the journal can't be read. */
export function checkIsQuiet(exchanges: readonly Exchange[]): void {
  const blind = exchanges.find(isCreate);
  if (blind !== undefined)
    throw new Error(`#${blind.number} is sent although the journal can't be read`);
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
  const jobs = recordedBatches(journal).flatMap(({ job, isOpen }) => (isOpen ? job : []));
  for (const exchange of ofRun) {
    const job = toldJob(exchange);
    if (job === undefined || jobs.includes(job)) continue;
    const isPolled = ofRun.some(({ path, received }) => path.endsWith(`/${job}`) && received);
    if (!isPolled) throw new Error(`the journal does not know ${job}`);
  }
}

/** Links of requests that were recorded, and may not have been sent. */
export class RecordedLinks extends Counts {
  #hasFailed = false;

  /** A power cut may bring back what a run has removed whose journal could not be written, and take away what that was told. */
  endRun(
    { killedAt, journalFailedAt }: Process,
    { losesPowerAfter, killAt }: RunPlan,
    names: ReadonlyMap<string, FileNode>,
    told: Set<string>,
  ): void {
    this.#hasFailed ||= journalFailedAt !== undefined;
    if (this.#hasFailed && (losesPowerAfter || (killedAt !== undefined && killAt?.isPowerCut))) {
      const journals = [...names].flatMap(([path, file]) => (isJournal(path) ? [file] : []));
      const known = new Set(journals.flatMap((journal) => [...recordedCodes(journal)]));
      for (const code of told) if (!known.has(code)) told.delete(code);
    }
    const isKnown = journalFailedAt === undefined && !(this.#hasFailed && losesPowerAfter);
    if (killedAt === undefined && !isKnown) this.addOpen(names);
  }

  addOpen(names: Iterable<[string, FileNode]>): void {
    const journals = [...names].flatMap(([path, file]) => (isJournal(path) ? [file] : []));
    for (const { links, isOpen, job, error } of journals.flatMap(recordedBatches)) {
      if (!isOpen || job !== undefined || error !== undefined) continue;
      for (const { pair, code, isOver } of links) if (code === undefined && !isOver) this.add(pair);
    }
  }
}
