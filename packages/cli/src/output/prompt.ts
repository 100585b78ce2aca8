import { Writable } from 'node:stream';
import { interruptedError } from '../cli-error.ts';
import type { InputStream, Io } from '../io.ts';

/** Asks for a line on a terminal; for a secret without echo. Throws the signal's reason. */
export async function ask(
  question: string,
  { stdin: input, stderr }: Io,
  signal: AbortSignal,
  isSecret = false,
): Promise<string> {
  const { createInterface } = await import('node:readline/promises');
  const nowhere = new Writable({ write: (_chunk, _encoding, done) => done() });
  const output = isSecret ? nowhere : stderr;
  const lines = createInterface({ input, output, terminal: true, historySize: 0 });
  // The echo is off before the question: a key may be pasted at once.
  if (isSecret) stderr.write(question);
  // In raw mode, Ctrl-C and Ctrl-D are characters; readline turns them into these.
  const ended = new AbortController();
  for (const event of ['SIGINT', 'close']) lines.on(event, () => ended.abort());
  const ends = AbortSignal.any([signal, ended.signal]);
  try {
    return await lines.question(isSecret ? '' : question, { signal: ends });
  } catch (error) {
    signal.throwIfAborted();
    throw ended.signal.aborted ? interruptedError() : error;
  } finally {
    lines.close();
    if (isSecret) stderr.write('\n');
  }
}

/** Ends the reading of a stream with the signal's reason. */
export function endOnAbort(input: InputStream, signal: AbortSignal): void {
  signal.addEventListener('abort', () => input.destroy(signal.reason));
}

/** Throws the signal's reason. */
export async function readFirstLine(input: InputStream, signal: AbortSignal): Promise<string> {
  endOnAbort(input, signal);
  let text = '';
  for await (const chunk of input) {
    text += String(chunk);
    if (text.includes('\n') || text.length > MAX_LINE) break;
  }
  return text.split(/\r?\n/, 1)[0] ?? '';
}

const MAX_LINE = 4096;
