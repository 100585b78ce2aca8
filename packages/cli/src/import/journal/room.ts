import type { DatabaseSync } from 'node:sqlite';
import { inTransaction, lacksRoom } from './database.ts';

/** Bytes that the results of a link take: its code and its short URL, which may be that of a long domain. A longer reason why it was refused is cut where there is no other room. */
const LINK_BYTES = 80;

/** Bytes for what changes beside the results, in the journal and in the file with which SQLite would undo the change. */
const SPARE_BYTES = 8 * 8_192;

/**
 * Room in the file for what becomes of requests in flight. It is there before the first of them is sent, and is given up when the disk
 * is full, so that a response can be recorded that arrives then.
 */
export class Room {
  readonly #db: DatabaseSync;
  readonly #path: string;
  #isKept = false;
  /** Why the room was given up. */
  #full: { error: unknown } | undefined;

  constructor(db: DatabaseSync, path: string) {
    this.#db = db;
    this.#path = path;
  }

  /**
   * Keeps room for the results of so many links. What an earlier run has left is used.
   *
   * @throws CliError (exit code 1) when there is none: then nothing must be sent
   */
  keep(links: number): void {
    const inFile = (work: () => void) => inTransaction(this.#db, this.#path, work);
    const kept = Number(
      this.#db.prepare('SELECT sum(length(bytes)) AS bytes FROM room').get()?.['bytes'] ?? 0,
    );
    const needed = LINK_BYTES * links;
    const lacking = kept === 0 ? [SPARE_BYTES, needed] : [SPARE_BYTES + needed - kept];
    const insert = this.#db.prepare('INSERT INTO room (bytes) VALUES (zeroblob(?))');
    inFile(() => {
      for (const bytes of lacking) if (bytes > 0) insert.run(bytes);
    });
    // SQLite first copies the pages that a change touches into a file beside this one, which keeps its length while the journal is open.
    inFile(() => {
      this.#db.exec(
        'UPDATE room SET bytes = randomblob(length(bytes)) WHERE id = (SELECT min(id) FROM room)',
      );
    });
    this.#isKept = true;
  }

  /** Refuses to record what needs room of its own, once the disk was full: it would take that of the responses. */
  refuseNew(): void {
    if (this.#full !== undefined) throw this.#full.error;
  }

  /** Gives back what was kept, once nothing is in flight. The file becomes as small as what it records. */
  release(): void {
    if (!this.#isKept) return;
    this.#isKept = false;
    try {
      inTransaction(this.#db, this.#path, () => this.#db.exec('DELETE FROM room'));
      this.#db.exec('PRAGMA incremental_vacuum');
    } catch {
      // What is left is used by the next run.
    }
  }

  /** Runs `work`, one transaction; again in the room that was kept, where there is no other, and at last what needs less of it. */
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
