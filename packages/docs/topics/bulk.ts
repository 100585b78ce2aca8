/**
 * `shortlink.links.createMany`: its options, its items, and the records of a run that can be resumed.
 *
 * @module sdk/bulk
 */
export type {
  BatchEvent,
  BatchRange,
  BatchRecord,
  BulkItem,
  BulkSource,
  CreateManyOptions,
  RecordedResult,
  RecordedResults,
} from '../../sdk/src/index.ts';
