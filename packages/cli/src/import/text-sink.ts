import { type FileHandle, open, rename, rm } from 'node:fs/promises';
import { inputError } from './input-error.ts';

/** Characters that are gathered before they are written. */
const BUFFER_LENGTH = 256 * 1024;

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
  write(text: string, callback: (error?: Error | null) => void): unknown;
}

abstract class BufferedSink implements TextSink {
  #parts: string[] = [];
  #length = 0;

  write(text: string): void {
    this.#parts.push(text);
    this.#length += text.length;
  }

  get full(): boolean {
    return this.#length >= BUFFER_LENGTH;
  }

  async drain(): Promise<void> {
    if (this.#length === 0) return;
    const text = this.#parts.join('');
    this.#parts = [];
    this.#length = 0;
    await this.flush(text);
  }

  protected abstract flush(text: string): Promise<void>;
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

  protected override async flush(text: string): Promise<void> {
    await this.#handle.writeFile(text);
  }

  override async finish(): Promise<void> {
    await this.drain();
    await this.#handle.close();
    await rename(partialPath(this.#path), this.#path);
  }

  override async discard(): Promise<void> {
    await this.#handle.close().catch(() => {});
    await rm(partialPath(this.#path), { force: true });
  }
}

class StreamSink extends BufferedSink {
  readonly #stream: TextWritable;

  constructor(stream: TextWritable) {
    super();
    this.#stream = stream;
  }

  protected override async flush(text: string): Promise<void> {
    await new Promise<void>((resolve, reject) => {
      this.#stream.write(text, (error) => (error ? reject(error) : resolve()));
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
    const reason = cause instanceof Error ? cause.message : String(cause);
    throw inputError(`${path} can't be written: ${reason}`, 'Name another file.');
  }
}

export function openStreamSink(stream: TextWritable): TextSink {
  return new StreamSink(stream);
}

/** The name while it is being written. The same in every run, so that a killed one leaves no more than one behind. */
function partialPath(path: string): string {
  return `${path}.partial`;
}
