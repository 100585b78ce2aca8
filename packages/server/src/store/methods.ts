import type { ReadEngine, Reads, Writes } from './engine.ts';
import { jobReads, runJobChunk } from './jobs.ts';
import { accountReads } from './queries/accounts.ts';
import { linkReads } from './queries/links.ts';
import type { Reading } from './queries/reading.ts';
import { usage } from './queries/usage.ts';
import type { Store } from './store.ts';
import { clickWrites } from './writes/clicks.ts';
import { createWrites } from './writes/create.ts';
import { checkImport, importLinks } from './writes/imports.ts';
import { operatorWrites } from './writes/operators.ts';

/** The methods of a store that only read. */
export const storeReads = {
  ...{ ...accountReads, ...jobReads, ...linkReads },
  ...{ usage, checkImport },
} satisfies Reads;

/** The methods that write. Each runs in one transaction. */
export const storeWrites = {
  ...{ ...operatorWrites, ...createWrites, ...clickWrites },
  ...{ importLinks, runJobChunk },
} satisfies Writes;

/** Makes methods of these names: `run` carries each out. */
export function methodsOf<M>(
  names: Readonly<Record<keyof M, unknown>>,
  run: (name: keyof M, args: unknown[]) => Promise<unknown>,
): M {
  const methods = Object.keys(names).map((name) => [
    name,
    (...args: unknown[]) => run(name as keyof M, args),
  ]);
  return Object.fromEntries(methods);
}

/** Begins an operation. Its name and `args` belong together, which the compiler can't follow into the union. */
export function begin<E, M>(operations: M, engine: E, name: keyof M, args: readonly unknown[]) {
  const operation = operations[name] as (engine: E, ...args: unknown[]) => Reading<unknown>;
  return operation(engine, ...args);
}

export function readMethods(engine: ReadEngine, read: <T>(reading: Reading<T>) => Promise<T>) {
  return methodsOf<Pick<Store, keyof typeof storeReads>>(storeReads, (name, args) =>
    read(begin(storeReads, engine, name, args)),
  );
}
