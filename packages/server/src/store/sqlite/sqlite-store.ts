import { setImmediate as nextTurn } from 'node:timers/promises';
import type { Link } from '@shortlink/sdk/wire';
import { chunksOf } from '../../domain/chunks.ts';
import { generateCode } from '../../domain/ids.ts';
import type { ReadEngine } from '../engine.ts';
import { type ShortUrl, shortUrlMaker } from '../links.ts';
import { readMethods, storeReads } from '../methods.ts';
import { exportPage } from '../queries/links.ts';
import type { Store } from '../store.ts';
import type { Database } from './database.ts';
import { dialect, linkFinder, writesOf } from './engine.ts';
import { WriteCore } from './write-core.ts';
import { InlineWriter, type Writer } from './writers.ts';

/** Entries that are looked up in one turn of the event loop, about a millisecond. Redirects wait little longer, however many look-ups run at a time. */
const LOOKED_UP_TOGETHER = 25;

export interface SqliteStoreParts {
  /** Connection for reads, on the thread that asks: they take microseconds. */
  reader: Database;
  writer: Writer;
  shortUrl: ShortUrl;
  isInPlace?: (() => boolean) | undefined;
  /** Opens another connection for reads; `undefined` for a database in memory. */
  openReader?: (() => Database) | undefined;
}

/** The store on one connection, which also writes: on a database that nobody else can see. */
export function inlineStore(db: Database, publicUrl: string): Store {
  const shortUrl = shortUrlMaker(publicUrl);
  const core = new WriteCore({ db, generateCode, shortUrl, isIdle: () => false });
  return sqliteStore({ reader: db, writer: new InlineWriter(core), shortUrl });
}

/** The store on embedded SQLite: reads here, writes through the one writer. */
export function sqliteStore(parts: SqliteStoreParts): Store {
  const { reader, writer, shortUrl, isInPlace = () => true, openReader } = parts;
  const engine = { shortUrl, ...dialect };
  let lastTurn: Promise<unknown> = Promise.resolve();
  return {
    // Asynchronous, so that what fails rejects.
    ...readMethods(engine, async (reading) => reader.read(reading)),

    ...writesOf(writer),
    findLinks: async (accountId, entries, most) => {
      const found: Link[][] = [];
      const find = linkFinder(reader, shortUrl, accountId, most);
      for (const some of chunksOf(entries, LOOKED_UP_TOGETHER)) {
        lastTurn = lastTurn.then(() => nextTurn());
        await lastTurn;
        found.push(...find(some));
      }
      return found;
    },

    exportLinks: async (accountId, onLinks) => {
      using db = openReader?.();
      db?.exec('BEGIN');
      const pages = exportPages(db ?? reader, engine, accountId);
      // A database in memory has one connection, so all is read before anybody else can write.
      for (const links of db === undefined ? [...pages] : pages) await onLinks(links);
    },
    usage: async (accountId, now) =>
      reader.snapshot(() => reader.read(storeReads.usage(engine, accountId, now))),
    /** Prunes in bounded steps, between which other writes get their turn. Each step is atomic. */
    prune: async (now, signal) => {
      while (!signal?.aborted && (await writer.submit('pruneSome', now)) === true) {
        // There is more.
      }
    },
    isHealthy: () => writer.isHealthy && isInPlace(),
    close: async () => {
      await writer.close();
      reader.close();
    },
  };
}

function* exportPages(db: Database, engine: ReadEngine, accountId: string | undefined) {
  for (let after = ''; ; ) {
    const links = db.read(exportPage(engine, accountId, after));
    const last = links.at(-1);
    if (last === undefined) return;
    yield links;
    after = last.code;
  }
}
