import type { Engine } from '../../engine.ts';
import { methodsOf, storeWrites } from '../../methods.ts';
import { known, rowsOf, sql, type Writing } from '../../queries/reading.ts';
import { pruneSteps } from '../../retention.ts';
import type { Caller, Store } from '../../store.ts';
import type { Writer } from '../writers.ts';
import { admit, refund } from './counters.ts';
import type { SqliteEngine } from './engine.ts';

/** Every write there is, run inside a transaction that is committed by whoever calls it. It throws to be undone. */
const operations = {
  ...storeWrites,
  admit: ({ counters }: SqliteEngine, caller: Caller, now: number) =>
    known(admit(counters, caller, now)),
  refund: ({ counters }: SqliteEngine, caller: Caller, now: number) =>
    known(refund(counters, caller, now)),
  ...{ pruneSome, probe },
};

interface Operations extends Pick<Store, keyof typeof storeWrites | 'admit' | 'refund'> {
  /** Deletes a bounded number of rows; `done` is false when there are more. */
  pruneSome: (now: number) => Promise<{ done: boolean }>;
  probe: () => Promise<void>;
}
export type OperationName = keyof Operations;
/** Arguments and results can be posted between threads. */
export type Args<N extends OperationName> = Parameters<Operations[N]>;
export type Output<N extends OperationName> = Awaited<ReturnType<Operations[N]>>;

/** A method for each write, which is sent to the writer. */
export function writesOf(writer: Writer) {
  return methodsOf<Operations>(operations, (name, args) =>
    writer.submit(name, ...(args as Args<typeof name>)),
  );
}

export function perform(engine: SqliteEngine, name: OperationName, args: unknown[]): unknown {
  // `name` and `args` belong together, which the compiler can't follow into the union.
  const operation = operations[name] as (...args: unknown[]) => Writing<unknown>;
  return engine.db.read(operation(engine, ...args));
}

function* pruneSome(engine: Engine, now: number): Writing<{ done: boolean }> {
  let done = true;
  for (const step of pruneSteps(now, engine)) if (yield* step()) done = false;
  return { done };
}

/** SQLite writes no page for a row that stays the same, but it does for this number, which nobody uses. To find out whether that can be done. */
function* probe(): Writing<void> {
  yield* rowsOf(sql`PRAGMA user_version = 0`);
}
