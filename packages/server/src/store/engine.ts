import type { Link } from '@shortlink/sdk/wire';
import type { ShortUrl } from './links.ts';
import type { Reading, Statement, Writing } from './queries/reading.ts';
import type { Caller, NewLink, Store } from './store.ts';

/** What the writes of a store need, and what differs between the engines. */
export interface Engine {
  shortUrl: ShortUrl;
  generateCode: () => string;
  /** Hostnames of custom domains by their ids, each read once: its links keep it, and it is never deleted. */
  hostnames: Map<string, string>;
  /** Whether no write waits but further chunks of this job: then chunks may share its transaction. */
  isIdle: (jobId: string) => boolean;
  /** The tables in which `key_days` is kept. */
  dailyTables: readonly string[];
  /** What locks rows until the end of the transaction. */
  locked: Statement;
  /** The same, and passes over those that another instance works on. */
  unlessLocked: Statement;
  /** Whether nobody else writes before the transaction ends, so that what it read stays as it is. */
  isAlone: boolean;
  /** What is added to the number of the target of a link. */
  bucket: Statement;
  /** The row of a hot link in which this instance counts clicks. */
  clickSlot: number;
  /** A condition that one instance at a time fulfils, until the end of its transaction: then two can't deadlock. */
  mayRank: Statement;
  /** The text of a column as bytes, if the driver can read it so: as a text, it would be garbage on the thread that redirects. */
  bytes: (column: string) => Statement;
  /** A table of texts, called `listed`, to read from. */
  table: <C extends string>(columns: readonly C[], rows: readonly Row<C>[]) => Statement;
  /** Inserts the links whose code is free, also as an address of another link on their domain, and returns these codes. */
  insertRows: (rows: readonly StoredLink[]) => Writing<ReadonlySet<string>>;
  /**
   * Takes quota slots for requests of one account, in order, until the plan is full. Each wants so many links, and gets all of them or none.
   * The check, the increase and the counts in the history of each key are one step. None gets any under the limit `batch_size`, which was checked
   * before: that they are refused is counted.
   */
  takeSlots: (
    caller: Caller,
    limit: 'links' | 'batch_size',
    keys: readonly string[],
    links: number,
    now: number,
  ) => Writing<Slots>;
}

export type Row<C extends string> = Readonly<Record<C, string | number>>;

export interface StoredLink extends NewLink, Pick<Link, 'id' | 'code' | 'is_active'> {
  account_id: string;
  created_at: number;
}

export interface Slots {
  /** The number of requests, from the first on, that have their quota slots. */
  granted: number;
  used: number;
}

/** What reads of a store need of its engine. */
export type ReadEngine = Pick<Engine, 'shortUrl' | 'table' | 'bytes'>;

/** Methods of {@link Store} that are one reading each, or one transaction. They get their engine first. */
export type OnEngine<E> = {
  [N in keyof Store]?: Store[N] extends (...args: infer A) => Promise<infer T>
    ? (engine: E, ...args: A) => Reading<T>
    : never;
};
export type Reads = OnEngine<ReadEngine>;
export type Writes = OnEngine<Engine>;
