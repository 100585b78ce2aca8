import {
  DatabaseSync,
  type SQLInputValue,
  type SQLOutputValue,
  type StatementSync,
} from 'node:sqlite';
import type { DatabaseContent, FileNode } from './disk.ts';

/** What SQL may call. */
export type SqlFunction = (...values: SQLOutputValue[]) => SQLInputValue;

type Rows = Record<string, SQLInputValue>[];

const SETTING = /PRAGMA (\w+) = (\d+);?/g;

/**
 * A database file. What SQL does is SQLite's own work, on a database in memory; what is simulated is the file around it: locks,
 * commits that reach the disk or don't, and disks that fail. A database is made once and emptied for the next scenario, since its
 * tables take longer to make than an import to run.
 */
export class Content implements DatabaseContent {
  readonly db = new DatabaseSync(':memory:', { enableForeignKeyConstraints: false });
  readonly #statements = new Map<string, StatementSync>();
  readonly #functions = new Map<string, SqlFunction>();

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
  /** The connection that holds the lock. */
  lockedBy: object | undefined;
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

  /** The last program that gives a function of that name is asked. SQLite itself gets it once: another statement may be in use. */
  setFunction(name: string, work: SqlFunction): void {
    const isNew = !this.#functions.has(name);
    this.#functions.set(name, work);
    const ask: SqlFunction = (...values) => this.#functions.get(name)?.(...values) ?? null;
    if (isNew) this.db.function(name, { varargs: true }, ask);
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

  /** How many records the journal in it has. */
  get records(): unknown {
    return this.hasTables ? this.prepare('SELECT records FROM seal').get()?.['records'] : undefined;
  }

  /** Takes the settings of a text that makes the tables of the file. */
  takeSettings(sql: string): void {
    for (const [, name = '', value] of sql.matchAll(SETTING)) {
      this.#settings.set(name, Number(value));
    }
  }

  /** Makes the tables of the file, once for all the files that this database stands for. */
  createTables(sql: string): void {
    this.db.exec(sql.replace(SETTING, ''));
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

  /** Makes the temporary tables of a connection, which has none of the rows that a killed program may still have added to those before. */
  createTempTables(sql: string): void {
    for (const table of this.#tempTables) this.prepare(`DELETE FROM temp.${table}`).run();
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

export function takeContent(): Content {
  return spare.pop() ?? new Content();
}

/** What the oracle asks of a journal; undefined where there is none. */
export function queryDatabase(file: FileNode | undefined, sql: string) {
  const content = file?.database;
  if (!(content instanceof Content) || !content.isCreated || content.isDamaged) return undefined;
  return content.prepare(sql).all();
}
