import type { Suite } from '../frame/section.ts';
import { measureBulkJobs, measureBulkSync } from './bulk.ts';
import { measureSizes } from './bundle-size.ts';
import { measureColdStart } from './cold-start.ts';
import { measureConcurrent, measureSequential } from './requests.ts';

/** `pnpm bench sdk`. */
export const suite = {
  size: measureSizes,
  cold: measureColdStart,
  sequential: measureSequential,
  concurrent: measureConcurrent,
  'bulk-sync': measureBulkSync,
  'bulk-jobs': measureBulkJobs,
} satisfies Suite;
