import { operatorOperations } from '../operators.ts';
import { admit, refund } from './admit.ts';
import { addClicks } from './clicks.ts';
import { createBatch, createJob, createLink } from './create.ts';
import { setLinkActive } from './links.ts';
import type { Input, Operation, OperationContext, OperationName, Output } from './operations.ts';
import { pruneSome } from './prune.ts';
import { runJobChunk } from './run-job-chunk.ts';

const operations: { readonly [N in OperationName]: Operation<N> } = {
  ...operatorOperations,
  admit,
  refund,
  createLink,
  createBatch,
  createJob,
  runJobChunk,
  addClicks,
  setLinkActive,
  pruneSome,
};

/** Runs one write by its name. */
export function perform<N extends OperationName>(
  context: OperationContext,
  name: N,
  input: Input<N>,
): Output<N> {
  return operations[name](context, input);
}
