import type { Row } from './types.ts';

/** Turns decoded text that comes in pieces, cut anywhere, into rows. Rows that hold nothing are skipped. */
export interface RowReader {
  /** The rows that this piece completes. */
  push(text: string): Row[];
  /** The rows that only the end of the input completes. */
  end(): Row[];
}
