import { constants } from 'node:fs';
import { type FileHandle, open, rename } from 'node:fs/promises';
import { dirname } from 'node:path';
import type { BatchRange, RecordedResult } from '@shortlink/sdk';
import { inputError, systemReason, writeError } from '../errors.ts';
import { BatchIndex, type JournalBatch, type Place } from './batch-index.ts';
import { checkIdentity } from './identity.ts';
import { checkIsJournal, loadJournal } from './load.ts';
import { unpackResults } from './packed-results.ts';
import { parseRecord } from './parse-record.ts';
import { JOURNAL_VERSION, type JournalIdentity, type JournalRecord } from './records.ts';

export interface OpenJournalOptions {
  path: string;
  identity: JournalIdentity;
  /** Links that the input holds. */
  links: number;
  /** Name of the input in messages. */
  inputName: string;
  /** Begin a new one; the old one is kept beside it, as `.old`. */
  restart: boolean;
  /** For the header, RFC 3339. */
  at: string;
}

/**
 * The memory of an import: an append-only file of JSON lines, on disk before each request goes out and once its answer
 * is in. What it says of each batch is kept in memory, results are not.
 */
export class Journal {
  readonly path: string;
  readonly batches: BatchIndex;
  /** Whether an earlier run wrote it. */
  readonly isResumed: boolean;
  readonly #handle: FileHandle;
  #end: number;
  #finished: boolean;
  /** Records waiting for the write that is going on: they share the next one, and its sync. */
  #queue: Buffer[] = [];
  #writing: Promise<void> | undefined;

  private constructor(
    path: string,
    handle: FileHandle,
    state: { batches: BatchIndex; isResumed: boolean; end: number; finished: boolean },
  ) {
    this.path = path;
    this.#handle = handle;
    this.batches = state.batches;
    this.isResumed = state.isResumed;
    this.#end = state.end;
    this.#finished = state.finished;
  }

  /**
   * Opens the journal of an import, or begins one.
   *
   * @throws CliError (exit code 2) when it belongs to another input, mapping or account, or is no journal
   */
  static async open(options: OpenJournalOptions): Promise<Journal> {
    const { path, identity } = options;
    if (options.restart) await setAside(path);
    const handle = await openFile(path);
    try {
      const loaded = await loadJournal(handle, path);
      if (loaded !== undefined) {
        checkIdentity(loaded.header, identity, path, options.inputName);
        await handle.truncate(loaded.goodBytes);
        return new Journal(path, handle, { ...loaded, isResumed: true, end: loaded.goodBytes });
      }
      await handle.truncate(0);
      const fresh = { batches: new BatchIndex(), isResumed: false, end: 0, finished: false };
      const journal = new Journal(path, handle, fresh);
      const { links, at } = options;
      await journal.append({ t: 'header', v: JOURNAL_VERSION, at, links, ...identity });
      await syncDirectory(path);
      return journal;
    } catch (error) {
      await handle.close();
      throw error;
    }
  }

  /** Adds a record; resolves when it is on disk. */
  async append(record: JournalRecord): Promise<void> {
    const line = Buffer.from(`${JSON.stringify(record)}\n`);
    const place = { offset: this.#end, length: line.length };
    this.#end += line.length;
    this.#queue.push(line);
    // A failed write stays the answer to every later one: behind a gap nothing could be read again.
    const written = (this.#writing ?? Promise.resolve()).then(() => this.#writeQueue());
    this.#writing = written;
    await written;
    if (record.t !== 'header' && record.t !== 'finished') this.batches.apply(record, place);
  }

  /** Marks the import as finished, once. */
  async finish(at: string): Promise<void> {
    if (this.#finished) return;
    this.#finished = true;
    await this.append({ t: 'finished', at });
  }

  /** Results of a completed batch, read from disk. */
  async results(place: Place): Promise<RecordedResult[]> {
    const buffer = Buffer.alloc(place.length);
    const { bytesRead } = await this.#handle.read(buffer, 0, place.length, place.offset);
    const record = bytesRead === place.length ? parseRecord(buffer.toString()) : undefined;
    if (record?.t !== 'completed') {
      throw inputError(`${this.path} was changed by somebody else while it was in use`);
    }
    return unpackResults(record);
  }

  /** The batch as it was recorded, if it is one of just this range. */
  get(range: BatchRange): JournalBatch | undefined {
    return this.batches.get(range);
  }

  async close(): Promise<void> {
    await this.#writing?.catch(() => {});
    await this.#handle.close();
  }

  async #writeQueue(): Promise<void> {
    if (this.#queue.length === 0) return;
    const bytes = Buffer.concat(this.#queue);
    this.#queue = [];
    try {
      await this.#handle.appendFile(bytes);
      await this.#handle.datasync();
    } catch (cause) {
      throw writeError(this.path, cause);
    }
  }
}

/** Keeps a journal that is to be forgotten: it is the only record of what was created. */
async function setAside(path: string): Promise<void> {
  const handle = await openFile(path);
  try {
    await checkIsJournal(handle, path);
    const isEmpty = (await handle.stat()).size === 0;
    if (!isEmpty) await rename(path, `${path}.old`);
  } finally {
    await handle.close();
  }
}

async function openFile(path: string): Promise<FileHandle> {
  try {
    // Its owner alone may read it: it holds target URLs and short links.
    return await open(path, constants.O_RDWR | constants.O_CREAT | constants.O_APPEND, 0o600);
  } catch (cause) {
    const reason = systemReason(cause);
    throw inputError(`${path} can't be written: ${reason}`, 'Name another file: --journal FILE');
  }
}

/** A new file's name is on disk only once its directory is. Windows can't sync one, and needn't. */
async function syncDirectory(path: string): Promise<void> {
  try {
    const directory = await open(dirname(path), 'r');
    await directory.sync().finally(() => directory.close());
  } catch {
    // The file itself is synced: only a power cut in the next seconds could still lose its name.
  }
}
