import { dirname } from 'node:path';
import type { Random } from '../kernel/random.ts';

/** What a file holds when it is a database: the database itself, whose transactions are durable by its own rules. */
export interface DatabaseContent {
  /** A database with the same content, of its own. */
  copy(): DatabaseContent;
  /** Drops what was committed without being synced. */
  losePower(): void;
  hasPages(): boolean;
  readonly isDamaged: boolean;
  /** From now on a part of the file is missing. */
  damage(): void;
  release(): void;
}

/** A file, whatever names it has. */
export interface FileNode {
  readonly number: number;
  bytes: Buffer;
  /** What the disk keeps when the power fails; undefined where nothing was synced yet. */
  synced: Buffer | undefined;
  changedAtNs: bigint;
  mode: number;
  database: DatabaseContent | undefined;
  /** So many of its first bytes were dropped by a sync that failed: a later one makes what follows durable, and not these. */
  dropped: number;
}

const NOTHING = Buffer.alloc(0);

/** A change of a folder that may be lost: names are as durable as the last sync of their folder. */
interface NameChange {
  path: string;
  file: FileNode | undefined;
}

/**
 * A disk in memory, with the promises of POSIX and no more: what was written is kept for sure once the file was synced, and a name
 * once its folder was. When the power fails, each file that was not synced has an old, torn or empty content, and of the
 * changes of each folder the last ones are lost.
 */
export class Disk {
  readonly #random: Random;
  readonly names = new Map<string, FileNode>();
  /** The file that is mounted by itself, so that it can't be replaced, and what the system says to that. */
  mounted: { path: string; code: 'EBUSY' | 'EXDEV' } | undefined;
  /** Reads give less than was asked for. */
  readsShort = false;
  readonly #synced = new Map<string, FileNode>();
  readonly #databases: DatabaseContent[] = [];
  #changes: NameChange[] = [];
  #lastNumber = 0;

  constructor(random: Random) {
    this.#random = random;
  }

  get(path: string): FileNode | undefined {
    return this.names.get(path);
  }

  /** The whole content of a file that can't be replaced, while a program writes into it. */
  wholeOf(path: string): string {
    const whole = /\/\.[^/]*\.whole$/;
    return this.mounted?.path === path
      ? ([...this.names.keys()].find((name) => whole.test(name)) ?? path)
      : path;
  }

  create(path: string, mode: number, nowMs: number): FileNode {
    this.#lastNumber += 1;
    const file: FileNode = {
      number: this.#lastNumber,
      bytes: NOTHING,
      synced: undefined,
      changedAtNs: BigInt(nowMs) * 1_000_000n,
      mode,
      database: undefined,
      dropped: 0,
    };
    this.setName(path, file);
    return file;
  }

  setName(path: string, file: FileNode | undefined): void {
    if (file === undefined) this.names.delete(path);
    else this.names.set(path, file);
    this.#changes.push({ path, file });
  }

  /** Writes a file as somebody else on the machine does, who syncs it. */
  place(path: string, content: string | Buffer, nowMs: number, mode = 0o644): void {
    const file = this.create(path, mode, nowMs);
    file.bytes = Buffer.from(content);
    this.syncFile(file);
    this.syncFolder(dirname(path));
  }

  /** Copies a file to a name, as somebody else on the machine does, who syncs it. */
  copy(file: FileNode, path: string, nowMs: number): FileNode {
    const copy = this.create(path, file.mode, nowMs);
    copy.bytes = file.bytes;
    if (file.database !== undefined) this.setDatabase(copy, file.database.copy());
    this.syncFile(copy);
    this.syncFolder(dirname(path));
    return copy;
  }

  /** A file that no name leads to, with the content that this one has now. */
  keep(file: FileNode): FileNode {
    const kept = { ...file, database: file.database?.copy() };
    if (kept.database !== undefined) this.#databases.push(kept.database);
    return kept;
  }

  /** Removes a name, durably. */
  remove(path: string): void {
    this.setName(path, undefined);
    this.syncFolder(dirname(path));
  }

  /** Gives a file another name, durably. */
  move(from: string, to: string): void {
    this.setName(to, this.names.get(from));
    this.setName(from, undefined);
    this.syncFolder(dirname(from));
    this.syncFolder(dirname(to));
  }

  syncFile(file: FileNode): void {
    const { bytes, dropped } = file;
    file.synced =
      dropped === 0 ? bytes : Buffer.concat([Buffer.alloc(dropped), bytes.subarray(dropped)]);
  }

  syncFolder(folder: string): void {
    this.#changes = this.#changes.filter(({ path, file }) => {
      if (dirname(path) !== folder) return true;
      this.#keep(path, file);
      return false;
    });
  }

  /** Whether a power cut now could take away what the name stands for. */
  isDurable(path: string): boolean {
    const file = this.names.get(path);
    return this.#synced.get(path) === file && (file === undefined || file.synced === file.bytes);
  }

  losePower(): void {
    // A folder's changes reach the disk in their order; how far they have come is chance.
    const kept = this.#random.below(this.#changes.length + 1);
    for (const { path, file } of this.#changes.slice(0, kept)) this.#keep(path, file);
    this.#changes = [];
    this.names.clear();
    for (const [path, file] of this.#synced) this.names.set(path, file);
    for (const file of new Set(this.names.values())) {
      file.database?.losePower();
      if (file.synced === file.bytes) continue;
      file.bytes = this.#tear(file);
      file.synced = file.bytes;
    }
  }

  #tear({ bytes, synced = NOTHING }: FileNode): Buffer {
    const kind = this.#random.below(3);
    if (kind === 0) return synced;
    const kept = bytes.subarray(0, this.#random.below(bytes.length + 1));
    // Some file systems keep the length and lose the last blocks.
    return kind === 1 ? kept : Buffer.concat([kept, Buffer.alloc(bytes.length - kept.length)]);
  }

  #keep(path: string, file: FileNode | undefined): void {
    if (file === undefined) this.#synced.delete(path);
    else this.#synced.set(path, file);
  }

  setDatabase(file: FileNode, database: DatabaseContent): void {
    file.database = database;
    this.#databases.push(database);
  }

  /** Gives the databases back, also those of removed files, once nobody needs this disk any more. */
  release(): void {
    for (const database of this.#databases) database.release();
  }
}
