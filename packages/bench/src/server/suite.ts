import type { Suite } from '../frame/section.ts';
import { measureJobs, measureSyncBatches } from './batches.ts';
import { measureCreates } from './creates.ts';
import { measureGrowth } from './growth.ts';
import { measureRedirects } from './redirects.ts';
import { measureRedirectsBesideJobs } from './redirects-beside-jobs.ts';

/** `pnpm bench server`. */
export const suite = {
  redirects: measureRedirects,
  creates: measureCreates,
  'batches-sync': measureSyncBatches,
  'batches-jobs': measureJobs,
  'redirects-beside-jobs': measureRedirectsBesideJobs,
  growth: measureGrowth,
} satisfies Suite;
