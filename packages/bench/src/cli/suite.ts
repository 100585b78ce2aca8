import type { Suite } from '../frame/section.ts';
import { measureImport, measureLargeImport } from './import.ts';
import { measureParsers } from './parsers.ts';
import { measureStartUp } from './start-up.ts';

/** `pnpm bench cli`. */
export const suite = {
  'start-up': measureStartUp,
  parsers: measureParsers,
  import: measureImport,
  'import-large': measureLargeImport,
} satisfies Suite;
