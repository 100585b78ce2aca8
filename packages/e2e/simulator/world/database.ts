import { dirname } from 'node:path';
import type { StatementSync } from 'node:sqlite';
import { Content, type SqlFunction, takeContent } from './database-content.ts';
import type { FileNode } from './disk.ts';
import { commandOf } from './sql-commands.ts';
import { type Process, theWorld } from './world.ts';

const SQLITE_BUSY = 5;
const SQLITE_IOERR = 10;
const SQLITE_CORRUPT = 11;
const SQLITE_FULL = 13;
const SQLITE_CANTOPEN = 14;

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
  /** Of the journal when the transaction began. */
  #recordsBefore: unknown;
  /** They belong to the connection, which needs no lock for them. */
  #hasTempTables = false;
  #isClosed = false;

  constructor(path: string) {
    const world = theWorld();
    this.#process = world.process;
    this.#path = path;
    this.#file = path === '' ? undefined : world.disk.get(path);
    if (this.#file !== undefined && this.#process.diskFault?.code === 'EMFILE') {
      try {
        world.diskStep('open', path, false);
      } catch {
        throw sqliteError(SQLITE_CANTOPEN, 'unable to open database file');
      }
    }
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
      const mayLose = this.#process.diskFault?.only === 'commit kept unsynced';
      if (!this.#isSyncing || mayLose) content.keepImage();
      content.prepare('BEGIN').run();
      this.#recordsBefore = content.records;
    } else if (command.kind === 'commit') this.#commit();
    else if (command.kind === 'roll back') {
      this.#createsTables = false;
      content.prepare('ROLLBACK').run();
      this.#unlock();
    } else if (command.kind === 'tables') this.#createTables(sql);
    else if (command.kind === 'temporary tables') {
      this.#hasTempTables = true;
      content.createTempTables(sql);
    } else if (command.kind === 'empty') content.prepare(`DELETE FROM ${command.table}`).run();
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

  function(name: string, work: SqlFunction): void {
    this.#content.setFunction(name, work);
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
    if (isOwner || this.#hasTempTables) content.clearTempTables();
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
      // SQLite writes to no file whose own tables have not changed.
      const hasWritten = this.#createsTables || content.records !== this.#recordsBefore;
      if (hasWritten) theWorld().diskStep('commit', this.#path, true);
    } catch (error) {
      this.#process.journalFailedAt ??= theWorld().scheduler.turn;
      const { only } = this.#process.diskFault ?? {};
      if (only?.startsWith('commit kept')) this.#carryOut(only === 'commit kept');
      else content.prepare('ROLLBACK').run();
      this.#createsTables = false;
      const isFull = error instanceof Error && error.message.startsWith('ENOSPC');
      throw isFull
        ? sqliteError(SQLITE_FULL, 'database or disk is full')
        : sqliteError(SQLITE_IOERR, 'disk I/O error');
    }
    this.#carryOut(this.#isSyncing);
    this.#createsTables = false;
    this.#unlock();
  }

  #carryOut(isSynced: boolean): void {
    const content = this.#content;
    content.prepare('COMMIT').run();
    if (this.#createsTables) content.isCreated = true;
    if (isSynced) this.#synced();
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
    content.takeSettings(sql);
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
