import type { Mutant } from '../kernel/simulation.ts';

export type { Mutant };

export const mutant = (name: string, file: string, find: string, replace: string): Mutant => ({
  name,
  patches: [{ file, find, replace }],
});

export const CHECK = 'cli/src/import/check';
export const JOURNAL = 'cli/src/import/journal';
export const SEND = 'cli/src/import/send';
export const MAP = 'cli/src/import/map';
export const REPORT = 'cli/src/import/report';
export const HTTP = 'sdk/src/http';
export const BULK = 'sdk/src/bulk';
