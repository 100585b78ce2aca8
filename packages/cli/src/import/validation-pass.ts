import { createHash } from 'node:crypto';
import type { ImportDeps } from './deps.ts';
import type { RowRules } from './map/row-rules.ts';
import type { Layout } from './read/layout.ts';
import type { Input } from './read/open-input.ts';
import { readRows } from './read/read-rows.ts';
import type { RejectsFile } from './rejects.ts';
import { RowSet } from './row-set.ts';
import type { Reject, Row } from './types.ts';

/** Rejects that are shown at once; all of them are in the rejects file. */
const FIRST_REJECTS = 10;

/** Rows between two `validating` events. */
const EVENT_STEP = 50_000;

/** What the first pass over the input found. */
export interface Validation {
  /** Rows that hold something, the header apart. */
  rows: number;
  /** Rows that can be sent. */
  links: number;
  /** The others. */
  rejectedRows: RowSet;
  /** SHA-256 of the input, in hexadecimal. */
  sha256: string;
}

/**
 * Checks every row before anything is sent, so that a bad line 900,000 is known before line 1 goes out. Undefined when
 * the user stopped it.
 */
export async function validateInput(
  input: Input,
  layout: Layout,
  rules: RowRules,
  rejects: RejectsFile,
  deps: Pick<ImportDeps, 'onEvent' | 'signal' | 'stopSignal'>,
): Promise<Validation | undefined> {
  const hash = createHash('sha256');
  const firstRejects: Reject[] = [];
  const rejectedRows = new RowSet();
  let bytesRead = 0;
  let rows = 0;
  let rejected = 0;
  let announced = 0;
  const batches = readRows(input, layout, (bytes) => {
    bytesRead += bytes.length;
    hash.update(bytes);
  });
  for await (const batch of batches) {
    if (deps.signal.aborted || deps.stopSignal.aborted) return undefined;
    const bad: Array<{ row: Row; reason: string }> = [];
    for (const row of batch) {
      const reason = rules.problem(row);
      if (reason !== undefined) {
        bad.push({ row, reason });
        rejectedRows.add(rows);
      }
      rows += 1;
    }
    for (const { row, reason } of bad.slice(0, FIRST_REJECTS - firstRejects.length)) {
      firstRejects.push({ line: row.line, cells: row.cells, reason });
    }
    rejected += bad.length;
    await rejects.add(bad);
    if (rows - announced >= EVENT_STEP) {
      announced = rows;
      deps.onEvent({ type: 'validating', rows, bytesRead, bytesTotal: input.size });
    }
  }
  deps.onEvent({ type: 'validated', rows, rejected, firstRejects });
  return { rows, links: rows - rejected, rejectedRows, sha256: hash.digest('hex') };
}
