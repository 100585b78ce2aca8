import { createBatch, createJob, createLink } from './create.ts';
import { importLinks } from './imports.ts';
import { runJobChunk } from './jobs.ts';
import * as operators from './operators.ts';

/** The methods of a store that write, in SQL that both engines run. Each runs in one transaction, and gets its engine first. */
export const storeWrites = {
  ...operators,
  importLinks,
  createLink,
  createBatch,
  createJob,
  runJobChunk,
};
