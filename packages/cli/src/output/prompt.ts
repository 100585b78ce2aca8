import { Writable } from 'node:stream';
import { interruptedError } from '../cli-error.ts';
import type { InputStream, Io } from '../io.ts';

/** Asks for a line on a terminal. @throws the signal's reason */
export function ask(question: string, io: Io, signal: AbortSignal): Promise<string> {
  return readLine(question, io, io.stderr, signal);
}

/** The same without echo: neither the text nor its length can be seen. */
export async function askSecret(question: string, io: Io, signal: AbortSignal): Promise<string> {
  const nowhere = new Writable({ write: (_chunk, _encoding, done) => done() });
  try {
    // The question comes once the echo is off: a key that is pasted at once must not be shown.
    return await readLine('', io, nowhere, signal, () => io.stderr.write(question));
  } finally {
    // The line break that was typed was not echoed either.
    io.stderr.write('\n');
  }
}

async function readLine(
  question: string,
  io: Io,
  output: Writable,
  signal: AbortSignal,
  onEchoOff: () => unknown = () => {},
): Promise<string> {
  const { createInterface } = await import('node:readline/promises');
  const lines = createInterface({ input: io.stdin, output, terminal: true, historySize: 0 });
  onEchoOff();
  // In raw mode a terminal sends Ctrl-C and Ctrl-D as characters; readline turns them into these.
  const ended = new AbortController();
  for (const event of ['SIGINT', 'close']) lines.on(event, () => ended.abort());
  try {
    return await lines.question(question, { signal: AbortSignal.any([signal, ended.signal]) });
  } catch (error) {
    signal.throwIfAborted();
    throw ended.signal.aborted ? interruptedError() : error;
  } finally {
    lines.close();
  }
}

/** Ends the reading of a stream that may never end: it throws the signal's reason. */
export function endOnAbort(input: InputStream, signal: AbortSignal): void {
  signal.addEventListener('abort', () => input.destroy(signal.reason));
}

/** First line of a stream that is piped in. @throws the signal's reason */
export async function readFirstLine(input: InputStream, signal: AbortSignal): Promise<string> {
  endOnAbort(input, signal);
  let text = '';
  for await (const chunk of input) {
    text += String(chunk);
    if (text.includes('\n') || text.length > MAX_LINE) break;
  }
  return text.split(/\r?\n/, 1)[0] ?? '';
}

/** No key is longer than this. */
const MAX_LINE = 4096;
