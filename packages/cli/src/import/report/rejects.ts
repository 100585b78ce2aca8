import { open, rm } from 'node:fs/promises';
import type { Row } from '@shortlink/tables/basics';
import type { Layout } from '../layout.ts';
import { fingerprint, type OwnFiles } from './keep-changed.ts';
import type { OutputFile } from './output-file.ts';
import { cellWriter } from './report-rows.ts';

/**
 * The rejects file: the input's own columns, `line` and `reason`, to be corrected and imported again. It is created
 * with the first reject. Cells beyond the last column come after the reason, so that nothing of the row is lost, and
 * a row that was not corrected stays invalid.
 */
export class RejectsFile {
  readonly #open: () => Promise<OutputFile>;
  readonly #layout: Layout;
  #width = 0;
  #file: OutputFile | undefined;

  constructor(layout: Layout, open: () => Promise<OutputFile>) {
    this.#layout = layout;
    this.#open = open;
  }

  /** Undefined where there is nothing to reject. */
  get path(): string | undefined {
    return this.#file?.path;
  }

  async add(rejects: ReadonlyArray<{ row: Row; reason: string }>): Promise<void> {
    if (rejects.length === 0) return;
    const { delimiter, lineEnd } = this.#layout.dialect;
    const cell = cellWriter(delimiter);
    this.#file ??= await this.#begin();
    const width = this.#width;
    let text = '';
    for (const { row, reason } of rejects) {
      const { cells } = row;
      const own = Array.from({ length: width }, (_, index) => cells[index] ?? '');
      const all = [...own, String(row.line), reason, ...cells.slice(width)];
      text += all.map(cell).join(delimiter) + lineEnd;
    }
    await this.#file.write(text);
  }

  /** Puts the file in place. */
  async finish(): Promise<string | undefined> {
    return await this.#file?.finish();
  }

  async discard(): Promise<void> {
    await this.#file?.discard();
  }

  async #begin(): Promise<OutputFile> {
    const { delimiter, lineEnd, bom, sep } = this.#layout.dialect;
    const file = await this.#open();
    // JSON Lines may still add to the columns: those known at the first reject become the header.
    const { columns } = this.#layout.plan;
    this.#width = columns.length;
    const names = [...columns, 'line', 'reason'].map(cellWriter(delimiter)).join(delimiter);
    await file.write(`${bom ? '\ufeff' : ''}${sep}${names}${lineEnd}`);
    return file;
  }
}

/** Longest first line that is looked at. A file with a longer one stays. */
const FIRST_BYTES = 64 * 1024;

/**
 * Removes the rejects of an earlier run, now that no row is rejected: otherwise somebody could correct and import them again. A file that a
 * person has changed stays, and so does one that holds anything else.
 */
export async function removeStaleRejects(path: string, ownFiles: OwnFiles): Promise<void> {
  try {
    if (!ownFiles.hasWritten(await fingerprint(path))) return;
    const file = await open(path);
    const { buffer, bytesRead } = await file
      .read(Buffer.alloc(FIRST_BYTES))
      .finally(() => file.close());
    const [header = ''] = buffer.toString('utf8', 0, bytesRead).split(/\r?\n/, 1);
    if (/.line.reason$/u.test(header)) await rm(path);
  } catch {
    // What can't be read or removed stays: no row depends on it.
  }
}
