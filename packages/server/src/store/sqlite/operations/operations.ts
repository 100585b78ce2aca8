import { importLinks } from '../../imports.ts';
import type { ShortUrl } from '../../links.ts';
import * as operators from '../../operators.ts';
import { sql } from '../../queries/reading.ts';
import type { Store } from '../../store.ts';
import type { Database } from '../database.ts';
import type { Writer } from '../write-core.ts';
import { probe, pruneSome, runJobChunk } from './background.ts';
import { admit, type Counters, refund } from './counters.ts';
import { createBatch, createJob, createLink } from './create.ts';
import { addClicks, numberColumn } from './links.ts';
import { indexLinks } from './targets.ts';

/** Methods of the store that the writer carries out as they are called. */
type DirectWrites = Pick<
  Store,
  | keyof typeof operators
  | 'importLinks'
  | 'admit'
  | 'refund'
  | 'createLink'
  | 'createBatch'
  | 'createJob'
  | 'indexLinks'
  | 'runJobChunk'
  | 'addClicks'
>;

/** Every write there is. Arguments and results can be posted between threads. */
type Writes = {
  [N in keyof DirectWrites]: (
    ...args: Parameters<DirectWrites[N]>
  ) => Awaited<ReturnType<DirectWrites[N]>>;
} & {
  /** Deletes a bounded number of rows; `done` is false when there are more. */
  pruneSome: (now: number) => { done: boolean };
  /** Changes nothing, but writes a page, to find out whether that can be done. */
  probe: () => void;
};

export type OperationName = keyof Writes;
export type Args<N extends OperationName> = Parameters<Writes[N]>;
export type Output<N extends OperationName> = ReturnType<Writes[N]>;

/** What operations work with. */
export interface OperationContext {
  db: Database;
  shortUrl: ShortUrl;
  generateCode: () => string;
  /** Whether this transaction has no other write, and none waits but further chunks of this job: then chunks may share it. */
  isIdle: (jobId: string) => boolean;
  /** The counters of this transaction, which are written at its end. */
  counters: Counters;
}

/** One write, run inside a transaction that is committed by whoever calls it. It throws to be undone. */
export type Operation<N extends OperationName> = (
  context: OperationContext,
  ...args: Args<N>
) => Output<N>;

const TITLE_COLUMN = (json: string) => sql`json_extract(${json}, '$')`;

const operations: { readonly [N in OperationName]: Operation<N> } = {
  // The writes of the operator's commands, which are written for both engines.
  createAccount: ({ db }, input) => db.read(operators.createAccount(input)),
  updateAccount: ({ db }, input) => db.read(operators.updateAccount(input)),
  setAccountDisabled: ({ db }, input) => db.read(operators.setAccountDisabled(input)),
  createKey: ({ db }, input) => db.read(operators.createKey(input)),
  revokeKey: ({ db }, keyId, now) => db.read(operators.revokeKey(keyId, now)),
  rotateKey: ({ db }, input) => db.read(operators.rotateKey(input)),
  recordKeyUse: ({ db }, keyId, now) => db.read(operators.recordKeyUse(keyId, now)),
  addDomain: ({ db }, input) => db.read(operators.addDomain(input)),
  removeDomain: ({ db }, input) => db.read(operators.removeDomain(input)),
  setLinkActive: ({ db, shortUrl }, code, active) =>
    db.read(operators.setLinkActive(shortUrl, code, active)),
  updateLink: ({ db, shortUrl }, input) =>
    db.read(operators.updateLink(shortUrl, TITLE_COLUMN, input)),
  importLinks: ({ db, generateCode }, input) =>
    db.read(importLinks(input, { generateCode, titleColumn: TITLE_COLUMN, numberColumn })),
  admit,
  refund,
  createLink,
  createBatch,
  createJob,
  indexLinks,
  runJobChunk,
  addClicks,
  pruneSome,
  probe,
};

/** The methods of the store for which each write that is sent to the writer does all. */
export function directWrites(writer: Writer): DirectWrites {
  const { pruneSome, probe, ...direct } = operations;
  const submit = (name: OperationName) => [
    name,
    (...args: Args<OperationName>) => writer.submit(name, ...args),
  ];
  return Object.fromEntries((Object.keys(direct) as OperationName[]).map(submit));
}

/** Runs one write by its name. */
export function perform<N extends OperationName>(
  context: OperationContext,
  name: N,
  args: Args<N>,
): Output<N> {
  return operations[name](context, ...args);
}
