import { writeFile } from 'node:fs/promises';

/** Rows that a change adds. */
const GROWTH = 250;

/** One of so many rows repeats the URL of another row, and so asks for a second link. */
const SECOND_LINK_EVERY = 50;

interface FileRow {
  target: string;
  title: string;
}

/** A file of links that a person keeps changing: it grows, rows are edited, and it is sorted again. */
export class ChangingFile {
  readonly path: string;
  #rows: FileRow[] = [];
  readonly #name: string;
  readonly #random: () => number;

  constructor(
    path: string,
    { name, rows, random }: { name: string; rows: number; random: () => number },
  ) {
    this.path = path;
    this.#name = name;
    this.#random = random;
    this.#grow(rows);
  }

  /** Target URLs in the order of the rows. */
  get targets(): string[] {
    return this.#rows.map(({ target }) => target);
  }

  /** Changes the file in one of these ways. */
  async change(): Promise<void> {
    const way = Math.floor(this.#random() * 4);
    if (way === 0) this.#grow(GROWTH);
    if (way === 1) this.#edit();
    if (way === 2) this.#rows = this.#rows.toSorted((a, b) => (a.target < b.target ? 1 : -1));
    if (way === 3)
      this.#rows = this.#rows
        .map((row) => [this.#random(), row] as const)
        .toSorted(([a], [b]) => a - b)
        .map(([, row]) => row);
    await this.write();
  }

  async write(): Promise<void> {
    const lines = this.#rows.map(({ target, title }) => `${target},${title}`);
    await writeFile(this.path, `target_url,title\n${lines.join('\n')}\n`);
  }

  #grow(count: number): void {
    const first = this.#rows.length;
    for (let row = first; row < first + count; row += 1) {
      const url = row % SECOND_LINK_EVERY === SECOND_LINK_EVERY - 1 ? row - 1 : row;
      this.#rows.push({ target: `https://example.com/${this.#name}/${url}`, title: `row ${row}` });
    }
  }

  #edit(): void {
    for (let edits = 0; edits < GROWTH; edits += 1) {
      const row = this.#rows[Math.floor(this.#random() * this.#rows.length)];
      if (row !== undefined) row.title = `edited ${edits}`;
    }
  }
}
