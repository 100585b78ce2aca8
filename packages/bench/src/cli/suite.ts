import type { Suite } from '../frame/section.ts';
import { measureImport, measureLargeImport } from './import.ts';

/** `pnpm bench cli`. */
export const suite = {
  import: measureImport,
  'import-large': measureLargeImport,
} satisfies Suite;
