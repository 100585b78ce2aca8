import type { DatabaseSync } from 'node:sqlite';
import { inTransaction, lacksRoom } from './database.ts';

/** Bytes of a code, a short URL, which may be that of a long domain, and `made_for`. A longer reason is cut where there is no other room. */
const LINK_BYTES = 96;

/** Bytes for other changes, in the journal and in the file with which SQLite would undo them. */
const SPARE_BYTES = 8 * 8_192;

/** Room in the file for the responses to requests in flight. It is there before the first of them is sent, and is given up when the disk is full. */
export class Room {
  readonly #db: DatabaseSync;
  readonly #path: string;
  #isKept = false;
  #full: { error: unknown } | undefined;

  constructor(db: DatabaseSync, path: string) {
    this.#db = db;
    this.#path = path;
  }

  /** Keeps room for so many results. Throws an InputError (exit code 1) when there is none: then nothing must be sent. */
  keep(links: number): void {
    const inFile = (work: () => void) => inTransaction(this.#db, this.#path, work);
    const query = 'SELECT sum(length(bytes)) AS bytes FROM room';
    const kept = Number(this.#db.prepare(query).get()?.['bytes'] ?? 0);
    const needed = LINK_BYTES * links;
    const lacking = kept === 0 ? [SPARE_BYTES, needed] : [SPARE_BYTES + needed - kept];
    const insert = this.#db.prepare('INSERT INTO room (bytes) VALUES (zeroblob(?))');
    inFile(() => {
      for (const bytes of lacking) if (bytes > 0) insert.run(bytes);
    });
    // SQLite copies the pages that a change touches into a file, which keeps its length while the journal is open.
    inFile(() => {
      this.#db.exec(
        'UPDATE room SET bytes = randomblob(length(bytes)) WHERE id = (SELECT min(id) FROM room)',
      );
    });
    this.#isKept = true;
  }

  /** Once the disk was full, a new request would take the room of responses. */
  refuseNew(): void {
    if (this.#full !== undefined) throw this.#full.error;
  }

  /** The file becomes as small as what it records. */
  release(): void {
    if (!this.#isKept) return;
    try {
      inTransaction(this.#db, this.#path, () => this.#db.exec('DELETE FROM room'));
      this.#db.exec('PRAGMA incremental_vacuum');
    } catch {
      // The next run uses what is left.
    }
  }

  /** Runs `work`, one transaction; again in the room that was kept, where there is no other; and at last what needs less. */
  use<T>(work: () => T, smaller: () => T): T {
    try {
      return work();
    } catch (error) {
      if (!lacksRoom(error)) throw error;
      if (!this.#isKept) return smaller();
      this.#isKept = false;
      this.#full = { error };
      inTransaction(this.#db, this.#path, () => this.#db.exec('DELETE FROM room'));
      return this.use(work, smaller);
    }
  }
}
