import { randomUUID } from 'node:crypto';
import { type FileHandle, open, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { temporaryError } from '@shortlink/tables/basics';

/** Values that wait on the disk until they are read again: a million links would take hundreds of megabytes. */
export class Spool<T> {
  readonly #file: FileHandle;
  /** Where each value ends. */
  readonly #ends: number[] = [];

  private constructor(file: FileHandle) {
    this.#file = file;
  }

  /** Its file loses its name at once, so that nothing of it is left, however the process ends. */
  static async open<T>(): Promise<Spool<T>> {
    const path = join(tmpdir(), `shortlink-${randomUUID()}`);
    const file = await open(path, 'wx+', 0o600);
    await rm(path);
    return new Spool(file);
  }

  async add(value: T): Promise<void> {
    const start = this.#ends.at(-1) ?? 0;
    const bytes = Buffer.from(JSON.stringify(value));
    // Unlike one write, it writes all bytes, or fails.
    await this.#file.writeFile(bytes).catch((error: unknown) => {
      throw temporaryError(error);
    });
    this.#ends.push(start + bytes.length);
  }

  async *read(): AsyncGenerator<T> {
    let start = 0;
    for (const end of this.#ends) {
      const { buffer } = await this.#file.read(Buffer.alloc(end - start), 0, end - start, start);
      yield JSON.parse(buffer.toString());
      start = end;
    }
  }

  close(): Promise<void> {
    return this.#file.close();
  }
}
