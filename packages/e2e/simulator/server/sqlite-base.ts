import type { Store } from '../../src/inner-server.ts';
import type { Random } from '../kernel/random.ts';
import type { Base, BaseEvents } from './base.ts';
import type { Server } from './load-server.ts';
import { PUBLIC_URL } from './world.ts';

/** How often a statement, the same statement once more, or a commit of the database fails while faults are on. */
const FAULTS = { statement: 0.01, again: 0.4, commit: 0.15 } as const;

/** A SQLite database in memory, with faults of the disk. Each process has a writer of its own. */
export class SqliteBase implements Base {
  readonly hurryMs = Number.NEGATIVE_INFINITY;
  readonly readsFail = false;
  readonly #server: Server;
  readonly #random: Random;
  readonly #events: BaseEvents;
  readonly #db: InstanceType<Server['Database']>;
  /** Whether the write that runs now may fail. */
  #mayFail = false;
  /** The statement that failed last in that write. */
  #failing: string | undefined;

  constructor(server: Server, random: Random, events: BaseEvents, now: number) {
    this.#server = server;
    this.#random = random;
    this.#events = events;
    this.#db = new server.Database({ path: ':memory:' });
    server.migrate(this.#db, server.migrations, now);
    this.#addFaults();
  }

  async rows<T extends object>(sql: string, ...values: (string | number)[]): Promise<T[]> {
    return this.#db.all<T>({ text: sql, values });
  }

  openStore(_: object, mayFail: boolean): Store {
    const { InlineWriter, WriteCore, shortUrlMaker, sqliteStore } = this.#server;
    const shortUrl = shortUrlMaker(PUBLIC_URL);
    const core = new WriteCore({
      db: this.#db,
      shortUrl,
      generateCode: this.#events.generateCode,
      isIdle: () => this.#random.chance(0.3),
    });
    const run = core.run.bind(core);
    core.run = (requests, reply) => {
      this.#mayFail = mayFail;
      this.#failing = undefined;
      try {
        return run(requests, reply);
      } finally {
        this.#mayFail = false;
      }
    };
    const writer = new InlineWriter(core);
    return sqliteStore({ reader: this.#db, writer, shortUrl });
  }

  forget(): void {
    // What a process had begun ends with its step.
  }

  async close(): Promise<void> {
    this.#db.close();
  }

  /** A full disk fails a statement or a commit; a disk that breaks in the middle of a commit may have all of it. */
  #addFaults(): void {
    const db = this.#db;
    const { StoreError } = this.#server;
    const fails = (share: number) => this.#mayFail && this.#events.fails(share);
    const run = db.run.bind(db);
    db.run = (statement) => {
      const text = typeof statement === 'string' ? statement : statement.text;
      if (fails(text === this.#failing ? FAULTS.again : FAULTS.statement)) {
        this.#failing = text;
        throw new StoreError('full', 'no space is left');
      }
      return run(statement);
    };
    const exec = db.exec.bind(db);
    db.exec = (sql) => {
      const failsNow = sql === 'COMMIT' && fails(FAULTS.commit);
      const reason = failsNow && this.#random.chance(0.5) ? 'full' : 'unavailable';
      if (!failsNow || (reason === 'unavailable' && this.#random.chance(0.5))) exec(sql);
      if (failsNow && reason === 'unavailable') this.#events.onDoubt();
      if (failsNow) throw new StoreError(reason, 'the disk failed');
      if (sql === 'COMMIT') void this.#events.onCommit();
    };
  }
}
