import { openFileSink, openStreamSink, type TextWritable } from './text-sink.ts';

/** Where results or rejects go. */
export interface OutputFile {
  path: string;
  write(text: string): Promise<void> | void;
  /** Writes what is left and puts the file in place. */
  finish(): Promise<void>;
  /** Forgets everything written, as far as that is possible. */
  discard(): Promise<void>;
}

/**
 * Opens a file to be written; `-` is standard output.
 *
 * @throws CliError (exit code 2) when it can't be created
 */
export async function openOutput(
  path: string,
  { stdout }: { stdout: TextWritable },
): Promise<OutputFile> {
  const sink = path === '-' ? openStreamSink(stdout) : await openFileSink(path);
  return {
    path,
    write: (text) => {
      sink.write(text);
      return sink.full ? sink.drain() : undefined;
    },
    finish: () => sink.finish(),
    discard: () => sink.discard(),
  };
}
