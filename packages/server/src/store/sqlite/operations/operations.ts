import type { BatchResultItem, Link } from '@shortlink/sdk/wire';
import type { OperatorStore } from '../../operator-store.ts';
import type {
  AcceptedJob,
  Admission,
  Caller,
  CreateOutcome,
  CreateRequest,
  JobProgress,
  NewLink,
} from '../../store.ts';
import type { Database } from '../database.ts';

/** A write that the store takes as one object. */
type OperatorWrite<
  N extends
    | 'createAccount'
    | 'updateAccount'
    | 'setAccountDisabled'
    | 'createKey'
    | 'rotateKey'
    | 'addDomain'
    | 'removeDomain',
> = {
  input: Parameters<OperatorStore[N]>[0];
  output: Awaited<ReturnType<OperatorStore[N]>>;
};

/** Every write there is: what it is given and what it answers. Both sides can be posted between threads. */
export interface Operations {
  createAccount: OperatorWrite<'createAccount'>;
  updateAccount: OperatorWrite<'updateAccount'>;
  setAccountDisabled: OperatorWrite<'setAccountDisabled'>;
  createKey: OperatorWrite<'createKey'>;
  revokeKey: { input: { keyId: string; now: number }; output: boolean };
  rotateKey: OperatorWrite<'rotateKey'>;
  recordKeyUse: { input: { keyId: string; now: number }; output: undefined };
  addDomain: OperatorWrite<'addDomain'>;
  removeDomain: OperatorWrite<'removeDomain'>;
  admit: { input: { caller: Caller; now: number }; output: Admission };
  refund: { input: { caller: Caller; now: number }; output: undefined };
  createLink: { input: CreateRequest<NewLink>; output: CreateOutcome<Link> };
  createBatch: {
    input: CreateRequest<readonly NewLink[]>;
    output: CreateOutcome<BatchResultItem[]>;
  };
  createJob: { input: CreateRequest<JobInput>; output: CreateOutcome<AcceptedJob> };
  runJobChunk: {
    input: { jobId: string; now: number };
    output: JobProgress;
  };
  addClicks: { input: ReadonlyMap<string, number>; output: undefined };
  setLinkActive: { input: { code: string; active: boolean }; output: Link | undefined };
  /** Deletes a bounded number of rows; `done` is false when there are more. */
  pruneSome: { input: { now: number }; output: { done: boolean } };
}

export type OperationName = keyof Operations;
export type Input<N extends OperationName> = Operations[N]['input'];
export type Output<N extends OperationName> = Operations[N]['output'];

/** The links of a job, cut into chunks where they arrived: texts are cheap to post, to store and to keep. */
export interface JobInput {
  total: number;
  /** JSON arrays of `NewLink`, in order. */
  chunks: readonly string[];
}

/** What operations work with. */
export interface OperationContext {
  db: Database;
  shortUrl: (code: string, hostname: string | null) => string;
  generateCode: () => string;
}

/** One write, run inside a transaction that is committed by whoever calls it. It throws to be undone. */
export type Operation<N extends OperationName> = (
  context: OperationContext,
  input: Input<N>,
) => Output<N>;
