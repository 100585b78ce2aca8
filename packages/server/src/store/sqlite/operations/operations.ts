import { recordWrite } from '../../links.ts';
import { storeWrites } from '../../methods.ts';
import { rankLinks } from '../../queries/links.ts';
import {
  type CarriedOut,
  carryOut,
  known,
  rowOf,
  rowsOf,
  sql,
  sqlText,
  type Writing,
} from '../../queries/reading.ts';
import { pruneSteps } from '../../retention.ts';
import type { Caller, ClickWrite } from '../../store.ts';
import type { OnEngine } from '../../writes/engine.ts';
import type { Writer } from '../write-core.ts';
import { admit, refund } from './counters.ts';
import type { SqliteEngine } from './engine.ts';
import { indexLinks } from './targets.ts';

/** Methods of the store that the writer carries out as they are called. */
const direct = {
  ...storeWrites,
  admit: ({ counters }: SqliteEngine, caller: Caller, now: number) =>
    known(admit(counters, caller, now)),
  refund,
  indexLinks,
  addClicks,
};

/** Every write there is, run inside a transaction that is committed by whoever calls it. It throws to be undone. */
const operations = { ...direct, pruneSome, probe };

type Operations = OnEngine<typeof operations>;
export type OperationName = keyof Operations;
/** Arguments and results can be posted between threads. */
export type Args<N extends OperationName> = Parameters<Operations[N]>;
export type Output<N extends OperationName> = Awaited<ReturnType<CarriedOut<Operations>[N]>>;

/** The methods of the store for which each write that is sent to the writer does all. */
export function directWrites(writer: Writer) {
  return carryOut<OnEngine<typeof direct>>(direct, (name, args) =>
    writer.submit(name, ...(args as Args<typeof name>)),
  );
}

export function perform(engine: SqliteEngine, name: OperationName, args: unknown[]): unknown {
  // `name` and `args` belong together, which the compiler can't follow into the union.
  const operation = operations[name] as (...args: unknown[]) => Writing<unknown>;
  return engine.db.read(operation(engine, ...args));
}

/** Nearly always the link was clicked before, so its row is looked for first. */
function* addClicks(
  engine: SqliteEngine,
  clicks: ReadonlyMap<string, number>,
  write?: ClickWrite,
): Writing<void> {
  if (write !== undefined && (yield* rowOf(recordWrite(write))) === undefined) return;
  const { db } = engine;
  for (const [code, count] of clicks) {
    const added = db.run(
      sql`UPDATE link_clicks SET clicks = clicks + ${count} WHERE code = ${code}`,
    );
    if (added > 0) continue;
    db.run(
      sql`INSERT INTO link_clicks (code, clicks) SELECT code, ${count} FROM links WHERE code = ${code}`,
    );
  }
  yield* rankLinks(engine, clicks.keys(), sqlText('true'));
}

/** Deletes a bounded number of rows; `done` is false when there are more. */
function* pruneSome(engine: SqliteEngine, now: number): Writing<{ done: boolean }> {
  let { done } = yield* indexLinks(engine);
  for (const step of pruneSteps(now, engine)) if (yield* step()) done = false;
  return { done };
}

/** SQLite writes no page for a row that stays the same, but it does for this number, which nobody uses. To find out whether that can be done. */
function* probe(): Writing<void> {
  yield* rowsOf(sql`PRAGMA user_version = 0`);
}
