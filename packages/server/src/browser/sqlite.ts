import initSqlJs, { type Database as Memory, type SqlJsStatic } from 'sql.js';
import type { SqlValue } from '../store/queries/reading.ts';
import { Database, type SqliteConnection } from '../store/sqlite/database.ts';
import { migrate, migrations } from '../store/sqlite/migrate.ts';

/** SQLite's WebAssembly, compiled or in bytes. */
export type Wasm = WebAssembly.Module | ArrayBuffer | Uint8Array<ArrayBuffer>;

let loading: Promise<SqlJsStatic> | undefined;

/** Opens an empty database, or the one that was saved under this name. */
export async function openDatabase(now: number, name?: string, wasm?: Wasm) {
  loading ??= load(wasm).catch((error: unknown) => {
    loading = undefined;
    throw error;
  });
  const { Database: OpenMemory } = await loading;
  const release = name === undefined ? () => undefined : await lock(name);
  try {
    const file = name === undefined ? undefined : await openFile(name);
    const saved = new Uint8Array((await (await file?.getFile())?.arrayBuffer()) ?? []);
    const memory = new OpenMemory(saved.length > 0 ? saved : null);
    let savedChanges: unknown = 0;
    const save = async () => {
      if (file === undefined) return;
      const changes = memory.exec('SELECT total_changes()')[0]?.values[0]?.[0];
      if (changes === savedChanges) return;
      // Closing replaces the file as a whole, or not at all.
      const writable = await file.createWritable();
      await writable.write(new Uint8Array(memory.export()));
      await writable.close();
      savedChanges = changes;
    };
    let saving = Promise.resolve();
    const prepare = (db: Database) => migrate(db, migrations, now, true, () => undefined);
    return {
      db: new Database({ path: name ?? ':memory:', connect: () => toConnection(memory), prepare }),
      /** Resolves once all that was committed is in its file; at once without one. */
      save: () => (saving = saving.catch(() => undefined).then(save)),
      /** Lets another page open the file. */
      release,
    };
  } catch (error) {
    release();
    throw error;
  }
}

async function load(wasm: Wasm | undefined): Promise<SqlJsStatic> {
  const module =
    wasm instanceof WebAssembly.Module
      ? wasm
      : await WebAssembly.compile(wasm ?? (await fetched()));
  return initSqlJs({
    instantiateWasm: (imports, onSuccess) => {
      void WebAssembly.instantiate(module, imports).then(onSuccess);
      return {};
    },
  });
}

/** Node, Bun and Deno fetch no files. */
async function fetched(): Promise<ArrayBuffer | Uint8Array<ArrayBuffer>> {
  const url = new URL('./sqlite3.wasm', import.meta.url);
  const { process } = globalThis;
  if (url.protocol === 'file:') {
    return new Uint8Array(process.getBuiltinModule('node:fs').readFileSync(url));
  }
  const response = await fetch(url);
  if (!response.ok) throw new Error(`${response.url} was not loaded: status ${response.status}`);
  return response.arrayBuffer();
}

/** The file of a database in the browser's private file system. */
async function openFile(name: string): Promise<FileSystemFileHandle> {
  const folder = await navigator.storage.getDirectory();
  const file = await folder.getFileHandle(`shortlink-${name}.sqlite`, { create: true });
  if (!('createWritable' in file))
    throw new Error('This browser keeps no files: it has no createWritable.');
  return file;
}

/** How long a page waits for another one to close, such as for itself when it is reloaded, in milliseconds. */
const LOCK_WAIT_MS = 2_000;

/** Two pages would overwrite each other's links. */
function lock(name: string): Promise<() => void> {
  return new Promise((resolve, reject) => {
    const signal = AbortSignal.timeout(LOCK_WAIT_MS);
    const held = () => new Promise<void>(resolve);
    navigator.locks
      .request(`shortlink-${name}`, { signal }, held)
      .catch(() =>
        reject(new Error(`The database "${name}" is open already, in this page or another one.`)),
      );
  });
}

function toConnection(memory: Memory): SqliteConnection {
  memory.run('PRAGMA journal_mode = MEMORY');
  return {
    exec: (sql) => void memory.run(sql),
    prepare: (sql) => {
      const statement = memory.prepare(sql);
      const all = (...values: SqlValue[]) => {
        const found: unknown[] = [];
        statement.bind(values);
        while (statement.step()) found.push(statement.getAsObject());
        statement.reset();
        return found;
      };
      const run = (...values: SqlValue[]) => {
        all(...values);
        return { changes: memory.getRowsModified() };
      };
      return { all, run };
    },
    close: () => memory.close(),
  };
}
