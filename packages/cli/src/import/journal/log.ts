import type { DatabaseSync, StatementSync } from 'node:sqlite';
import zlib from 'node:zlib';
import { inTransaction, lacksRoom } from './database.ts';
import { incomplete } from './file.ts';

/** Bytes of a code, a short URL, which may be that of a long domain, and `made_for`. A longer reason is cut where there is no other room. */
const LINK_BYTES = 96;

/** Bytes for other changes, in the journal and in the file with which SQLite would undo them. */
const SPARE_BYTES = 8 * 8_192;

/** Kinds of records that name a batch by its id. */
type OfBatch = 'accepted' | 'results' | 'release' | 'expired' | 'again';
/** `batch` begins one; `owner` and `written` are about files. */
export type RecordKind = 'batch' | OfBatch | 'owner' | 'written';

export interface NewRecord {
  kind: RecordKind;
  /** The id of the record that began it. @default 0, for none */
  batch?: number | undefined;
  /** Read whenever the journal is opened. */
  info: object;
  /** Links or results as JSON, read only where they are needed. */
  data?: string | undefined;
}

export interface LogRecord extends Required<Pick<NewRecord, 'kind' | 'batch'>> {
  id: number;
  info: Record<string, unknown>;
}

/**
 * The records of a journal: none is ever changed or removed. Each has a checksum, their ids have no gaps, and their number is kept apart, so
 * that a copy from the middle of a commit, or one that lacks a part, is noticed. Room in the file for the responses to requests in flight is
 * there before the first of them is sent, and is given up when the disk is full.
 */
export class Log {
  readonly #db: DatabaseSync;
  readonly #path: string;
  readonly #insert: StatementSync;
  readonly #seal: StatementSync;
  readonly #data: StatementSync;
  readonly #sealed: StatementSync;
  #isWriting = false;
  #hasRoom = false;
  /** Once the disk was full, a new request would take the room of responses. */
  #full: { error: unknown } | undefined;

  constructor(db: DatabaseSync, path: string) {
    this.#db = db;
    this.#path = path;
    this.#insert = db.prepare('INSERT INTO log VALUES (?, ?, ?, ?, ?, ?)');
    this.#seal = db.prepare('REPLACE INTO seal VALUES (1, ?)');
    this.#data = db.prepare('SELECT data FROM log WHERE id = ?');
    this.#sealed = db.prepare('SELECT records FROM seal');
  }

  /** @throws InputError when a record is missing or is not what was written */
  *read(): Generator<LogRecord> {
    const next = this.#db.prepare('SELECT * FROM log WHERE id > ? ORDER BY id LIMIT 1');
    let count = 0;
    for (let row = next.get(0); row !== undefined; row = next.get(count)) {
      const [kind, info] = [String(row['kind']), String(row['info'])];
      const batch = Number(row['batch']);
      if (row['id'] !== count + 1 || row['sum'] !== checksum(batch, kind, info, row['data']))
        throw incomplete(this.#path);
      count += 1;
      yield { id: count, kind: kind as RecordKind, batch, info: JSON.parse(info) };
    }
    if (this.next !== count + 1) throw incomplete(this.#path);
  }

  /**
   * Adds records in one step, which are on disk when this returns; the `shorter` ones where a full disk has no room for them. Those of a request
   * need room that is not kept for responses.
   */
  add(records: readonly NewRecord[], shorter = () => records): LogRecord[] {
    const isRequest = records.some(({ kind }) => kind === 'batch');
    if (isRequest && this.#full !== undefined) throw this.#full.error;
    if (isRequest || this.#isWriting) return this.#append(records);
    try {
      return this.#append(records);
    } catch (error) {
      if (!lacksRoom(error)) throw error;
      if (!this.#hasRoom) return this.#append(shorter());
      // Once more in the room that was kept, and at last what needs less.
      this.#hasRoom = false;
      this.#full = { error };
      this.write(() => this.#db.exec('DELETE FROM room'));
      return this.add(records, shorter);
    }
  }

  /** Keeps room for so many results. Throws an InputError (exit code 1) when there is none: then nothing must be sent. */
  keepRoom(links: number): void {
    const query = 'SELECT sum(length(bytes)) AS bytes FROM room';
    const kept = Number(this.#db.prepare(query).get()?.['bytes'] ?? 0);
    const needed = LINK_BYTES * links;
    const lacking = kept === 0 ? [SPARE_BYTES, needed] : [SPARE_BYTES + needed - kept];
    const insert = this.#db.prepare('INSERT INTO room (bytes) VALUES (zeroblob(?))');
    this.write(() => {
      for (const bytes of lacking) if (bytes > 0) insert.run(bytes);
    });
    // SQLite copies the pages that a change touches into a file, which keeps its length while the journal is open.
    this.write(() => {
      this.#db.exec(
        'UPDATE room SET bytes = randomblob(length(bytes)) WHERE id = (SELECT min(id) FROM room)',
      );
    });
    this.#hasRoom = true;
  }

  /** The file becomes as small as what it records. */
  releaseRoom(): void {
    if (!this.#hasRoom) return;
    try {
      this.write(() => this.#db.exec('DELETE FROM room'));
      this.#db.exec('PRAGMA incremental_vacuum');
    } catch {
      // The next run uses what is left.
    }
  }

  #append(records: readonly NewRecord[]): LogRecord[] {
    return this.write(() => {
      const first = this.next;
      const added = records.map(({ kind, batch = 0, info, data = null }, index) => {
        const id = first + index;
        const text = JSON.stringify(info);
        const bytes = data === null ? null : Buffer.from(data);
        this.#insert.run(id, batch, kind, text, bytes, checksum(batch, kind, text, bytes));
        return { id, kind, batch, info: JSON.parse(text) };
      });
      this.#seal.run(first + added.length - 1);
      return added;
    });
  }

  get next(): number {
    return Number(this.#sealed.get()?.['records'] ?? 0) + 1;
  }

  dataOf(id: number): unknown {
    const data = this.#data.get(id)?.['data'];
    return data instanceof Uint8Array ? JSON.parse(new TextDecoder().decode(data)) : [];
  }

  /** @param onUndone - called where `work` was undone, records that it has added too */
  write<T>(work: () => T, onUndone = () => {}): T {
    if (this.#isWriting) return work();
    this.#isWriting = true;
    try {
      return inTransaction(this.#db, this.#path, work);
    } catch (error) {
      onUndone();
      throw error;
    } finally {
      this.#isWriting = false;
    }
  }
}

function checksum(batch: number, kind: string, info: string, data: unknown): number {
  const head = zlib.crc32(`${batch} ${kind} ${info}`);
  return data instanceof Uint8Array ? zlib.crc32(data, head) : head;
}
