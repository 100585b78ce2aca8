import type { StatementSync } from 'node:sqlite';
import type { Journal } from './journal.ts';

/** Rows that go into the database at once: one call for each of millions of rows would be slow. */
const CHUNK_ROWS = 500;

export type Values = readonly (string | number | null)[];

/** Gathers rows for a table. Values that are bound take a quarter of the time of JSON that the database reads. */
export class RowBuffer {
  readonly #db: Journal['db'];
  readonly #table: string;
  readonly #inserts = new Map<number, StatementSync>();
  #rows: Values[] = [];

  constructor(db: Journal['db'], table: string) {
    this.#db = db;
    this.#table = table;
  }

  add(values: Values): void {
    this.#rows.push(values);
    if (this.#rows.length === CHUNK_ROWS) this.flush();
  }

  flush(): void {
    const rows = this.#rows;
    if (rows.length === 0) return;
    this.#rows = [];
    const places = () => rows.map((row) => `(${row.map(() => '?').join()})`).join();
    const insert =
      this.#inserts.get(rows.length) ??
      this.#db.prepare(`INSERT INTO ${this.#table} VALUES ${places()}`);
    this.#inserts.set(rows.length, insert);
    insert.run(...rows.flat());
  }
}
