import { rm } from 'node:fs/promises';
import { csvLine, type Row } from '@shortlink/tables/basics';
import type { Layout } from '../layout.ts';
import { fingerprint, headerOf, type OwnFiles } from './keep-changed.ts';
import type { OutputFile } from './output-file.ts';

export type RejectsFile = ReturnType<typeof rejectsFile>;

/**
 * The rejects file, created with the first reject: the input's own columns, `line` and `reason`. Cells beyond the last column come after
 * the reason, so that nothing of the row is lost, and a row that was not corrected stays invalid.
 */
export function rejectsFile({ plan, dialect }: Layout, open: () => Promise<OutputFile>) {
  let width = 0;
  let file: OutputFile | undefined;
  return {
    path: () => file?.path,
    async add(rejects: ReadonlyArray<{ row: Row; reason: string }>): Promise<void> {
      if (rejects.length === 0) return;
      if (file === undefined) {
        file = await open();
        // JSON Lines may bring further columns later.
        width = plan.columns.length;
        const header = csvLine([...plan.columns, 'line', 'reason'], dialect);
        await file.write((dialect.bom ? '\ufeff' : '') + dialect.sep + header);
      }
      let text = '';
      for (const { row, reason } of rejects) {
        const { cells } = row;
        const own = Array.from({ length: width }, (_, index) => cells[index] ?? '');
        text += csvLine([...own, String(row.line), reason, ...cells.slice(width)], dialect);
      }
      await file.write(text);
    },
    finish: async () => await file?.finish(),
    discard: async () => await file?.discard(),
  };
}

/** Removes the rejects of an earlier run, unless somebody has changed them: they could be imported again. */
export async function removeStaleRejects(path: string, ownFiles: OwnFiles): Promise<void> {
  try {
    if (!ownFiles.hasWritten?.(await fingerprint(path))) return;
    if (/.line.reason$/u.test(headerOf(path))) await rm(path);
  } catch {
    // What can't be read or removed stays: no row depends on it.
  }
}
