import { csvCell, csvCells } from './report/csv-cell.ts';
import { openFileSink, type TextSink } from './text-sink.ts';
import type { Row } from './types.ts';

/**
 * The rejects file: the input's own columns, `line` and `reason`, to be mended and imported again. It comes into being
 * with the first reject. Cells beyond the last column come after the reason, so that nothing of the row is lost and
 * nothing that is not mended passes for right.
 */
export class RejectsFile {
  readonly #path: string;
  readonly #columns: readonly string[];
  #width = 0;
  #sink: TextSink | undefined;

  /** @param columns JSON Lines may still add to them: those known at the first reject become the header */
  constructor(path: string, columns: readonly string[]) {
    this.#path = path;
    this.#columns = columns;
  }

  async add(rejects: ReadonlyArray<{ row: Row; reason: string }>): Promise<void> {
    if (rejects.length === 0) return;
    this.#sink ??= await this.#open();
    const width = this.#width;
    for (const { row, reason } of rejects) {
      const own = csvCells(row.cells, width);
      const surplus = row.cells.slice(width).map((cell) => `,${csvCell(cell)}`);
      this.#sink.write(`${own},${row.line},${csvCell(reason)}${surplus.join('')}\n`);
    }
    if (this.#sink.full) await this.#sink.drain();
  }

  /** Puts the file in place; undefined where there was nothing to reject. */
  async finish(): Promise<string | undefined> {
    await this.#sink?.finish();
    return this.#sink === undefined ? undefined : this.#path;
  }

  async discard(): Promise<void> {
    await this.#sink?.discard();
  }

  async #open(): Promise<TextSink> {
    const sink = await openFileSink(this.#path);
    this.#width = this.#columns.length;
    const names = [...this.#columns, 'line', 'reason'];
    sink.write(`${csvCells(names, names.length)}\n`);
    return sink;
  }
}
