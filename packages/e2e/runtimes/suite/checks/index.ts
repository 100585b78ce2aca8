import type { Check } from '../check.ts';
import { abortChecks } from './abort.ts';
import { batchChecks } from './batches.ts';
import { connectionChecks } from './connections.ts';
import { errorChecks } from './errors.ts';
import { idempotencyChecks } from './idempotency.ts';
import { linkChecks } from './links.ts';
import { rateLimitChecks } from './rate-limits.ts';
import { secretChecks } from './secrets.ts';

/** Everything that must hold in every runtime. */
export const CHECKS: readonly Check[] = [
  ...linkChecks,
  ...batchChecks,
  ...errorChecks,
  ...rateLimitChecks,
  ...connectionChecks,
  ...abortChecks,
  ...idempotencyChecks,
  ...secretChecks,
];
