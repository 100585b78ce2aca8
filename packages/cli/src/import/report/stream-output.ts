import { writeError } from '../errors.ts';
import type { OutputFile, TextWritable } from './output-file.ts';
import { TextBuffer } from './text-buffer.ts';

/** Time for a reader of standard output to end, once it has read what it wants. */
const READER_ENDS_MS = 1_000;

/** Standard output, a device or a pipe: what is written can't be taken back. */
export class StreamOutput implements OutputFile {
  readonly path: string;
  readonly #buffer: TextBuffer;
  readonly #close: () => Promise<void>;
  readonly #waitMs: number;
  /** The last character so far, a line break, which is written alone at the end. */
  #last = '';

  constructor(
    path: string,
    write: (bytes: Uint8Array) => Promise<void>,
    close: () => Promise<void>,
    waitMs = 0,
  ) {
    this.path = path;
    this.#close = close;
    this.#waitMs = waitMs;
    this.#buffer = new TextBuffer((bytes) =>
      write(bytes).catch((cause) => {
        throw writeError(path === '-' ? 'the output' : path, cause);
      }),
    );
  }

  static ofStdout(stdout: TextWritable, awaitsReader: boolean): StreamOutput {
    const write = (bytes: Uint8Array) =>
      new Promise<void>((resolve, reject) => {
        stdout.write(bytes, (error) => (error ? reject(error) : resolve()));
      });
    const waitMs = awaitsReader && stdout.isPipe === true ? READER_ENDS_MS : 0;
    return new StreamOutput('-', write, async () => {}, waitMs);
  }

  write(data: string | Uint8Array): Promise<void> | undefined {
    if (typeof data !== 'string') return this.#buffer.write(data);
    const all = this.#last + data;
    this.#last = all.slice(-1);
    return this.#buffer.write(all.slice(0, -1));
  }

  /**
   * A pipe accepts output that its reader never reads. A reader that reads to the end still waits for the last character. One that
   * stops early (`| head`) has closed the pipe by now, so that this write fails.
   */
  async finish(): Promise<undefined> {
    try {
      await this.#buffer.flush();
      if (this.#waitMs > 0) await new Promise((resolve) => setTimeout(resolve, this.#waitMs));
      await this.#buffer.write(this.#last);
      await this.#buffer.flush();
    } finally {
      await this.#close();
    }
  }

  async discard(): Promise<void> {
    await this.#close();
  }
}
