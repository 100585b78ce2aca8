import { type FileHandle, open, rename, rm } from 'node:fs/promises';
import { inputError, systemReason, writeError } from './errors.ts';

/** Bytes that are gathered before they are written. */
const BUFFER_BYTES = 256 * 1024;

/** Characters that are gathered before they are encoded: few enough for the young generation of the heap. */
const PIECE_LENGTH = 16 * 1024;

/** UTF-8 takes at most so many for a UTF-16 code unit. */
const MAX_BYTES_PER_UNIT = 3;

/** Where results and rejects go. Text is gathered; whoever writes much awaits `drain` when `full` says so. */
export interface TextSink {
  write(text: string): void;
  readonly full: boolean;
  drain(): Promise<void>;
  /** Writes what is left and makes the result visible. */
  finish(): Promise<void>;
  /** Forgets everything written, as far as that is possible. */
  discard(): Promise<void>;
}

/** What we need of standard output. */
export interface TextWritable {
  write(bytes: Uint8Array, callback: (error?: Error | null) => void): unknown;
}

abstract class BufferedSink implements TextSink {
  #text = '';
  /** Used again and again: memory that is fresh each time costs more than the writing. */
  #bytes = Buffer.allocUnsafe(BUFFER_BYTES + PIECE_LENGTH * MAX_BYTES_PER_UNIT);
  #length = 0;

  write(text: string): void {
    this.#text += text;
    if (this.#text.length >= PIECE_LENGTH) this.#encode();
  }

  get full(): boolean {
    return this.#length >= BUFFER_BYTES;
  }

  async drain(): Promise<void> {
    this.#encode();
    if (this.#length === 0) return;
    const bytes = this.#bytes.subarray(0, this.#length);
    this.#length = 0;
    await this.flush(bytes);
  }

  #encode(): void {
    const text = this.#text;
    this.#text = '';
    const needed = this.#length + text.length * MAX_BYTES_PER_UNIT;
    // Whoever doesn't drain when `full` says so, or writes a large piece, gets room all the same.
    if (needed > this.#bytes.length) {
      const larger = Buffer.allocUnsafe(needed);
      this.#bytes.copy(larger, 0, 0, this.#length);
      this.#bytes = larger;
    }
    this.#length += this.#bytes.write(text, this.#length);
  }

  /** Writes the bytes; they are overwritten once that has ended. */
  protected abstract flush(bytes: Uint8Array): Promise<void>;
  abstract finish(): Promise<void>;
  abstract discard(): Promise<void>;
}

/** Writes beside the file and takes its place at the end, so that a reader never sees half of it. */
class FileSink extends BufferedSink {
  readonly #path: string;
  readonly #handle: FileHandle;

  constructor(path: string, handle: FileHandle) {
    super();
    this.#path = path;
    this.#handle = handle;
  }

  protected override async flush(bytes: Uint8Array): Promise<void> {
    await this.#handle.writeFile(bytes).catch((cause) => this.#fail(cause));
  }

  override async finish(): Promise<void> {
    await this.drain();
    await this.#handle.close().catch((cause) => this.#fail(cause));
    await rename(partialPath(this.#path), this.#path).catch((cause) => this.#fail(cause));
  }

  override async discard(): Promise<void> {
    await this.#handle.close().catch(() => {});
    await rm(partialPath(this.#path), { force: true });
  }

  #fail(cause: unknown): never {
    throw writeError(this.#path, cause);
  }
}

class StreamSink extends BufferedSink {
  readonly #stream: TextWritable;

  constructor(stream: TextWritable) {
    super();
    this.#stream = stream;
  }

  protected override async flush(bytes: Uint8Array): Promise<void> {
    await new Promise<void>((resolve, reject) => {
      const done = (error?: Error | null) =>
        error ? reject(writeError('the output', error)) : resolve();
      this.#stream.write(bytes, done);
    });
  }

  override async finish(): Promise<void> {
    await this.drain();
  }

  override async discard(): Promise<void> {}
}

/**
 * Opens a file to be written.
 *
 * @throws CliError (exit code 2) when it can't be created, before anything is sent
 */
export async function openFileSink(path: string): Promise<TextSink> {
  try {
    return new FileSink(path, await open(partialPath(path), 'w'));
  } catch (cause) {
    throw inputError(`${path} can't be written: ${systemReason(cause)}`, 'Name another file.');
  }
}

export function openStreamSink(stream: TextWritable): TextSink {
  return new StreamSink(stream);
}

/** The name while it is being written. The same in every run, so that a killed one leaves no more than one behind. */
function partialPath(path: string): string {
  return `${path}.partial`;
}
