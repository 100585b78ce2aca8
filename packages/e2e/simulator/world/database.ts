import { dirname } from 'node:path';
import { DatabaseSync, type SQLInputValue, type StatementSync } from 'node:sqlite';
import type { DatabaseContent, FileNode } from './disk.ts';
import { commandOf } from './sql-commands.ts';
import { type Process, theWorld } from './world.ts';

const SQLITE_BUSY = 5;
const SQLITE_IOERR = 10;
const SQLITE_CORRUPT = 11;
const SQLITE_FULL = 13;

type Rows = Record<string, SQLInputValue>[];

/**
 * A database file. What SQL does is SQLite's own work, on a database in memory; what is simulated is the file around it: locks,
 * commits that reach the disk or don't, and disks that fail. A database is made once and emptied for the next scenario, since its
 * tables take longer to make than an import to run.
 */
class Content implements DatabaseContent {
  readonly db = new DatabaseSync(':memory:', { enableForeignKeyConstraints: false });
  readonly #statements = new Map<string, StatementSync>();

  constructor() {
    this.db.exec('PRAGMA temp_store = MEMORY');
  }

  /** Whether the file has its tables. */
  isCreated = false;
  /** The end of the file is missing: SQLite reads nothing of it. */
  isDamaged = false;
  /** Names of its tables, of this file or one before it; empty before they are there. */
  #tables: string[] = [];
  /** `application_id` and `user_version`, as the schema sets them. */
  readonly #settings = new Map<string, number>();
  #tempTables: string[] = [];
  /** Texts that have made temporary tables. */
  readonly #tempTexts = new Set<string>();
  /** Whether they may hold rows. */
  #usesTempTables = false;
  lockedBy: SimulatedDatabase | undefined;
  /** What the disk keeps, where commits after it were not synced. */
  #image: Map<string, Rows> | undefined;

  prepare(sql: string): StatementSync {
    let statement = this.#statements.get(sql);
    if (statement === undefined) {
      statement = this.db.prepare(sql);
      this.#statements.set(sql, statement);
    }
    return statement;
  }

  hasPages(): boolean {
    return this.isCreated;
  }

  /** Remembers what is there now, before a commit that is not synced. */
  keepImage(): void {
    this.#image ??= this.#dump();
  }

  synced(): void {
    this.#image = undefined;
  }

  losePower(): void {
    if (this.#image === undefined) return;
    const image = this.#image;
    this.#image = undefined;
    this.isCreated = image.size > 0;
    if (this.hasTables) this.#load(image);
  }

  /** Loses a part of the file: all that is left is an empty one, or one that can't be read. */
  damage(): void {
    this.isDamaged = this.isCreated;
  }

  copy(): Content {
    const copy = takeContent();
    if (!this.isCreated) return copy;
    if (!copy.hasTables) {
      const sql = this.prepare('SELECT sql FROM sqlite_schema WHERE sql IS NOT NULL').all();
      copy.createTables(sql.map((row) => `${row['sql']};`).join(''));
      for (const [name, value] of this.#settings) copy.#settings.set(name, value);
    }
    copy.isCreated = true;
    copy.isDamaged = this.isDamaged;
    copy.#load(this.#dump());
    return copy;
  }

  get hasTables(): boolean {
    return this.#tables.length > 0;
  }

  /** Makes the tables of the file, once for all the files that this database stands for. */
  createTables(sql: string): void {
    const setting = /PRAGMA (\w+) = (\d+);?/g;
    for (const [, name = '', value] of sql.matchAll(setting)) {
      this.#settings.set(name, Number(value));
    }
    this.db.exec(sql.replace(setting, ''));
    const made = this.prepare("SELECT name FROM sqlite_schema WHERE type = 'table'").all();
    this.#tables = made.map((row) => String(row['name']));
  }

  /** A setting that is kept in the file. */
  settingOf(name: string): number {
    return this.#settings.get(name) ?? 0;
  }

  #dump(): Map<string, Rows> {
    if (!this.isCreated) return new Map();
    return new Map(
      this.#tables.map((table) => [table, this.prepare(`SELECT * FROM ${table}`).all() as Rows]),
    );
  }

  #load(tables: ReadonlyMap<string, Rows>): void {
    this.#clear();
    for (const [table, rows] of tables) {
      for (const row of rows) {
        const places = Object.keys(row).map(() => '?');
        this.prepare(`INSERT INTO ${table} VALUES (${places.join()})`).run(...Object.values(row));
      }
    }
  }

  #clear(): void {
    for (const table of this.#tables.toReversed()) this.prepare(`DELETE FROM ${table}`).run();
  }

  createTempTables(sql: string): void {
    this.#usesTempTables = true;
    if (this.#tempTexts.has(sql)) return;
    this.#tempTexts.add(sql);
    this.db.exec(sql);
    const made = this.db.prepare("SELECT name FROM sqlite_temp_schema WHERE type = 'table'").all();
    this.#tempTables = made.map((row) => String(row['name']));
  }

  clearTempTables(): void {
    if (!this.#usesTempTables) return;
    this.#usesTempTables = false;
    for (const table of this.#tempTables) this.prepare(`DELETE FROM temp.${table}`).run();
  }

  release(): void {
    if (this.db.isTransaction) this.prepare('ROLLBACK').run();
    this.#clear();
    this.clearTempTables();
    this.isCreated = false;
    this.isDamaged = false;
    this.lockedBy = undefined;
    this.#image = undefined;
    spare.push(this);
  }
}

const spare: Content[] = [];

function takeContent(): Content {
  return spare.pop() ?? new Content();
}

/** What the oracle asks of a journal; undefined where there is none. */
export function queryDatabase(file: FileNode | undefined, sql: string) {
  const content = file?.database;
  if (!(content instanceof Content) || !content.isCreated || content.isDamaged) return undefined;
  return content.prepare(sql).all();
}

/** Stands in for `DatabaseSync` of `node:sqlite`: one connection to a file of the simulated disk. */
export class SimulatedDatabase {
  readonly #path: string;
  readonly #file: FileNode | undefined;
  readonly #content: Content;
  readonly #process: Process;
  #isExclusive = false;
  #journalMode = 'delete';
  #synchronous = 'FULL';
  #isFolderSynced = false;
  #createsTables = false;
  #isClosed = false;

  constructor(path: string) {
    const world = theWorld();
    this.#process = world.process;
    this.#path = path;
    this.#file = path === '' ? undefined : world.disk.get(path);
    const content = this.#file?.database ?? takeContent();
    if (!(content instanceof Content)) throw new Error(`${path} is no database`);
    if (this.#file !== undefined && this.#file.database === undefined)
      world.disk.setDatabase(this.#file, content);
    this.#content = content;
    this.#process.onExit.push(() => this.#end());
  }

  exec(sql: string): void {
    theWorld().step(sql, this.#path, () => this.#perform(sql));
  }

  #perform(sql: string): void {
    const content = this.#content;
    const command = commandOf(sql);
    if (command.kind !== 'settings') this.#refuseDamaged();
    if (command.kind === 'settings') {
      for (const [name, value] of command.settings) this.#set(name, value);
    } else if (command.kind === 'look') {
      this.#lock();
      this.#unlock();
    } else if (command.kind === 'begin') {
      this.#lock();
      if (!this.#isSyncing) content.keepImage();
      content.prepare('BEGIN').run();
    } else if (command.kind === 'commit') this.#commit();
    else if (command.kind === 'roll back') {
      this.#createsTables = false;
      content.prepare('ROLLBACK').run();
      this.#unlock();
    } else if (command.kind === 'tables') this.#createTables(sql);
    else if (command.kind === 'temporary tables') content.createTempTables(sql);
    else if (command.kind === 'empty') content.prepare(`DELETE FROM ${command.table}`).run();
    else content.prepare(sql).run();
  }

  prepare(sql: string): Pick<StatementSync, 'get'> | StatementSync {
    this.#refuseDamaged();
    const { isCreated } = this.#content;
    if (sql === 'SELECT 1 FROM sqlite_schema') {
      return { get: () => (isCreated ? { 1: 1 } : undefined) };
    }
    const [, setting] = /^PRAGMA (application_id|user_version)$/.exec(sql) ?? [];
    if (setting !== undefined) {
      return { get: () => ({ [setting]: isCreated ? this.#content.settingOf(setting) : 0 }) };
    }
    if (sql.startsWith('PRAGMA page_')) return { get: () => ({ page_size: 0, page_count: 0 }) };
    return this.#content.prepare(sql);
  }

  #refuseDamaged(): void {
    if (this.#content.isDamaged)
      throw sqliteError(SQLITE_CORRUPT, 'database disk image is malformed');
  }

  close(): void {
    theWorld().step('close', this.#path, () => this.#end());
  }

  #end(): void {
    if (this.#isClosed) return;
    this.#isClosed = true;
    const content = this.#content;
    const isOwner = content.lockedBy === this || this.#path === '';
    if (isOwner && content.db.isTransaction) content.prepare('ROLLBACK').run();
    if (isOwner) content.clearTempTables();
    if (content.lockedBy === this) content.lockedBy = undefined;
    if (this.#path === '') content.release();
  }

  #set(name: string, value: string): void {
    if (name === 'locking_mode') this.#isExclusive = value === 'EXCLUSIVE';
    else if (name === 'synchronous') this.#synchronous = value;
    else if (name === 'journal_mode') {
      this.#journalMode = value.toLowerCase();
      // Leaving the write-ahead log copies it into the database, and syncs that.
      if (this.#journalMode === 'delete' && this.#synchronous !== 'OFF') this.#synced();
    }
  }

  #lock(): void {
    const { lockedBy } = this.#content;
    if (lockedBy !== undefined && lockedBy !== this) {
      throw sqliteError(SQLITE_BUSY, 'database is locked');
    }
    this.#content.lockedBy = this;
  }

  #unlock(): void {
    if (!this.#isExclusive) this.#content.lockedBy = undefined;
  }

  #commit(): void {
    const content = this.#content;
    try {
      theWorld().diskStep('commit', this.#path, true);
    } catch (error) {
      this.#process.journalFailedAt ??= theWorld().clock.turn;
      content.prepare('ROLLBACK').run();
      this.#createsTables = false;
      const isFull = error instanceof Error && error.message.startsWith('ENOSPC');
      throw isFull
        ? sqliteError(SQLITE_FULL, 'database or disk is full')
        : sqliteError(SQLITE_IOERR, 'disk I/O error');
    }
    content.prepare('COMMIT').run();
    if (this.#createsTables) content.isCreated = true;
    this.#createsTables = false;
    if (this.#isSyncing) this.#synced();
    this.#unlock();
  }

  /** Whether a commit is on the disk when it has ended. */
  get #isSyncing(): boolean {
    const isLog = this.#journalMode === 'wal';
    return this.#synchronous === 'FULL' || (this.#synchronous === 'NORMAL' && !isLog);
  }

  #synced(): void {
    this.#content.synced();
    const { disk } = theWorld();
    if (this.#file === undefined) return;
    disk.syncFile(this.#file);
    // SQLite syncs the folder when it syncs the first page of a new log, and not again.
    if (!this.#isFolderSynced) disk.syncFolder(dirname(this.#path));
    this.#isFolderSynced = true;
  }

  #createTables(sql: string): void {
    const content = this.#content;
    if (!content.hasTables) {
      // Outside of the transaction, so that the tables stay when it is rolled back. The file has them once it is committed.
      content.db.exec('COMMIT');
      content.createTables(sql);
      content.db.exec('BEGIN');
    }
    this.#createsTables = true;
  }
}

function sqliteError(errcode: number, message: string): Error {
  return Object.assign(new Error(message), { code: 'ERR_SQLITE_ERROR', errcode });
}
