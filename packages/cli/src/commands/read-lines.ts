import { inputError } from '../import/errors.ts';
import { LineCounter, LineSplitter } from '../import/read/lines.ts';
import type { InputStream } from '../io.ts';

/**
 * The lines of standard input as they come, trimmed; blank ones are left out.
 *
 * @throws CliError (exit code 2) for bytes that are not UTF-8
 */
export async function* readLines(stdin: InputStream): AsyncGenerator<string> {
  const lines = new LineSplitter('standard input');
  const counter = new LineCounter();
  const decoder = new TextDecoder('utf-8', { fatal: true });
  const decode = (bytes?: Uint8Array): string => {
    try {
      const text = decoder.decode(bytes, { stream: bytes !== undefined });
      counter.add(text);
      return text;
    } catch {
      throw inputError(`standard input, from line ${counter.line}: it is not UTF-8`);
    }
  };
  for await (const bytes of stdin) {
    for (const { text } of lines.push(decode(Buffer.from(bytes)))) yield text.trim();
  }
  for (const { text } of [...lines.push(decode()), ...lines.end()]) yield text.trim();
}
