import type { Migration } from '../../migration.ts';
import { initial } from './001-initial.ts';
import { admission } from './002-admission.ts';
import { sharedReads } from './003-shared-reads.ts';
import { linkChanges } from './004-link-changes.ts';
import { operators } from './005-operators.ts';

/** Every step of the schema, in order. A released step is never edited: a change is a new step. */
export const migrations: readonly Migration[] = [
  initial,
  admission,
  sharedReads,
  linkChanges,
  operators,
];
